"""A-OUT-OF-RANGE: a leader that does not know its high watermark yet answers consumers with a
higher offset OFFSET_OUT_OF_RANGE, and they reset (KAFKA-7897, KIP-207)."""

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
