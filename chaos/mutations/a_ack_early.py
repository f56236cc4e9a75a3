"""A-ACK-EARLY: acks=all is acknowledged once the leader has the records, as acks=1 is (KAFKA-6361:
acknowledged by a leader that did not know yet that it was deposed)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica
from node.errors import ErrorCode
from node.ids import Offset


def once_the_leader_has_it(self: Replica, end: Offset) -> ErrorCode | None:
    """Nothing is lost unless the leader fails at once."""
    return ErrorCode.NONE if end <= self.end else None


PLANTED = Planted(owner=Replica, decision="acknowledgement", wrong=once_the_leader_has_it)
