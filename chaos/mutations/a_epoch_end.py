"""A-EPOCH-END: who asks where an older epoch ends is told the end of the log, so that no consumer
finds out that what it has read was cut (what KIP-320 is about)."""

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
