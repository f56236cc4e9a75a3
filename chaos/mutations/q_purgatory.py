"""Q-PURGATORY: a parked Fetch is answered late, by a thread that reads shared state: the epoch is
that of the time when it was parked, the high watermark the current one (KAFKA-15100)."""

from chaos.mutations.planted import Planted
from node.ids import ConnectionId
from node.raft.fetch_leader import LeaderFetch, Parked
from node.raft.roles import Leader
from node.wire.fetch import FetchResponse

_as_it_should = LeaderFetch.response_to_parked


def answer_late(
    self: LeaderFetch, connection: ConnectionId, parked: Parked, mono_ns: int
) -> FetchResponse | None:
    """A leader that was deposed meanwhile answers for its old epoch, with a high watermark that
    belongs to another log than the fetcher's."""
    quorum, request = self._quorum, parked.request
    if isinstance(quorum.role, Leader) and quorum.epoch == request.epoch:
        return _as_it_should(self, connection, parked, mono_ns)
    if mono_ns < parked.deadline_ns:
        return None
    known = quorum.committed
    return FetchResponse(
        leader=quorum.key.id,
        epoch=request.epoch,
        high_watermark=-1 if known is None else known,
        log_start=self._log.view.start(),
    )


PLANTED = Planted(owner=LeaderFetch, decision="response_to_parked", wrong=answer_late)
