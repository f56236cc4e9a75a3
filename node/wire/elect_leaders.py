"""ElectLeaders: an operator asks for the preferred leader, or for any (KIP-183, KIP-460)."""

from dataclasses import field
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

PREFERRED, UNCLEAN = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPartition:
    """`entry`: which one of a request's topics names it. Answers keep apart what two of them name,
    as those of Kafka do; else it says nothing."""

    topic: str
    index: int
    entry: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersRequest:
    """`partitions` None: every one."""

    kind: int
    partitions: tuple[NamedPartition, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionResult:
    partition: NamedPartition
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersResponse:
    """`topics`: all that were asked for, where none was named."""

    error: ErrorCode = ErrorCode.NONE
    results: tuple[ElectionResult, ...] = ()
    topics: tuple[str, ...] = field(default=(), compare=False)


def _read_request(entity: Any) -> ElectLeadersRequest:
    """Version 0 knows one kind."""
    topics = entity.topic_partitions
    named = None
    if topics is not None:
        named = tuple(
            NamedPartition(topic=topic.topic, index=index, entry=entry)
            for entry, topic in enumerate(topics)
            for index in topic.partitions
        )
    return ElectLeadersRequest(kind=getattr(entity, "election_type", PREFERRED), partitions=named)


def _write_request(message: ElectLeadersRequest, kio: SimpleNamespace) -> Any:
    topics = None
    if message.partitions is not None:
        topics = tuple(
            kio.TopicPartitions(topic=each.topic, partitions=(each.index,))
            for each in message.partitions
        )
    return kio.ElectLeadersRequest(
        election_type=message.kind, topic_partitions=topics, timeout=NO_THROTTLE
    )


def _read_response(entity: Any) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error=our_error(getattr(entity, "error_code", ErrorCode.NONE)),
        results=tuple(
            ElectionResult(
                partition=NamedPartition(topic=topic.topic, index=each.partition_id),
                error=our_error(each.error_code),
                message=each.error_message,
            )
            for topic in entity.replica_election_results
            for each in topic.partition_result
        ),
    )


def _write_response(message: ElectLeadersResponse, kio: SimpleNamespace) -> Any:
    # Also of a topic of which nothing is told.
    by_topic: dict[tuple[int, str], list[Any]] = {(0, topic): [] for topic in message.topics}
    for each in message.results:
        by_topic.setdefault((each.partition.entry, each.partition.topic), []).append(
            kio.PartitionResult(
                partition_id=each.partition.index,
                error_code=each.error,
                error_message=each.message,
            )
        )
    results = tuple(
        kio.ReplicaElectionResult(topic=topic, partition_result=tuple(partitions))
        for (_, topic), partitions in by_topic.items()
    )
    return kio.ElectLeadersResponse(
        throttle_time=NO_THROTTLE, error_code=message.error, replica_election_results=results
    )


ELECT_LEADERS = Api(
    key=43,
    name="ElectLeaders",
    package="elect_leaders",
    min_version=0,
    max_version=2,
    request=ElectLeadersRequest,
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
