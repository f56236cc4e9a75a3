"""CreateTopics, CreatePartitions and DeleteTopics."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.configs import ConfigEntry, ConfigSource
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

BY_DEFAULT = -1  # partitions and replicas as the controller is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The replicas that a partition is to have, the preferred leader first."""

    index: int
    brokers: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetting:
    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str
    partitions: int = 1
    replication: int = 1
    assignments: tuple[Assignment, ...] = ()
    configs: tuple[TopicSetting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest:
    topics: tuple[NewTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """`partitions` and `replication` of what was created, otherwise -1, and its configs (from
    version 5 on, KIP-525); `id` from version 7 on.
    """

    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    id: UUID = ZERO_UUID
    partitions: int = -1
    replication: int = -1
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse:
    results: tuple[TopicResult, ...]


def _read_topics(entity: Any) -> CreateTopicsRequest:
    topics = tuple(
        NewTopic(
            name=topic.name,
            partitions=topic.num_partitions,
            replication=topic.replication_factor,
            assignments=tuple(
                Assignment(index=each.partition_index, brokers=each.broker_ids)
                for each in topic.assignments
            ),
            configs=tuple(TopicSetting(name=c.name, value=c.value) for c in topic.configs),
        )
        for topic in entity.topics
    )
    return CreateTopicsRequest(topics=topics, validate_only=entity.validate_only)


def _write_topics(message: CreateTopicsRequest, kio: SimpleNamespace) -> Any:
    topics = tuple(
        kio.CreatableTopic(
            name=topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication,
            assignments=tuple(
                kio.CreatableReplicaAssignment(partition_index=each.index, broker_ids=each.brokers)
                for each in topic.assignments
            ),
            configs=tuple(
                kio.CreatableTopicConfig(name=each.name, value=each.value) for each in topic.configs
            ),
        )
        for topic in message.topics
    )
    return kio.CreateTopicsRequest(topics=topics, validate_only=message.validate_only)


def _read_topics_response(entity: Any) -> CreateTopicsResponse:
    results = tuple(
        TopicResult(
            name=topic.name,
            error=our_error(topic.error_code),
            message=getattr(topic, "error_message", None),
            id=some_uuid(getattr(topic, "topic_id", None)),
            partitions=getattr(topic, "num_partitions", -1),
            replication=getattr(topic, "replication_factor", -1),
            configs=tuple(
                ConfigEntry(name=c.name, value=c.value, source=ConfigSource(c.config_source))
                for c in getattr(topic, "configs", None) or ()
            ),
        )
        for topic in entity.topics
    )
    return CreateTopicsResponse(results=results)


def _write_topics_response(message: CreateTopicsResponse, kio: SimpleNamespace) -> Any:
    told: dict[int, Any] = {}  # by their sources: most topics share them

    def configs(entries: tuple[ConfigEntry, ...]) -> Any:
        if id(entries) not in told:
            told[id(entries)] = tuple(_config(each, kio) for each in entries)
        return told[id(entries)]

    results = tuple(
        kio.CreatableTopicResult(
            name=result.name,
            topic_id=result.id,
            error_code=result.error,
            error_message=result.message,
            num_partitions=result.partitions,
            replication_factor=result.replication,
            # Clients fail on null without an error.
            configs=configs(result.configs),
        )
        for result in message.results
    )
    return kio.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=results)


def _config(entry: ConfigEntry, kio: SimpleNamespace) -> Any:
    return kio.CreatableTopicConfigs(
        name=entry.name,
        value=entry.value,
        read_only=False,
        config_source=entry.source,
        is_sensitive=False,
    )


CREATE_TOPICS = Api(
    key=19,
    name="CreateTopics",
    package="create_topics",
    min_version=2,
    max_version=7,
    request=CreateTopicsRequest,
    read_request=_read_topics,
    write_request=_write_topics,
    read_response=_read_topics_response,
    write_response=_write_topics_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# CreatePartitions: adds partitions to a topic (KIP-195).


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPartitions:
    """`count` includes the existing ones. `assignments` has the replicas of each new one, the
    preferred leader first; None: the controller places them.
    """

    topic: str
    count: int
    assignments: tuple[tuple[NodeId, ...], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsRequest:
    topics: tuple[WantedPartitions, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPartitionsResult:
    topic: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsResponse:
    results: tuple[NewPartitionsResult, ...]


def _read_create_partitions_request(entity: Any) -> CreatePartitionsRequest:
    topics = tuple(
        WantedPartitions(
            topic=topic.name, count=topic.count, assignments=_read_assignments(topic.assignments)
        )
        for topic in entity.topics
    )
    return CreatePartitionsRequest(topics=topics, validate_only=entity.validate_only)


def _read_assignments(found: tuple[Any, ...] | None) -> tuple[tuple[NodeId, ...], ...] | None:
    if found is None:
        return None
    return tuple(tuple(map(NodeId, each.broker_ids)) for each in found)


def _write_create_partitions_request(message: CreatePartitionsRequest, kio: SimpleNamespace) -> Any:
    topics = tuple(
        kio.CreatePartitionsTopic(
            name=each.topic, count=each.count, assignments=_write_assignments(each, kio)
        )
        for each in message.topics
    )
    return kio.CreatePartitionsRequest(
        topics=topics, timeout=NO_THROTTLE, validate_only=message.validate_only
    )


def _write_assignments(wanted: WantedPartitions, kio: SimpleNamespace) -> tuple[Any, ...] | None:
    if wanted.assignments is None:
        return None
    return tuple(kio.CreatePartitionsAssignment(broker_ids=each) for each in wanted.assignments)


def _read_create_partitions_response(entity: Any) -> CreatePartitionsResponse:
    results = tuple(
        NewPartitionsResult(
            topic=each.name, error=our_error(each.error_code), message=each.error_message
        )
        for each in entity.results
    )
    return CreatePartitionsResponse(results=results)


def _write_create_partitions_response(
    message: CreatePartitionsResponse, kio: SimpleNamespace
) -> Any:
    results = tuple(
        kio.CreatePartitionsTopicResult(
            name=each.topic, error_code=each.error, error_message=each.message
        )
        for each in message.results
    )
    return kio.CreatePartitionsResponse(throttle_time=NO_THROTTLE, results=results)


CREATE_PARTITIONS = Api(
    key=37,
    name="CreatePartitions",
    package="create_partitions",
    min_version=0,
    max_version=3,
    request=CreatePartitionsRequest,
    read_request=_read_create_partitions_request,
    write_request=_write_create_partitions_request,
    read_response=_read_create_partitions_response,
    write_response=_write_create_partitions_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# DeleteTopics, by name or, from version 6 on, by id.


_STATES = 6  # the version in which topics became structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTopic:
    """Has the one or the other: no name, or the zero id."""

    name: str | None = None
    id: UUID = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest:
    topics: tuple[DeletedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionResult:
    name: str | None
    id: UUID = ZERO_UUID
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse:
    results: tuple[DeletionResult, ...]


def _read_delete_topics_request(entity: Any) -> DeleteTopicsRequest:
    if hasattr(entity, "topic_names"):
        return DeleteTopicsRequest(topics=tuple(DeletedTopic(name=n) for n in entity.topic_names))
    return DeleteTopicsRequest(
        topics=tuple(
            DeletedTopic(name=each.name, id=some_uuid(each.topic_id)) for each in entity.topics
        )
    )


def _write_delete_topics_request(message: DeleteTopicsRequest, kio: SimpleNamespace) -> Any:
    states = message.topics if kio.version >= _STATES else ()
    return kio.DeleteTopicsRequest(
        topics=tuple(kio.DeleteTopicState(name=each.name, topic_id=each.id) for each in states),
        topic_names=tuple(each.name or "" for each in message.topics),
        timeout=NO_THROTTLE,
    )


def _read_delete_topics_response(entity: Any) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        results=tuple(
            DeletionResult(
                name=each.name,
                id=some_uuid(getattr(each, "topic_id", None)),
                error=our_error(each.error_code),
                message=getattr(each, "error_message", None),
            )
            for each in entity.responses
        )
    )


def _write_delete_topics_response(message: DeleteTopicsResponse, kio: SimpleNamespace) -> Any:
    responses = tuple(
        kio.DeletableTopicResult(
            name=each.name if kio.version >= _STATES else each.name or "",
            topic_id=each.id,
            error_code=each.error,
            error_message=each.message,
        )
        for each in message.results
    )
    return kio.DeleteTopicsResponse(throttle_time=NO_THROTTLE, responses=responses)


DELETE_TOPICS = Api(
    key=20,
    name="DeleteTopics",
    package="delete_topics",
    min_version=1,
    max_version=6,
    request=DeleteTopicsRequest,
    read_request=_read_delete_topics_request,
    write_request=_write_delete_topics_request,
    read_response=_read_delete_topics_response,
    write_response=_write_delete_topics_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
