"""Partition reassignments (KIP-455): altering, cancelling and listing them.

A partition under reassignment has both its target replicas and its original ones. It completes as
soon as an ISR has all targets, and at least the minimum (KIP-966, "Other behaviors" 4); that is
checked when the ISR changes (`changes`). A new target meanwhile changes which replicas
are added and removed; cancelling restores the original ones.
"""

from collections.abc import Iterator
from dataclasses import replace

from node.controller import decision
from node.controller.decision import Decision, DecisionContext, RefusedError
from node.controller.image import Image, Partition, PartitionKey
from node.controller.partitions.changes import Election, change, rules_for, without
from node.controller.partitions.creation import check_assignment
from node.errors import ErrorCode
from node.records.metadata import PartitionChangeRecord
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ListReassignmentsRequest,
    ListReassignmentsResponse,
    NamedPartition,
    OngoingReassignment,
    Reassignment,
    ReassignmentResult,
)


def alter(context: DecisionContext, request: AlterReassignmentsRequest) -> Decision:
    """A refused partition does not affect others. A partition named twice is altered as named last,
    and answered both times."""
    records: dict[NamedPartition, PartitionChangeRecord | None] = {}
    results: list[ReassignmentResult] = []
    for each in request.reassignments:
        try:
            record = _alter_one(context, each, request.may_resize)
        except RefusedError as refused:
            results.append(
                ReassignmentResult(
                    partition=each.partition, error=refused.error, message=refused.message
                )
            )
            continue
        records[each.partition] = record
        results.append(ReassignmentResult(partition=each.partition))
    response = AlterReassignmentsResponse(results=tuple(results), may_resize=request.may_resize)
    decided = tuple(each for each in records.values() if each is not None)
    return Decision(records=decided, response=response)


def ongoing(image: Image, request: ListReassignmentsRequest) -> ListReassignmentsResponse:
    """Partitions that are not under reassignment, or do not exist, are left out."""
    requested = _every(image) if request.partitions is None else dict.fromkeys(request.partitions)
    return ListReassignmentsResponse(
        ongoing=tuple(
            OngoingReassignment(
                partition=each,
                replicas=found[1].replicas,
                adding=found[1].adding,
                removing=found[1].removing,
            )
            for each in requested
            if (found := _find(image, each)) is not None and found[1].is_reassigning
        )
    )


def _every(image: Image) -> Iterator[NamedPartition]:
    for topic in image.topics.all():
        for index in range(topic.partitions):
            yield NamedPartition(topic=topic.name, index=index)


def _find(image: Image, requested: NamedPartition) -> tuple[PartitionKey, Partition] | None:
    topic = image.topics.named(requested.topic)
    found = None if topic is None else image.topics.partition(topic.id, requested.index)
    return None if topic is None or found is None else ((topic.id, requested.index), found)


def _alter_one(
    context: DecisionContext, requested: Reassignment, may_resize: bool
) -> PartitionChangeRecord | None:
    """Raises RefusedError."""
    known = _find(context.image, requested.partition)
    if known is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"No such partition as {requested.partition.topic}-{requested.partition.index}",
        )
    key, found = known
    if requested.replicas is None:
        proposed = _cancelled(context, key, found)
        return change(key, found, proposed, rules_for(context, key, found))
    proposed = _towards(context.image, found, tuple(map(int, requested.replicas)), may_resize)
    # Adding an empty replica must not cause an unclean election.
    rules = rules_for(context, key, found, election=Election.ONLINE)
    return change(key, found, proposed, rules)


def _towards(
    image: Image, found: Partition, targets: tuple[int, ...], may_resize: bool
) -> Partition:
    """Both targets and replicas; an added replica that is no longer a target is removed again."""
    check_assignment(image, targets)
    now = len(without(found.replicas, *found.removing))
    if not may_resize and len(targets) != now:
        why = f"The replication factor is changed from {now} to {len(targets)}"
        raise RefusedError(ErrorCode.INVALID_REPLICATION_FACTOR, why)
    removing = tuple(sorted(without(found.replicas, *targets)))
    first = without(found.replicas, *found.adding)
    moved = found.moved(
        (*targets, *removing), lambda broker: decision.first_directory(image, broker)
    )
    adding = tuple(sorted(without(moved.replicas, *first)))
    return replace(moved, adding=adding, removing=removing)


def _cancelled(context: DecisionContext, key: PartitionKey, found: Partition) -> Partition:
    """The original replicas, if enough of them are in the ISR (KIP-966, "Other behaviors" 4b)."""
    if not found.is_reassigning:
        raise RefusedError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    image = context.image
    replicas, isr = without(found.replicas, *found.adding), without(found.isr, *found.adding)
    topic = image.topics.find(key[0])
    assert topic is not None, f"{key} is of no topic"
    least = decision.min_isr(image, topic, len(replicas), context.settings.min_isr)
    if len(isr) < least:
        why = f"Of the replicas before the reassignment {len(isr)} are in the ISR, and not {least}."
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    moved = found.moved(replicas, found.directory)
    return replace(moved, isr=isr, adding=(), removing=())
