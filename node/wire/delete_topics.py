"""DeleteTopics, by name or, from version 6 on, by id."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import ZERO_UUID
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error, some_uuid

_STATES = 6  # the version in which topics became structs


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTopic:
    """To be the one or the other: no name, or the zero id."""

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


def _read_request(entity: Any) -> DeleteTopicsRequest:
    if hasattr(entity, "topic_names"):
        return DeleteTopicsRequest(topics=tuple(DeletedTopic(name=n) for n in entity.topic_names))
    return DeleteTopicsRequest(
        topics=tuple(
            DeletedTopic(name=each.name, id=some_uuid(each.topic_id)) for each in entity.topics
        )
    )


def _write_request(message: DeleteTopicsRequest, kio: SimpleNamespace) -> Any:
    states = message.topics if kio.version >= _STATES else ()
    return kio.DeleteTopicsRequest(
        topics=tuple(kio.DeleteTopicState(name=each.name, topic_id=each.id) for each in states),
        topic_names=tuple(each.name or "" for each in message.topics),
        timeout=NO_THROTTLE,
    )


def _read_response(entity: Any) -> DeleteTopicsResponse:
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


def _write_response(message: DeleteTopicsResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
