"""Metadata, DescribeCluster and DescribeTopicPartitions: brokers, leaders and replicas, for
clients.

DescribeLogDirs 1-4 (KIP-113, KIP-827): the content of a broker's log directories.
"""

from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, Endpoint, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error, Functions, Kio, Message, each, some_uuid
from node.wire.entities import PartitionFields, TopicPartition, in_topics, of_topics

# DescribeCluster, with its endpoint type (KIP-919).


BROKERS, CONTROLLERS = 1, 2  # types of endpoints


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest:
    """`endpoint_type`: the nodes that the client asks for; None, in version 0: of the node's own
    kind.
    """

    endpoint_type: Annotated[int | None, Kio("endpoint_type", absent=None)]
    with_fenced: Annotated[bool, "include_fenced_brokers"] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    id: Annotated[NodeId, "broker_id"]
    host: str
    port: int
    is_fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse:
    error: Error = ErrorCode.NONE
    message: Message = None
    endpoint_type: int = CONTROLLERS
    cluster_id: str = ""
    controller: Annotated[NodeId, "controller_id"] = NO_NODE
    members: Annotated[tuple[ClusterMember, ...], "brokers"] = ()


DESCRIBE_CLUSTER = Api(60, "DescribeCluster", 0, 2, DescribeClusterRequest, DescribeClusterResponse)


_FIRST_WITH_IDS = 12
_FIRST_WITH_NULL = 1  # before it no topics means all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtTopic:
    """A topic by its name, or (from version 12 on) by its id."""

    name: str | None = None
    id: Annotated[UUID, "topic_id"] = ZERO_UUID


def _read_sought(entity: Any) -> tuple[SoughtTopic, ...] | None:
    if entity.topics is None or (not entity.topics and entity.__version__ < _FIRST_WITH_NULL):
        return None
    return tuple(
        SoughtTopic(name=each.name, id=some_uuid(getattr(each, "topic_id", None)))
        for each in entity.topics
    )


def _write_sought(message: "MetadataRequest", version: int) -> dict[str, Any]:
    if message.topics is None:
        return {"topics": () if version < _FIRST_WITH_NULL else None}
    return {"topics": tuple(SimpleNamespace(name=at.name, topic_id=at.id) for at in message.topics)}


def _is_too_early(entity: Any) -> bool:
    by_id = any(at.name is None or at.id != ZERO_UUID for at in _read_sought(entity) or ())
    return by_id and entity.__version__ < _FIRST_WITH_IDS


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """`topics`: None for all. `is_too_early`: names topics by id in versions 10 and 11, which have
    a field for that, but refuse it (KIP-516). `may_create`: missing topics may be created; before
    version 4 a client could not forbid it (KIP-361).
    """

    topics: Annotated[tuple[SoughtTopic, ...] | None, Functions(_read_sought, _write_sought)] = None
    may_create: Annotated[bool, Kio("allow_auto_topic_creation", absent=True)] = False
    is_too_early: Annotated[bool, Functions(_is_too_early)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedPartition:
    error: Error = ErrorCode.NONE
    index: Annotated[int, "partition_index"]
    leader: Annotated[NodeId, "leader_id"] = NO_NODE
    leader_epoch: int = -1
    replicas: Annotated[tuple[int, ...], "replica_nodes"] = ()
    isr: Annotated[tuple[int, ...], "isr_nodes"] = ()
    offline: Annotated[tuple[int, ...], "offline_replicas"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTopic:
    error: Error = ErrorCode.NONE
    name: str | None = None
    id: Annotated[UUID, "topic_id"] = ZERO_UUID
    is_internal: bool = False
    partitions: tuple[DescribedPartition, ...] = ()


_Brokers = tuple[tuple[NodeId, Endpoint], ...]


def _read_brokers(entity: Any) -> _Brokers:
    return tuple(
        (NodeId(each.node_id), Endpoint(name="", host=each.host, port=each.port))
        for each in entity.brokers
    )


def _write_brokers(brokers: _Brokers) -> dict[str, Any]:
    told = (
        SimpleNamespace(node_id=node, host=at.host, port=at.port, rack=None) for node, at in brokers
    )
    return {"brokers": tuple(told)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    """`controller` is a broker, which forwards what controllers do."""

    cluster_id: Annotated[str, Kio("cluster_id", absent="")]
    controller: Annotated[NodeId, Kio("controller_id", absent=NO_NODE)]
    brokers: Annotated[_Brokers, Functions(_read_brokers, value=_write_brokers)]
    topics: tuple[DescribedTopic, ...]


METADATA = Api(
    3,
    "Metadata",
    0,
    13,
    MetadataRequest,
    MetadataResponse,  # librdkafka reserves four bytes for "all topics", and writes one.
    may_be_followed=True,
    size=NAMES,
)


# DescribeTopicPartitions 0: the state of partitions, a page at a time (KIP-966).


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a page begins: all before it was in earlier pages."""

    topic: Annotated[str, "topic_name"]
    index: Annotated[int, "partition_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsRequest:
    """`topics`: none for all of them. `limit`: of partitions in the answer."""

    topics: Annotated[tuple[str, ...], each("topics", "name")] = ()
    limit: Annotated[int, "response_partition_limit"]
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription:
    index: Annotated[int, "partition_index"]
    leader: Annotated[NodeId, "leader_id"] = NO_NODE
    leader_epoch: int = -1
    replicas: Annotated[tuple[int, ...], "replica_nodes"] = ()
    isr: Annotated[tuple[int, ...], "isr_nodes"] = ()
    elr: Annotated[tuple[int, ...], "eligible_leader_replicas"] = ()
    last_known_elr: tuple[int, ...] = ()
    offline: Annotated[tuple[int, ...], "offline_replicas"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    error: Error = ErrorCode.NONE
    name: str
    id: Annotated[UUID, "topic_id"] = ZERO_UUID
    is_internal: bool = False
    partitions: tuple[PartitionDescription, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTopicPartitionsResponse:
    """`next`: where the next page begins; None: this is the last one."""

    topics: tuple[TopicDescription, ...]
    next: Annotated[Cursor | None, "next_cursor"] = None


DESCRIBE_TOPIC_PARTITIONS = Api(
    75,
    "DescribeTopicPartitions",
    0,
    0,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    size=NAMES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsRequest:
    """`partitions`: None for all."""

    partitions: Annotated[tuple[TopicPartition, ...] | None, of_topics("topics", "partitions")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLog:
    """`lag`: how many records below the high watermark it lacks."""

    partition: PartitionFields
    size: Annotated[int, "partition_size"]
    lag: Annotated[int, "offset_lag"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedLogDir:
    """The size of its volume is not known to a node."""

    path: Annotated[str, "log_dir"]
    error: Error = ErrorCode.NONE
    logs: Annotated[tuple[DescribedLog, ...], in_topics("topics", "partitions")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeLogDirsResponse:
    results: tuple[DescribedLogDir, ...]


DESCRIBE_LOG_DIRS = Api(
    35, "DescribeLogDirs", 1, 4, DescribeLogDirsRequest, DescribeLogDirsResponse
)
