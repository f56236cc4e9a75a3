"""Metadata, DescribeCluster and DescribeTopicPartitions: brokers, leaders and replicas, for
clients.
"""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, Endpoint, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

# DescribeCluster, with its endpoint type (KIP-919).


BROKERS, CONTROLLERS = 1, 2  # types of endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest:
    """`endpoint_type`: the nodes that the client asks for; None, in version 0: of the node's own
    kind.
    """

    endpoint_type: int | None
    with_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    id: NodeId
    host: str
    port: int
    is_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    endpoint_type: int = CONTROLLERS
    cluster_id: str = ""
    controller: NodeId = NO_NODE
    members: tuple[ClusterMember, ...] = ()


def _read_cluster(entity: Any) -> DescribeClusterRequest:
    return DescribeClusterRequest(
        endpoint_type=getattr(entity, "endpoint_type", None),
        with_fenced=getattr(entity, "include_fenced_brokers", False),
    )


def _write_cluster(message: DescribeClusterRequest, kio: SimpleNamespace) -> Any:
    return kio.DescribeClusterRequest(
        include_cluster_authorized_operations=False,
        endpoint_type=message.endpoint_type,
        include_fenced_brokers=message.with_fenced,
    )


def _read_cluster_response(entity: Any) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        endpoint_type=getattr(entity, "endpoint_type", CONTROLLERS),
        cluster_id=entity.cluster_id,
        controller=NodeId(entity.controller_id),
        members=tuple(
            ClusterMember(
                id=NodeId(b.broker_id),
                host=b.host,
                port=b.port,
                is_fenced=getattr(b, "is_fenced", False),
            )
            for b in entity.brokers
        ),
    )


def _write_cluster_response(message: DescribeClusterResponse, kio: SimpleNamespace) -> Any:
    members = tuple(
        kio.DescribeClusterBroker(
            broker_id=member.id,
            host=member.host,
            port=member.port,
            is_fenced=member.is_fenced,
        )
        for member in message.members
    )
    return kio.DescribeClusterResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        error_message=message.message,
        endpoint_type=message.endpoint_type,
        cluster_id=message.cluster_id,
        controller_id=message.controller,
        brokers=members,
    )


DESCRIBE_CLUSTER = Api(
    key=60,
    name="DescribeCluster",
    package="describe_cluster",
    min_version=0,
    max_version=2,
    request=DescribeClusterRequest,
    read_request=_read_cluster,
    write_request=_write_cluster,
    read_response=_read_cluster_response,
    write_response=_write_cluster_response,
)


_FIRST_WITH_IDS = 12
_FIRST_WITH_NULL = 1  # before it no topics means all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtTopic:
    """A topic by its name, or (from version 12 on) by its id."""

    name: str | None = None
    id: UUID = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """`topics`: None for all. `is_too_early`: names topics by id in versions 10 and 11, which have
    a field for that, but refuse it (KIP-516). `may_create`: missing topics may be created; before
    version 4 a client could not forbid it (KIP-361).
    """

    topics: tuple[SoughtTopic, ...] | None = None
    may_create: bool = False
    is_too_early: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedPartition:
    error: ErrorCode = ErrorCode.NONE
    index: int
    leader: NodeId = NO_NODE
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopic:
    error: ErrorCode = ErrorCode.NONE
    name: str | None = None
    id: UUID = ZERO_UUID
    is_internal: bool = False
    partitions: tuple[DescribedPartition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    """`controller` is a broker, which forwards what controllers do."""

    cluster_id: str
    controller: NodeId
    brokers: tuple[tuple[NodeId, Endpoint], ...]
    topics: tuple[DescribedTopic, ...]


def _read_topic_metadata_request(entity: Any) -> MetadataRequest:
    may_create = getattr(entity, "allow_auto_topic_creation", True)
    if entity.topics is None or (not entity.topics and entity.__version__ < _FIRST_WITH_NULL):
        return MetadataRequest(may_create=may_create)
    topics = tuple(
        SoughtTopic(name=each.name, id=some_uuid(getattr(each, "topic_id", None)))
        for each in entity.topics
    )
    by_id = any(each.name is None or each.id != ZERO_UUID for each in topics)
    return MetadataRequest(
        topics=topics,
        may_create=may_create,
        is_too_early=by_id and entity.__version__ < _FIRST_WITH_IDS,
    )


def _write_topic_metadata_request(message: MetadataRequest, kio: SimpleNamespace) -> Any:
    topics = None
    if message.topics is not None:
        topics = tuple(
            kio.MetadataRequestTopic(name=each.name, topic_id=each.id) for each in message.topics
        )
    elif kio.version < _FIRST_WITH_NULL:
        topics = ()
    return kio.MetadataRequest(
        topics=topics,
        allow_auto_topic_creation=message.may_create,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def _read_topic_metadata_response(entity: Any) -> MetadataResponse:
    return MetadataResponse(
        cluster_id=getattr(entity, "cluster_id", None) or "",
        controller=NodeId(getattr(entity, "controller_id", NO_NODE)),
        brokers=tuple(
            (NodeId(each.node_id), Endpoint(name="", host=each.host, port=each.port))
            for each in entity.brokers
        ),
        topics=tuple(
            DescribedTopic(
                error=our_error(topic.error_code),
                name=topic.name,
                id=some_uuid(getattr(topic, "topic_id", None)),
                is_internal=getattr(topic, "is_internal", False),
                partitions=tuple(_read_topic_metadata_partition(each) for each in topic.partitions),
            )
            for topic in entity.topics
        ),
    )


def _read_topic_metadata_partition(partition: Any) -> DescribedPartition:
    return DescribedPartition(
        error=our_error(partition.error_code),
        index=partition.partition_index,
        leader=NodeId(partition.leader_id),
        leader_epoch=getattr(partition, "leader_epoch", -1),
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(getattr(partition, "offline_replicas", ())),
    )


def _write_topic_metadata_response(message: MetadataResponse, kio: SimpleNamespace) -> Any:
    return kio.MetadataResponse(
        throttle_time=NO_THROTTLE,
        brokers=tuple(
            kio.MetadataResponseBroker(node_id=node, host=at.host, port=at.port)
            for node, at in message.brokers
        ),
        cluster_id=message.cluster_id,
        controller_id=message.controller,
        topics=tuple(
            kio.MetadataResponseTopic(
                error_code=topic.error,
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic.is_internal,
                partitions=tuple(
                    kio.MetadataResponsePartition(
                        error_code=each.error,
                        partition_index=each.index,
                        leader_id=each.leader,
                        leader_epoch=each.leader_epoch,
                        replica_nodes=each.replicas,
                        isr_nodes=each.isr,
                        offline_replicas=each.offline,
                    )
                    for each in topic.partitions
                ),
            )
            for topic in message.topics
        ),
        error_code=ErrorCode.NONE,
    )


METADATA = Api(
    key=3,
    name="Metadata",
    package="metadata",
    min_version=0,
    max_version=13,
    request=MetadataRequest,
    read_request=_read_topic_metadata_request,
    write_request=_write_topic_metadata_request,
    read_response=_read_topic_metadata_response,
    write_response=_write_topic_metadata_response,
    may_be_followed=True,  # librdkafka reserves four bytes for "all topics", and writes one
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# DescribeTopicPartitions 0: the state of partitions, a page at a time (KIP-966).


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page begins: all before it was in earlier pages."""

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


def _read_describe_topic_partitions_request(entity: Any) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=tuple(each.name for each in entity.topics),
        limit=entity.response_partition_limit,
        cursor=_read_cursor(entity.cursor),
    )


def _write_describe_topic_partitions_request(
    message: DescribeTopicPartitionsRequest, kio: SimpleNamespace
) -> Any:
    return kio.DescribeTopicPartitionsRequest(
        topics=tuple(kio.TopicRequest(name=name) for name in message.topics),
        response_partition_limit=message.limit,
        cursor=_write_cursor(message.cursor, kio),
    )


def _read_describe_topic_partitions_response(entity: Any) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=tuple(
            TopicDescription(
                error=our_error(topic.error_code),
                name=topic.name or "",
                id=some_uuid(topic.topic_id),
                is_internal=topic.is_internal,
                partitions=tuple(
                    _read_describe_topic_partitions_partition(each) for each in topic.partitions
                ),
            )
            for topic in entity.topics
        ),
        next=_read_cursor(entity.next_cursor),
    )


def _read_describe_topic_partitions_partition(entity: Any) -> PartitionDescription:
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


def _write_describe_topic_partitions_response(
    message: DescribeTopicPartitionsResponse, kio: SimpleNamespace
) -> Any:
    return kio.DescribeTopicPartitionsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.DescribeTopicPartitionsResponseTopic(
                error_code=topic.error,
                name=topic.name,
                topic_id=topic.id,
                is_internal=topic.is_internal,
                partitions=tuple(
                    _write_describe_topic_partitions_partition(each, kio)
                    for each in topic.partitions
                ),
            )
            for topic in message.topics
        ),
        next_cursor=_write_cursor(message.next, kio),
    )


def _write_describe_topic_partitions_partition(
    partition: PartitionDescription, kio: SimpleNamespace
) -> Any:
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
    read_request=_read_describe_topic_partitions_request,
    write_request=_write_describe_topic_partitions_request,
    read_response=_read_describe_topic_partitions_response,
    write_response=_write_describe_topic_partitions_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
