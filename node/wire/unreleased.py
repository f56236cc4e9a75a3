"""Messages on the wire that kio has no classes of, as no released Kafka has them:
GetReplicaLogInfo, and ElectLeaders 3 (KIP-966, part two). Declared as kio's classes are."""

from dataclasses import field
from datetime import timedelta
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaTopic:
    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partitions: tuple[int, ...] = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaLogInfoRequest:
    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[int] = 966
    topic_partitions: tuple[ReplicaTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLogInfo:
    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    partition: int = field(metadata={"kafka_type": "int32"})
    last_written_leader_epoch: int = field(metadata={"kafka_type": "int32"})
    current_leader_epoch: int = field(metadata={"kafka_type": "int32"})
    log_end_offset: int = field(metadata={"kafka_type": "int64"})
    error_code: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionLogInfo:
    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    topic_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    partition_log_info: tuple[PartitionLogInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GetReplicaLogInfoResponse:
    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[int] = 966
    throttle_time_ms: int = field(metadata={"kafka_type": "int32"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})
    truncated: bool = field(metadata={"kafka_type": "bool"})
    topic_partition_log_info_list: tuple[TopicPartitionLogInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions:
    """Of ElectLeaders 3; `desired_leaders` match `partitions` by their index."""

    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = True
    topic: str = field(metadata={"kafka_type": "string"})
    partitions: tuple[int, ...] = field(metadata={"kafka_type": "int32"})
    desired_leaders: tuple[int, ...] | None = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignatingElectLeadersRequest:
    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[int] = 43
    election_type: int = field(metadata={"kafka_type": "int8"})
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout: timedelta = field(metadata={"kafka_type": "timedelta_i32"})
