"""GetReplicaLogInfo, with which an active controller asks brokers how much a partition's replicas
hold (KIP-966, "Unclean recovery").

No released Kafka has it. Its fields: Kafka's trunk carried it for two months, as 93, a number that
was given to another request since; here it is 966, as the error REQUEST_LIMIT_REACHED.
"""

from typing import Annotated

from node.errors import ErrorCode
from node.ids import NO_EPOCH
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error
from node.wire.entities import PartitionFields, TopicPartition, in_topics, of_topics

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
