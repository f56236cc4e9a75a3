"""CreateTopics, which a controller without brokers refuses."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest:
    topics: tuple[NewTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    name: str
    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse:
    results: tuple[TopicResult, ...]


def _read_topics(entity: Any) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=tuple(NewTopic(name=topic.name) for topic in entity.topics))


def _write_topics(message: CreateTopicsRequest, kio: SimpleNamespace) -> Any:
    """One partition, one replica each: more is not asked for before there are brokers."""
    topics = tuple(
        kio.CreatableTopic(
            name=topic.name, num_partitions=1, replication_factor=1, assignments=(), configs=()
        )
        for topic in message.topics
    )
    return kio.CreateTopicsRequest(topics=topics)


def _read_topics_response(entity: Any) -> CreateTopicsResponse:
    results = tuple(
        TopicResult(
            name=topic.name,
            error=our_error(topic.error_code),
            message=getattr(topic, "error_message", None),
        )
        for topic in entity.topics
    )
    return CreateTopicsResponse(results=results)


def _write_topics_response(message: CreateTopicsResponse, kio: SimpleNamespace) -> Any:
    results = tuple(
        kio.CreatableTopicResult(
            name=result.name,
            topic_id=None,
            error_code=result.error,
            error_message=result.message,
            configs=None,
        )
        for result in message.results
    )
    return kio.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=results)


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
)
