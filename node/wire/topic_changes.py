"""CreateTopics, CreatePartitions and DeleteTopics."""

from typing import Annotated
from uuid import UUID

from node.errors import ErrorCode
from node.ids import ZERO_UUID, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import AT_ONCE, NAMES, PARTITIONS, Api
from node.wire.configs import ConfigEntry
from node.wire.declared import Error, Kio, Message, each

BY_DEFAULT = -1  # partitions and replicas as the controller is configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The replicas that a partition is to have, the preferred leader first."""

    index: Annotated[int, "partition_index"]
    brokers: Annotated[tuple[NodeId, ...], "broker_ids"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetting:
    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str
    partitions: Annotated[int, "num_partitions"] = 1
    replication: Annotated[int, "replication_factor"] = 1
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
    error: Error = ErrorCode.NONE
    message: Message = None
    id: Annotated[UUID, "topic_id"] = ZERO_UUID
    partitions: Annotated[int, "num_partitions"] = -1
    replication: Annotated[int, "replication_factor"] = -1
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse:
    results: Annotated[tuple[TopicResult, ...], "topics"]


CREATE_TOPICS = Api(
    19, "CreateTopics", 2, 7, CreateTopicsRequest, CreateTopicsResponse, size=PARTITIONS
)


# CreatePartitions: adds partitions to a topic (KIP-195).


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedPartitions:
    """`count` includes the existing ones. `assignments` has the replicas of each new one, the
    preferred leader first; None: the controller places them.
    """

    topic: Annotated[str, "name"]
    count: int
    assignments: Annotated[
        tuple[tuple[NodeId, ...], ...] | None, each("assignments", "broker_ids")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsRequest:
    topics: tuple[WantedPartitions, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPartitionsResult:
    topic: Annotated[str, "name"]
    error: Error = ErrorCode.NONE
    message: Message = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsResponse:
    results: tuple[NewPartitionsResult, ...]


CREATE_PARTITIONS = Api(
    37,
    "CreatePartitions",
    0,
    3,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    always=AT_ONCE,
    size=PARTITIONS,
)


# DeleteTopics, by name or, from version 6 on, by id.


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedTopic:
    """Has the one or the other: no name, or the zero id."""

    name: Annotated[str | None, Kio("name", ".", null="")] = None
    id: Annotated[UUID, "topic_id"] = ZERO_UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsRequest:
    topics: Annotated[tuple[DeletedTopic, ...], Kio("topics", "topic_names")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionResult:
    name: Annotated[str | None, Kio("name", null="")]
    id: Annotated[UUID, "topic_id"] = ZERO_UUID
    error: Error = ErrorCode.NONE
    message: Message = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTopicsResponse:
    results: Annotated[tuple[DeletionResult, ...], "responses"]


DELETE_TOPICS = Api(
    20, "DeleteTopics", 1, 6, DeleteTopicsRequest, DeleteTopicsResponse, always=AT_ONCE, size=NAMES
)
