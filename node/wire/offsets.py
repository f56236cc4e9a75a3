"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: requests about a partition's offsets.

ListOffsets 1-11: where a partition begins and ends, for consumers.

GetReplicaLogInfo, with which an active controller asks brokers how much a partition's replicas
hold (KIP-966, "Unclean recovery").

No released Kafka has it. Its fields: Kafka's trunk carried it for two months, as 93, a number that
was given to another request since; here it is 966, as the error REQUEST_LIMIT_REACHED.
"""

from operator import attrgetter
from typing import Annotated

from node.errors import ErrorCode
from node.ids import NO_EPOCH, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error, Functions
from node.wire.entities import PartitionFields, TopicPartition, in_topics, of_topics

# In place of a timestamp: the last committed offset, the first one, the record of the maximum
# timestamp (KIP-734), and those of tiered storage (KIP-405, KIP-1005, KIP-1023).
LATEST, EARLIEST, LATEST_TIME = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
# The first version with each.
SPECIAL_TIMES = {
    LATEST: 0,
    EARLIEST: 0,
    LATEST_TIME: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NOT_SAID = -1
_NEWEST = 11


_IN_TOPICS = in_topics("topics", "partitions")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtOffset:
    partition: PartitionFields
    timestamp_ms: Annotated[int, "timestamp"]  # or a special one
    epoch: Annotated[int, "current_leader_epoch"] = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest:
    """`version` is the request's, by which special times are known."""

    version: Annotated[int, Functions(attrgetter("__version__"))] = _NEWEST
    replica: Annotated[NodeId, "replica_id"] = NodeId(-1)
    partitions: Annotated[tuple[SoughtOffset, ...], _IN_TOPICS]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffset:
    partition: PartitionFields
    error: Error = ErrorCode.NONE
    timestamp_ms: Annotated[int, "timestamp"] = _NOT_SAID
    offset: int = _NOT_SAID
    epoch: Annotated[int, "leader_epoch"] = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    partitions: Annotated[tuple[ListedOffset, ...], _IN_TOPICS]


LIST_OFFSETS = Api(
    2, "ListOffsets", 1, _NEWEST, ListOffsetsRequest, ListOffsetsResponse, size=NAMES
)


# OffsetForLeaderEpoch 2-4: where an epoch ends in the leader's log, for consumers (KIP-320).


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtEpoch:
    """The end of `sought`; `epoch` is the leader's as the client knows it."""

    partition: PartitionFields
    epoch: Annotated[int, "current_leader_epoch"] = _NOT_SAID
    sought: Annotated[int, "leader_epoch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest:
    replica: Annotated[NodeId, "replica_id"] = NodeId(-1)
    partitions: Annotated[tuple[SoughtEpoch, ...], _IN_TOPICS]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnd:
    partition: PartitionFields
    error: Error = ErrorCode.NONE
    epoch: Annotated[int, "leader_epoch"] = _NOT_SAID
    end: Annotated[int, "end_offset"] = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    partitions: Annotated[tuple[EpochEnd, ...], _IN_TOPICS]


OFFSET_FOR_LEADER_EPOCH = Api(
    23,
    "OffsetForLeaderEpoch",
    2,
    4,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    size=NAMES,
)


# DeleteRecords 0-2: a client deletes the first records of partitions (KIP-107).


TO_HIGH_WATERMARK = -1  # in the place of an offset


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsToDelete:
    """All below `offset`."""

    partition: PartitionFields
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest:
    timeout_ms: Annotated[int, "timeout"]
    partitions: Annotated[tuple[RecordsToDelete, ...], _IN_TOPICS]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """No replica has anything below `low_watermark`."""

    partition: PartitionFields
    error: Error = ErrorCode.NONE
    low_watermark: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsResponse:
    partitions: Annotated[tuple[DeletedRecords, ...], _IN_TOPICS]


DELETE_RECORDS = Api(
    21, "DeleteRecords", 0, 2, DeleteRecordsRequest, DeleteRecordsResponse, size=NAMES
)


MOST_ASKED = 1000  # partitions of one request that are served


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLogsRequest:
    """How much do your replicas of these partitions hold? Topics by id."""

    partitions: Annotated[
        tuple[TopicPartition, ...], of_topics("topic_partitions", "partitions", entries=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLogInfo:
    """`leader_epoch`: of the partition, as far as the broker knows: it fences answers given before
    that epoch. `last_epoch`: of the last record, or -1; `end`: the log end offset."""

    partition: PartitionFields
    last_epoch: Annotated[int, "last_written_leader_epoch"] = NO_EPOCH
    leader_epoch: Annotated[int, "current_leader_epoch"] = NO_EPOCH
    end: Annotated[int, "log_end_offset"] = -1
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLogsResponse:
    """`broker_epoch`: of the life that answers: it fences answers given before a restart.
    `is_truncated`: more partitions were asked for than are served at once; each of the others has
    the error REQUEST_LIMIT_REACHED."""

    broker_epoch: int
    logs: Annotated[
        tuple[ReplicaLogInfo, ...],
        in_topics("topic_partition_log_info_list", "partition_log_info"),
    ] = ()
    is_truncated: Annotated[bool, "truncated"] = False


GET_REPLICA_LOG_INFO = Api(
    966, "GetReplicaLogInfo", 0, 0, ReplicaLogsRequest, ReplicaLogsResponse, size=NAMES
)
