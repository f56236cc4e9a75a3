"""P-DIVERGE-ACK: a follower counts with the offset from which it fetches, though its log has parted
from the leader's below that (KAFKA-13141)."""

from chaos.mutations.planted import Planted
from node.broker.fetch_requests import FetchRequests
from node.errors import ErrorCode
from node.ids import Offset
from node.wire.partition_fetch import PartitionsFetchRequest


def whatever_it_holds(self: FetchRequests, request: PartitionsFetchRequest, mono_ns: int) -> None:
    for each in request.partitions:
        held = self._replicas.find(each.partition)
        if held is None or self._refusal(request, each, held) is not ErrorCode.NONE:
            continue
        held.replica.told_start(request.replica, Offset(each.log_start))
        end = min(Offset(each.offset), held.replica.end)
        proposal = held.replica.fetched_by(request.replica, end, request.broker_epoch, mono_ns)
        self._replicas.note(held)
        if proposal is not None:
            self._changes.propose(held, proposal)


PLANTED = Planted(owner=FetchRequests, decision="_count", wrong=whatever_it_holds)
