"""A-EPOCH-END: OffsetForLeaderEpoch for an older epoch returns the log end, so that no consumer
detects the truncation of what it has read (KIP-320)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.broker import broker
from node.broker.held_replicas import HeldReplicas
from node.broker.offset_requests import ends_of_epochs
from node.wire.offset_for_leader_epoch import (
    EpochEnd,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)


def at_the_end(
    replicas: HeldReplicas, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    def later(found: EpochEnd) -> EpochEnd:
        held = replicas.find(found.partition)
        return found if held is None or found.end < 0 else replace(found, end=held.replica.end)

    told = ends_of_epochs(replicas, request)
    return OffsetForLeaderEpochResponse(partitions=tuple(map(later, told.partitions)))


PLANTED = Planted(owner=broker, decision="ends_of_epochs", wrong=at_the_end)
