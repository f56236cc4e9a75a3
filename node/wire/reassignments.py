"""ElectLeaders, and AlterPartitionReassignments and ListPartitionReassignments, which move replicas
to other brokers (KIP-455).
"""

from dataclasses import field
from types import SimpleNamespace
from typing import Annotated, Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import AT_ONCE, NAMES, NAMES_AND_MORE, PARTITIONS, Api
from node.wire.declared import Error, Functions, Kio, Message, Parts, Rows, since

# ElectLeaders: an operator requests an election of the preferred leader, or an unclean one
# (KIP-183, KIP-460); or the best of the replicas, or one that the operator names (KIP-966, part
# two, in version 3, which no released Kafka has).


PREFERRED, UNCLEAN = 0, 1
LONGEST_AGGRESSIVE, LONGEST_BALANCED, DESIGNATED = 2, 3, 4
_WITH_RECOVERY = 3
MOST_ELECTIONS = 1000  # partitions of one request that are served, from version 3 on


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPartition:
    """`entry`: the index of its topic in the request. Answers keep two entries of one topic apart,
    as Kafka's do; otherwise it has no meaning.
    """

    topic: Annotated[str, Kio("topic", "name")]
    index: Annotated[int, Kio("partition_index", "partition_id", ".")]
    entry: int = field(default=0, compare=False)


_Named = Annotated[NamedPartition, Parts()]
_IN_ENTRY = [("partition.entry", "partition.topic")]
_NAMED = Rows(
    "topic_partitions",
    "partitions",
    entries=True,
    unless=lambda _, version: version >= _WITH_RECOVERY,  # with the leaders that are desired
)
_ELECTED = Rows("replica_election_results", "partition_result")
_ALTERED = Rows("responses", "partitions", by=_IN_ENTRY)
_ONGOING = Rows("topics", "partitions", by=[("partition.topic",)])


def _read_desired(entity: Any) -> tuple[int | None, ...]:
    """Leaders that are as many as their partitions belong to them; others to none."""
    found: list[int | None] = []
    for topic in entity.topic_partitions or ():
        leaders = getattr(topic, "desired_leaders", None)
        if leaders is None or len(leaders) != len(topic.partitions):
            leaders = (None,) * len(topic.partitions)
        found += leaders
    return tuple(found) if any(each is not None for each in found) else ()


def _write_desired(message: "ElectLeadersRequest", version: int) -> dict[str, Any]:
    """A topic for each partition."""
    if version < _WITH_RECOVERY:
        return {}
    if message.partitions is None:
        return {"topic_partitions": None}
    desired = message.desired or (None,) * len(message.partitions)
    topics = (
        SimpleNamespace(
            topic=each.topic,
            partitions=(each.index,),
            desired_leaders=None if leader is None else (leader,),
        )
        for each, leader in zip(message.partitions, desired, strict=True)
    )
    return {"topic_partitions": tuple(topics)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersRequest:
    """`partitions` None: every one. `desired`: the leader that an operator names for each of them,
    or None. `has_recovery`: in a version with the elections of unclean recovery."""

    kind: Annotated[int, Kio("election_type", absent=PREFERRED)]
    partitions: Annotated[tuple[NamedPartition, ...] | None, _NAMED]
    desired: Annotated[tuple[int | None, ...], Functions(_read_desired, _write_desired)] = ()
    timeout_ms: Annotated[int, "timeout"] = 60_000
    has_recovery: Annotated[bool, since(_WITH_RECOVERY)] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionResult:
    partition: _Named
    error: Error = ErrorCode.NONE
    message: Message = None


def _write_elected(message: "ElectLeadersResponse", _version: int) -> dict[str, Any]:
    """Also topics without any result."""
    by_topic: dict[tuple[int, str], list[Any]] = {(0, topic): [] for topic in message.topics}
    for each in message.results:
        by_topic.setdefault((each.partition.entry, each.partition.topic), []).append(
            SimpleNamespace(
                partition_id=each.partition.index,
                error_code=each.error,
                error_message=each.message,
            )
        )
    told = (
        SimpleNamespace(topic=topic, partition_result=tuple(partitions))
        for (_, topic), partitions in by_topic.items()
    )
    return {"replica_election_results": tuple(told)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersResponse:
    """`topics`: all that were asked for, where none was named."""

    error: Error = ErrorCode.NONE
    results: Annotated[tuple[ElectionResult, ...], _ELECTED] = ()
    topics: Annotated[tuple[str, ...], Functions(write=_write_elected)] = field(
        default=(), compare=False
    )


ELECT_LEADERS = Api(
    43, "ElectLeaders", 0, 3, ElectLeadersRequest, ElectLeadersResponse, always=AT_ONCE, size=NAMES
)


# --- AlterPartitionReassignments ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """`replicas`: the target, the preferred leader first; None: cancel an ongoing reassignment."""

    partition: _Named
    replicas: tuple[NodeId, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignmentsRequest:
    """`may_resize`: the number of replicas may change (always, before version 1)."""

    reassignments: Annotated[tuple[Reassignment, ...], Rows("topics", "partitions", entries=True)]
    may_resize: Annotated[bool, "allow_replication_factor_change"] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReassignmentResult:
    partition: _Named
    error: Error = ErrorCode.NONE
    message: Message = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterReassignmentsResponse:
    error: Error = ErrorCode.NONE
    message: Message = None
    results: Annotated[tuple[ReassignmentResult, ...], _ALTERED] = ()
    may_resize: Annotated[bool, "allow_replication_factor_change"] = True


ALTER_REASSIGNMENTS = Api(
    45,
    "AlterPartitionReassignments",
    0,
    1,
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    always=AT_ONCE,
    size=PARTITIONS,
)


# --- ListPartitionReassignments ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReassignmentsRequest:
    """`partitions` None: every one."""

    partitions: Annotated[tuple[NamedPartition, ...] | None, Rows("topics", "partition_indexes")]


@dataclass(frozen=True, slots=True, kw_only=True)
class OngoingReassignment:
    """`replicas` with those that are `adding` and `removing`."""

    partition: _Named
    replicas: tuple[int, ...]
    adding: Annotated[tuple[int, ...], "adding_replicas"]
    removing: Annotated[tuple[int, ...], "removing_replicas"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReassignmentsResponse:
    error: Error = ErrorCode.NONE
    message: Message = None
    ongoing: Annotated[tuple[OngoingReassignment, ...], _ONGOING] = ()


LIST_REASSIGNMENTS = Api(
    46,
    "ListPartitionReassignments",
    0,
    0,
    ListReassignmentsRequest,
    ListReassignmentsResponse,
    always=AT_ONCE,
    size=NAMES_AND_MORE,
)
