"""ElectLeaders: an operator wants the preferred leader back, or any leader at all."""

from collections.abc import Iterator

from node.controller.decision import Decision, RefusedError, Situation
from node.controller.image import Partition, PartitionKey
from node.controller.isr_updates import rules_for
from node.controller.partition_changes import Election, change
from node.errors import ErrorCode
from node.records.metadata import PartitionChangeRecord
from node.wire.elect_leaders import (
    PREFERRED,
    UNCLEAN,
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)


def elect(situation: Situation, request: ElectLeadersRequest) -> Decision:
    """Raises RefusedError. Of all partitions, those that need none are not told of."""
    if request.kind not in (PREFERRED, UNCLEAN):
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.kind}")
    records: list[PartitionChangeRecord] = []
    results: list[ElectionResult] = []
    asked = request.partitions
    for each in dict.fromkeys(_every(situation) if asked is None else asked):
        try:
            records.append(_elect_one(situation, each, request.kind))
            results.append(ElectionResult(partition=each))
        except RefusedError as refused:
            if asked is None and refused.error == ErrorCode.ELECTION_NOT_NEEDED:
                continue
            results.append(
                ElectionResult(partition=each, error=refused.error, message=refused.message)
            )
    return Decision(records=records, answer=ElectLeadersResponse(results=tuple(results)))


def _every(situation: Situation) -> Iterator[NamedPartition]:
    for topic in situation.image.topics.all():
        for index in range(topic.partitions):
            yield NamedPartition(topic=topic.name, index=index)


def _elect_one(situation: Situation, asked: NamedPartition, kind: int) -> PartitionChangeRecord:
    key, found = _found(situation, asked)
    is_led = found.leader == found.replicas[0] if kind == PREFERRED else found.has_leader
    if is_led:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED)
    election = Election.PREFERRED if kind == PREFERRED else Election.UNCLEAN
    record = change(key, found, found, rules_for(situation, key, found, election=election))
    if record is None and kind == PREFERRED:
        raise RefusedError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    if record is None:
        raise RefusedError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    return record


def _found(situation: Situation, asked: NamedPartition) -> tuple[PartitionKey, Partition]:
    topics = situation.image.topics
    topic = topics.named(asked.topic)
    found = None if topic is None else topics.partition(topic.id, asked.index)
    if topic is None or found is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"No such partition as {asked.topic}-{asked.index}",
        )
    return (topic.id, asked.index), found
