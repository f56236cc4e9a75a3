"""AlterPartition and AssignReplicasToDirs: what brokers report to the controller of their replicas.

AlterPartition: the leader of a partition proposes another ISR (KIP-497, KIP-841, KIP-903).
"""

from typing import Annotated
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import PARTITIONS, Api
from node.wire.declared import Error, Kio, Parts, Rows

ANY_EPOCH = -1


_BY_TOPIC = Rows("topics", "partitions", by=[("topic",)])
_BY_DIRECTORY = Rows(
    "directories", "topics", "partitions", by=[("replica.directory",), ("replica.topic",)]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrMember:
    """A replica, and the broker epoch in which it was caught up; -1: in any (before version 3)."""

    broker: Annotated[NodeId, Kio("broker_id", ".")]
    epoch: Annotated[int, "broker_epoch"] = ANY_EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class AlteredPartition:
    """`recovery` 1: it is recovering from an unclean election, 0: it is not."""

    topic: Annotated[UUID, "topic_id"]
    index: Annotated[int, "partition_index"]
    leader_epoch: int
    partition_epoch: int
    isr: Annotated[tuple[IsrMember, ...], Kio("new_isr_with_epochs", "new_isr")]
    recovery: Annotated[int, "leader_recovery_state"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionRequest:
    broker: Annotated[NodeId, "broker_id"]
    epoch: Annotated[int, "broker_epoch"]
    partitions: Annotated[tuple[AlteredPartition, ...], Rows("topics", "partitions")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionResult:
    """The partition as it is now; with an error, nothing else."""

    topic: Annotated[UUID, "topic_id"]
    index: Annotated[int, "partition_index"]
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "leader_id"] = NodeId(0)
    leader_epoch: int = 0
    partition_epoch: int = 0
    isr: tuple[int, ...] = ()
    recovery: Annotated[int, "leader_recovery_state"] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionResponse:
    error: Error = ErrorCode.NONE
    results: Annotated[tuple[PartitionResult, ...], _BY_TOPIC] = ()


ALTER_PARTITION = Api(
    56, "AlterPartition", 2, 3, AlterPartitionRequest, AlterPartitionResponse, size=PARTITIONS
)


# AssignReplicasToDirs: the log directories of a broker's replicas (KIP-858).


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedReplica:
    directory: Annotated[UUID, "id_"]
    topic: Annotated[UUID, "topic_id"]
    index: Annotated[int, "partition_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignDirectoriesRequest:
    broker: Annotated[NodeId, "broker_id"]
    epoch: Annotated[int, "broker_epoch"]
    replicas: Annotated[tuple[AssignedReplica, ...], Rows("directories", "topics", "partitions")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignmentResult:
    replica: Annotated[AssignedReplica, Parts()]
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignDirectoriesResponse:
    error: Error = ErrorCode.NONE
    results: Annotated[tuple[AssignmentResult, ...], _BY_DIRECTORY] = ()


ASSIGN_DIRECTORIES = Api(
    73,
    "AssignReplicasToDirs",
    0,
    0,
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
    size=PARTITIONS,
)
