"""A-OUT-OF-RANGE: a leader that does not know its high watermark yet tells consumers that know more
that their offset is out of range, and they begin anew (KAFKA-7897, and what KIP-207 is about)."""

from chaos.mutations.planted import Planted
from node.broker.fetch_requests import FetchRequests
from node.broker.held_replicas import Held
from node.errors import ErrorCode
from node.wire.partition_fetch import CONSUMER, FetchedPartition, PartitionsFetchRequest

_as_it_should = FetchRequests._refusal


def by_the_high_watermark(
    self: FetchRequests, request: PartitionsFetchRequest, requested: FetchedPartition, held: Held
) -> ErrorCode:
    error = _as_it_should(self, request, requested, held)
    is_beyond = requested.offset > held.replica.high_watermark
    if error is ErrorCode.NONE and request.replica == CONSUMER and is_beyond:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    return error


PLANTED = Planted(owner=FetchRequests, decision="_refusal", wrong=by_the_high_watermark)
