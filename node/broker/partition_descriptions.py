"""DescribeTopicPartitions: how partitions stand as this broker's image has it, with those replicas
that may lead though they left the ISR, a page at a time (KIP-966; Kafka's
`DescribeTopicPartitionsRequestHandler`)."""

from collections.abc import Iterable, Set

from node.controller.image import Image, Partition
from node.controller.image.topics import INTERNAL, Topic, is_legal
from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId
from node.wire.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    PartitionDescription,
    TopicDescription,
)

_MOST_PARTITIONS = 2000  # max.request.partition.size.limit


def describe_partitions(
    image: Image, request: DescribeTopicPartitionsRequest, live: Set[NodeId]
) -> DescribeTopicPartitionsResponse:
    """One page, in the order of topics' names; `live` are the brokers that can be reached."""
    cursor = request.cursor
    if cursor is not None and (cursor.index < 0 or _is_elsewhere(cursor, request)):
        return DescribeTopicPartitionsResponse(
            topics=tuple(
                TopicDescription(name=name, error=ErrorCode.INVALID_REQUEST)
                for name in request.topics
            )
        )
    names = sorted(set(request.topics)) or [topic.name for topic in image.topics.all()]
    start = cursor or Cursor(topic="", index=0)
    limit = max(1, min(request.limit, _MOST_PARTITIONS))
    return _page(image, [name for name in names if name >= start.topic], start, limit, live)


def _is_elsewhere(cursor: Cursor, request: DescribeTopicPartitionsRequest) -> bool:
    """Who names topics goes on with one of them."""
    return bool(request.topics) and cursor.topic not in request.topics


def _page(
    image: Image, names: Iterable[str], start: Cursor, limit: int, live: Set[NodeId]
) -> DescribeTopicPartitionsResponse:
    topics: list[TopicDescription] = []
    for name in names:
        topic = image.topics.named(name)
        first = start.index if name == start.topic else 0
        if limit == 0:
            return _continued(topics, name, 0)
        if topic is None:
            topics.append(_unknown(name))
            continue
        end = min(topic.partitions, first + limit)
        described = tuple(_partition(image, topic, index, live) for index in range(first, end))
        topics.append(
            TopicDescription(
                name=name, id=topic.id, is_internal=name in INTERNAL, partitions=described
            )
        )
        if end < topic.partitions:
            return _continued(topics, name, end)
        limit -= len(described)
    return DescribeTopicPartitionsResponse(topics=tuple(topics))


def _continued(
    topics: list[TopicDescription], name: str, index: int
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=tuple(topics), next=Cursor(topic=name, index=index)
    )


def _unknown(name: str) -> TopicDescription:
    is_name = is_legal(name)
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_name else ErrorCode.INVALID_TOPIC_EXCEPTION
    return TopicDescription(name=name, error=error, is_internal=name in INTERNAL)


def _partition(image: Image, topic: Topic, index: int, live: Set[NodeId]) -> PartitionDescription:
    found: Partition | None = image.topics.partition(topic.id, index)
    assert found is not None, f"{topic.name}-{index} is missing"
    leader = NodeId(found.leader)
    return PartitionDescription(
        index=index,
        leader=leader if leader in live else NO_NODE,
        leader_epoch=found.leader_epoch,
        replicas=found.replicas,
        isr=found.isr,
        elr=found.elr,
        last_known_elr=found.last_known_elr,
        offline=tuple(each for each in found.replicas if each not in live),
    )
