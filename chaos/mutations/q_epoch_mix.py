"""Q-EPOCH-MIX: a follower appends batches of an epoch above the one that it fetched in; they come
from a leader with a reader that raced with its own truncation (KAFKA-18723).

Our node has no second thread that could race, so both halves are planted: the reader, and the
follower that does not look. Either alone does no harm.
"""

from chaos.mutations.planted import Planted
from node.ids import ConnectionId, Epoch, LogPosition, Offset
from node.raft import fetch_follower
from node.raft.fetch_leader import LeaderFetch, Parked
from node.raft.fetched import Fetched, sound_batches
from node.raft.reachable_epoch import LAST_EPOCH
from node.raft.roles import Leader
from node.wire.fetch import FetchResponse

_as_it_should = LeaderFetch.response_to_parked


def read_while_it_changes(
    self: LeaderFetch, connection: ConnectionId, parked: Parked, mono_ns: int
) -> FetchResponse | None:
    """New records at the awaited offset are sent, though they are another leader's."""
    quorum, request, view = self._quorum, parked.request, self._log.view
    if isinstance(quorum.role, Leader) and quorum.epoch == request.epoch:
        return _as_it_should(self, connection, parked, mono_ns)
    if view.end().offset <= request.fetch_offset and mono_ns < parked.deadline_ns:
        return None
    offset = Offset(min(request.fetch_offset, view.end().offset))
    return FetchResponse(
        leader=quorum.key.id,
        epoch=request.epoch,
        log_start=view.start(),
        records=view.read(offset, request.max_bytes),
    )


def take_any_epoch(data: bytes, end: LogPosition, _epoch: Epoch) -> Fetched:
    """Any valid batch in order is accepted."""
    return sound_batches(data, end, LAST_EPOCH)


PLANTED = Planted(
    owner=LeaderFetch,
    decision="response_to_parked",
    wrong=read_while_it_changes,
    other=Planted(owner=fetch_follower, decision="sound_batches", wrong=take_any_epoch),
)
