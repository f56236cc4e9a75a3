"""Metadata 0-13: who is there, and who leads what, for clients."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NO_NODE, ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

_FIRST_WITH_IDS = 12
_FIRST_WITH_NULL = 1  # before it no topics means all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtTopic:
    """By its name, or (from version 12 on) by its id."""

    name: str | None = None
    id: UUID = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest:
    """`topics`: None for all. `is_too_early`: for what is sought by id; versions 10 and 11 have a
    field for it, and refuse it (KIP-516). `may_create`: those that there are not; before version 4
    nobody could say no (KIP-361)."""

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
    """`controller` is a broker that takes what controllers do."""

    cluster_id: str
    controller: NodeId
    brokers: tuple[tuple[NodeId, Endpoint], ...]
    topics: tuple[DescribedTopic, ...]


def _read_request(entity: Any) -> MetadataRequest:
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


def _write_request(message: MetadataRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> MetadataResponse:
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
                partitions=tuple(_read_partition(each) for each in topic.partitions),
            )
            for topic in entity.topics
        ),
    )


def _read_partition(partition: Any) -> DescribedPartition:
    return DescribedPartition(
        error=our_error(partition.error_code),
        index=partition.partition_index,
        leader=NodeId(partition.leader_id),
        leader_epoch=getattr(partition, "leader_epoch", -1),
        replicas=tuple(partition.replica_nodes),
        isr=tuple(partition.isr_nodes),
        offline=tuple(getattr(partition, "offline_replicas", ())),
    )


def _write_response(message: MetadataResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    may_be_followed=True,  # librdkafka reserves four bytes for "all topics", and writes one
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
