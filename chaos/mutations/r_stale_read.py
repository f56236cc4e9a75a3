"""R-STALE-READ: reads are answered from the local image without confirming that the node still
leads, as Apache Kafka does (Raft thesis 6.4 says why not)."""

from chaos.mutations.planted import Planted
from node.ids import Ticket
from node.raft.read_index import ReadIndex


def confirm_all(self: ReadIndex) -> Ticket:
    """As if a majority had just fetched."""
    return self.issued


PLANTED = Planted(owner=ReadIndex, decision="confirmed", wrong=confirm_all)
