"""AssignReplicasToDirs: a broker reports on which of its disks each of its replicas is (KIP-858).

Nothing else of the partition changes, its ELR least of all; unless the broker does not have that
disk: then the disk failed, and the replica leaves the ISR.
"""

from dataclasses import replace

from node.controller.decision import Decision, DecisionContext, RefusedError, is_there
from node.controller.image import Partition, PartitionKey
from node.controller.partitions.changes import change, rules_for, without
from node.controller.registration import at_epoch
from node.errors import ErrorCode
from node.records.metadata import DIRECTORIES, PartitionChangeRecord
from node.wire.alter_partition import (
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
    AssignedReplica,
    AssignmentResult,
)


def assign(context: DecisionContext, request: AssignDirectoriesRequest) -> Decision:
    """Raises RefusedError."""
    image, broker = context.image, request.broker
    if image.metadata_version < DIRECTORIES:
        raise RefusedError(ErrorCode.UNSUPPORTED_VERSION)
    registration = at_epoch(image, broker, request.epoch)
    records: list[PartitionChangeRecord] = []
    results: list[AssignmentResult] = []
    seen: set[PartitionKey] = set()
    for each in request.replicas:
        key = (each.topic, each.index)
        try:
            if key in seen:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate replica.")
            seen.add(key)
            found = _found(context, broker, each)
        except RefusedError as refused:
            results.append(AssignmentResult(replica=each, error=refused.error))
            continue
        is_lost = not is_there(registration.log_dirs, each.directory)
        record = _assign_one(context, broker, each, found, is_lost=is_lost)
        records += [] if record is None else [record]
        results.append(AssignmentResult(replica=each))
    return Decision(records=records, response=AssignDirectoriesResponse(results=tuple(results)))


def _found(context: DecisionContext, broker: int, requested: AssignedReplica) -> Partition:
    topics = context.image.topics
    if topics.find(requested.topic) is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_ID)
    found = topics.partition(requested.topic, requested.index)
    if found is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if broker not in found.replicas:
        raise RefusedError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return found


def _assign_one(
    context: DecisionContext,
    broker: int,
    requested: AssignedReplica,
    found: Partition,
    *,
    is_lost: bool,
) -> PartitionChangeRecord | None:
    kept = dict(zip(found.replicas, found.directories, strict=True))
    placed = replace(found, directories=tuple({**kept, broker: requested.directory}.values()))
    if is_lost:
        placed = replace(placed, isr=without(found.isr, broker))
    key = (requested.topic, requested.index)
    return change(key, found, placed, rules_for(context, key, placed))
