"""DescribeTopicPartitions 0: how partitions stand, a page at a time (KIP-966)."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page begins: all that is named before was told already."""

    topic: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsRequest:
    """`topics`: none for all of them. `limit`: of partitions in the answer."""

    topics: tuple[str, ...] = ()
    limit: int
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    index: int
    leader: NodeId = NO_NODE
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    error: ErrorCode = ErrorCode.NONE
    name: str
    id: UUID = ZERO_UUID
    is_internal: bool = False
    partitions: tuple[PartitionDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponse:
    """`next`: where the next page begins; None: this is the last one."""

    topics: tuple[TopicDescription, ...]
    next: Cursor | None = None


def _read_cursor(entity: Any) -> Cursor | None:
    return None if entity is None else Cursor(topic=entity.topic_name, index=entity.partition_index)


def _write_cursor(cursor: Cursor | None, kio: SimpleNamespace) -> Any:
    if cursor is None:
        return None
    return kio.Cursor(topic_name=cursor.topic, partition_index=cursor.index)


def _read_request(entity: Any) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=tuple(each.name for each in entity.topics),
        limit=entity.response_partition_limit,
        cursor=_read_cursor(entity.cursor),
    )


def _write_request(message: DescribeTopicPartitionsRequest, kio: SimpleNamespace) -> Any:
    return kio.DescribeTopicPartitionsRequest(
        topics=tuple(kio.TopicRequest(name=name) for name in message.topics),
        response_partition_limit=message.limit,
        cursor=_write_cursor(message.cursor, kio),
    )


def _read_response(entity: Any) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=tuple(
            TopicDescription(
                error=our_error(topic.error_code),
                name=topic.name or "",
                id=some_uuid(topic.topic_id),
                is_internal=topic.is_internal,
                partitions=tuple(_read_partition(each) for each in topic.partitions),
            )
            for topic in entity.topics
        ),
        next=_read_cursor(entity.next_cursor),
    )


def _read_partition(entity: Any) -> PartitionDescription:
    return PartitionDescription(
        index=entity.partition_index,
        leader=NodeId(entity.leader_id),
        leader_epoch=entity.leader_epoch,
        replicas=tuple(entity.replica_nodes),
        isr=tuple(entity.isr_nodes),
        elr=tuple(entity.eligible_leader_replicas or ()),
        last_known_elr=tuple(entity.last_known_elr or ()),
        offline=tuple(entity.offline_replicas),
    )


def _write_response(message: DescribeTopicPartitionsResponse, kio: SimpleNamespace) -> Any:
    return kio.DescribeTopicPartitionsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.DescribeTopicPartitionsResponseTopic(
                error_code=topic.error,
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic.is_internal,
                partitions=tuple(_write_partition(each, kio) for each in topic.partitions),
            )
            for topic in message.topics
        ),
        next_cursor=_write_cursor(message.next, kio),
    )


def _write_partition(partition: PartitionDescription, kio: SimpleNamespace) -> Any:
    return kio.DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.elr,
        last_known_elr=partition.last_known_elr,
        offline_replicas=partition.offline,
    )


DESCRIBE_TOPIC_PARTITIONS = Api(
    key=75,
    name="DescribeTopicPartitions",
    package="describe_topic_partitions",
    min_version=0,
    max_version=0,
    request=DescribeTopicPartitionsRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
