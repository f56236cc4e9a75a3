"""CreatePartitions: a topic is to have more of them (KIP-195)."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPartitions:
    """`count` with those that there are. `assignments` has the replicas of each new one, the
    preferred leader first; None: the controller places them."""

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


def _read_request(entity: Any) -> CreatePartitionsRequest:
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


def _write_request(message: CreatePartitionsRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> CreatePartitionsResponse:
    results = tuple(
        NewPartitionsResult(
            topic=each.name, error=our_error(each.error_code), message=each.error_message
        )
        for each in entity.results
    )
    return CreatePartitionsResponse(results=results)


def _write_response(message: CreatePartitionsResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
