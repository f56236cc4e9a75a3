"""CreateTopics."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.configs import ConfigEntry, ConfigSource
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

BY_DEFAULT = -1  # of partitions and replicas: as the controller is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Where the replicas of a partition are to be, the preferred leader first."""

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
    """`partitions` and `replication` of what was created, -1 else, and what it is configured as
    (from version 5 on, KIP-525); `id` from version 7 on."""

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
    told: dict[int, Any] = {}  # by what they were made of: most topics share it

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
            # Null, with no error, is what clients fail on.
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
