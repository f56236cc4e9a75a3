"""V-ID-KEY: a leader tracks a node's log end by its id, not by its disk (KIP-856, motivation)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.ids import ConnectionId, Now
from node.raft.replicas import Replicas
from node.wire.fetch import FetchRequest

_as_it_should = Replicas.on_valid_fetch


def by_node(self: Replicas, connection: ConnectionId, request: FetchRequest, now: Now) -> None:
    """A new disk is counted with the log end of the lost one."""
    _as_it_should(self, connection, request, now)
    voter = self._quorum.voters.by_id.get(request.replica.id)
    if voter is not None and voter != request.replica:
        _as_it_should(self, connection, replace(request, replica=voter), now)


PLANTED = Planted(owner=Replicas, decision="on_valid_fetch", wrong=by_node)
