"""P-DIVERGE-ACK: a follower is counted by its fetch offset, though its log has diverged from the
leader's below that (KAFKA-13141)."""

from chaos.mutations.planted import Planted
from node.broker.fetch_requests import FetchRequests
from node.broker.fetch_sessions import FetchClock
from node.broker.held_replicas import Held
from node.ids import LogPosition, Offset
from node.wire.partition_fetch import FetchedPartition, PartitionsFetchRequest


def whatever_it_holds(
    self: FetchRequests,
    request: PartitionsFetchRequest,
    requested: FetchedPartition,
    held: Held,
    _diverging: LogPosition | None,
    clock: FetchClock,
) -> None:
    held.replica.told_start(request.replica, Offset(requested.log_start))
    end = min(Offset(requested.offset), held.replica.end)
    held.replica.asked_by(request.replica, clock)
    epoch = request.broker_epoch
    proposal = held.replica.fetched_by(request.replica, end, epoch, clock.fetched_ns)
    self._replicas.note(held)
    if proposal is not None:
        self._changes.propose(held, proposal)


PLANTED = Planted(owner=FetchRequests, decision="_count", wrong=whatever_it_holds)
