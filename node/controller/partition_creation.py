"""CreatePartitions: topics get more of them, as replicated as those that they have."""

from collections import Counter

from node.controller.assignments import (
    Places,
    check_assignment,
    check_room,
    new_partitions,
    require_active,
    room_for_partitions,
)
from node.controller.decision import Decision, RefusedError, Situation
from node.controller.image import Image, Topic
from node.controller.placement import place
from node.errors import ErrorCode
from node.records.metadata import PartitionRecord
from node.wire.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    NewPartitionsResult,
    WantedPartitions,
)


def create(situation: Situation, request: CreatePartitionsRequest) -> Decision:
    """Of a topic all or none; one that is refused keeps no other back. What is asked for twice is
    refused once."""
    records: list[PartitionRecord] = []
    results: list[NewPartitionsResult] = []
    room = room_for_partitions(situation.image)
    requested = Counter(each.topic for each in request.topics)
    named = {each.topic: each for each in request.topics}  # in the order of the request
    for wanted in named.values():
        try:
            if requested[wanted.topic] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            records += _create(situation, wanted, room - len(records))
            results.append(NewPartitionsResult(topic=wanted.topic))
        except RefusedError as refused:
            results.append(
                NewPartitionsResult(
                    topic=wanted.topic, error=refused.error, message=refused.message
                )
            )
    response = CreatePartitionsResponse(results=tuple(results))
    return Decision(records=records, response=response, only_validated=request.validate_only)


def _create(situation: Situation, wanted: WantedPartitions, room: int) -> list[PartitionRecord]:
    """Raises RefusedError."""
    image = situation.image
    topic = image.topics.named(wanted.topic)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    added = wanted.count - topic.partitions
    if added <= 0:
        why = f"The topic has {topic.partitions} partition(s); {wanted.count} is not an increase."
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, why)
    check_room(added, room)
    replication = _replication(image, topic)
    if wanted.assignments is not None:
        places = _assigned(image, wanted.assignments, added, replication)
    else:
        places = place(image.brokers.all(), added, replication, situation.rng)
        require_active(image, places, ErrorCode.INVALID_REPLICATION_FACTOR)
    keys = [(topic.id, index) for index in range(topic.partitions, wanted.count)]
    return list(new_partitions(image, keys, places))


def _replication(image: Image, topic: Topic) -> int:
    """That of its first partition."""
    first = image.topics.partition(topic.id, 0)
    assert first is not None, f"{topic} has no partitions"
    return len(first.replicas)


def _assigned(
    image: Image, assignments: tuple[tuple[int, ...], ...], added: int, replication: int
) -> Places:
    if len(assignments) != added:
        why = f"{added} partition(s) are added, and {len(assignments)} are assigned."
        raise RefusedError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    for replicas in assignments:
        check_assignment(image, replicas, replication)
    require_active(image, assignments, ErrorCode.INVALID_REPLICA_ASSIGNMENT)
    return assignments
