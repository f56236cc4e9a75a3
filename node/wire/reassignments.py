"""ElectLeaders, and AlterPartitionReassignments and ListPartitionReassignments, which move replicas
to other brokers (KIP-455).
"""

from dataclasses import field
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

# ElectLeaders: an operator requests an election of the preferred leader, or an unclean one
# (KIP-183, KIP-460).


PREFERRED, UNCLEAN = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPartition:
    """`entry`: the index of its topic in the request. Answers keep two entries of one topic apart,
    as Kafka's do; otherwise it has no meaning.
    """

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


def _read_elect_leaders_request(entity: Any) -> ElectLeadersRequest:
    """Version 0 has one kind only."""
    topics = entity.topic_partitions
    named = None
    if topics is not None:
        named = tuple(
            NamedPartition(topic=topic.topic, index=index, entry=entry)
            for entry, topic in enumerate(topics)
            for index in topic.partitions
        )
    return ElectLeadersRequest(kind=getattr(entity, "election_type", PREFERRED), partitions=named)


def _write_elect_leaders_request(message: ElectLeadersRequest, kio: SimpleNamespace) -> Any:
    topics = None
    if message.partitions is not None:
        topics = tuple(
            kio.TopicPartitions(topic=each.topic, partitions=(each.index,))
            for each in message.partitions
        )
    return kio.ElectLeadersRequest(
        election_type=message.kind, topic_partitions=topics, timeout=NO_THROTTLE
    )


def _read_elect_leaders_response(entity: Any) -> ElectLeadersResponse:
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


def _write_elect_leaders_response(message: ElectLeadersResponse, kio: SimpleNamespace) -> Any:
    # Also for a topic without any result.
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
    read_request=_read_elect_leaders_request,
    write_request=_write_elect_leaders_request,
    read_response=_read_elect_leaders_response,
    write_response=_write_elect_leaders_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# --- AlterPartitionReassignments ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """`replicas`: the target, the preferred leader first; None: cancel an ongoing reassignment."""

    partition: NamedPartition
    replicas: tuple[NodeId, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignmentsRequest:
    """`may_resize`: the number of replicas may change (always, before version 1)."""

    reassignments: tuple[Reassignment, ...]
    may_resize: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentResult:
    partition: NamedPartition
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignmentsResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    results: tuple[ReassignmentResult, ...] = ()
    may_resize: bool = True


def _read_alteration(entity: Any) -> AlterReassignmentsRequest:
    return AlterReassignmentsRequest(
        reassignments=tuple(
            Reassignment(
                partition=NamedPartition(topic=topic.name, index=each.partition_index, entry=entry),
                replicas=None if each.replicas is None else tuple(map(NodeId, each.replicas)),
            )
            for entry, topic in enumerate(entity.topics)
            for each in topic.partitions
        ),
        may_resize=getattr(entity, "allow_replication_factor_change", True),
    )


def _write_alteration(message: AlterReassignmentsRequest, kio: SimpleNamespace) -> Any:
    """Each partition gets a topic entry: the protocol does not ask for them to be joined."""
    topics = tuple(
        kio.ReassignableTopic(
            name=each.partition.topic,
            partitions=(
                kio.ReassignablePartition(
                    partition_index=each.partition.index, replicas=each.replicas
                ),
            ),
        )
        for each in message.reassignments
    )
    return kio.AlterPartitionReassignmentsRequest(
        timeout=NO_THROTTLE, allow_replication_factor_change=message.may_resize, topics=topics
    )


def _read_alteration_response(entity: Any) -> AlterReassignmentsResponse:
    return AlterReassignmentsResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        results=tuple(
            ReassignmentResult(
                partition=NamedPartition(topic=topic.name, index=each.partition_index),
                error=our_error(each.error_code),
                message=each.error_message,
            )
            for topic in entity.responses
            for each in topic.partitions
        ),
        may_resize=getattr(entity, "allow_replication_factor_change", True),
    )


def _write_alteration_response(message: AlterReassignmentsResponse, kio: SimpleNamespace) -> Any:
    by_topic: dict[tuple[int, str], list[Any]] = {}
    for each in message.results:
        by_topic.setdefault((each.partition.entry, each.partition.topic), []).append(
            kio.ReassignablePartitionResponse(
                partition_index=each.partition.index,
                error_code=each.error,
                error_message=each.message,
            )
        )
    responses = tuple(
        kio.ReassignableTopicResponse(name=topic, partitions=tuple(partitions))
        for (_, topic), partitions in by_topic.items()
    )
    return kio.AlterPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        allow_replication_factor_change=message.may_resize,
        error_code=message.error,
        error_message=message.message,
        responses=responses,
    )


ALTER_REASSIGNMENTS = Api(
    key=45,
    name="AlterPartitionReassignments",
    package="alter_partition_reassignments",
    min_version=0,
    max_version=1,
    request=AlterReassignmentsRequest,
    read_request=_read_alteration,
    write_request=_write_alteration,
    read_response=_read_alteration_response,
    write_response=_write_alteration_response,
    most=MAX_PARTITION_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# --- ListPartitionReassignments ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReassignmentsRequest:
    """`partitions` None: every one."""

    partitions: tuple[NamedPartition, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingReassignment:
    """`replicas` with those that are `adding` and `removing`."""

    partition: NamedPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReassignmentsResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    ongoing: tuple[OngoingReassignment, ...] = ()


def _read_listing(entity: Any) -> ListReassignmentsRequest:
    if entity.topics is None:
        return ListReassignmentsRequest(partitions=None)
    return ListReassignmentsRequest(
        partitions=tuple(
            NamedPartition(topic=topic.name, index=index)
            for topic in entity.topics
            for index in topic.partition_indexes
        )
    )


def _write_listing(message: ListReassignmentsRequest, kio: SimpleNamespace) -> Any:
    topics = None
    if message.partitions is not None:
        topics = tuple(
            kio.ListPartitionReassignmentsTopics(name=each.topic, partition_indexes=(each.index,))
            for each in message.partitions
        )
    return kio.ListPartitionReassignmentsRequest(timeout=NO_THROTTLE, topics=topics)


def _read_listing_response(entity: Any) -> ListReassignmentsResponse:
    return ListReassignmentsResponse(
        error=our_error(entity.error_code),
        message=entity.error_message,
        ongoing=tuple(
            OngoingReassignment(
                partition=NamedPartition(topic=topic.name, index=each.partition_index),
                replicas=each.replicas,
                adding=each.adding_replicas,
                removing=each.removing_replicas,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_listing_response(message: ListReassignmentsResponse, kio: SimpleNamespace) -> Any:
    by_topic: dict[str, list[Any]] = {}
    for each in message.ongoing:
        by_topic.setdefault(each.partition.topic, []).append(
            kio.OngoingPartitionReassignment(
                partition_index=each.partition.index,
                replicas=each.replicas,
                adding_replicas=each.adding,
                removing_replicas=each.removing,
            )
        )
    topics = tuple(
        kio.OngoingTopicReassignment(name=topic, partitions=tuple(partitions))
        for topic, partitions in by_topic.items()
    )
    return kio.ListPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        error_message=message.message,
        topics=topics,
    )


LIST_REASSIGNMENTS = Api(
    key=46,
    name="ListPartitionReassignments",
    package="list_partition_reassignments",
    min_version=0,
    max_version=0,
    request=ListReassignmentsRequest,
    read_request=_read_listing,
    write_request=_write_listing,
    read_response=_read_listing_response,
    write_response=_write_listing_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=2 * MAX_PARTITION_ELEMENTS,
)
