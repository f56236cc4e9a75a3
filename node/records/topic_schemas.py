"""The metadata records of topics and partitions, as dataclasses with the marks of `node.codec`."""

from dataclasses import field
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass

NO_LEADER = -1
NO_LEADER_CHANGE = -2  # of a PartitionChangeRecord
_LAST_KNOWN_LEADER = 100  # its tag: those that KIP-966 names for it Kafka has taken for others


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """There is such a topic; its configuration and its partitions follow."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 2
    name: str = field(metadata={"kafka_type": "string"})
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """A partition, whole. `leader` -1: none. `leader_recovery_state` 1: its leader was elected
    uncleanly and is still recovering (KIP-704). `directories` has one for each replica.
    `last_known_leader` -1: none has to be kept; nobody sets it while there is no unclean recovery,
    for which `last_known_elr` is to be the whole set (KIP-966)."""

    __version__: ClassVar[int] = 2
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 3
    partition_id: int = field(metadata={"kafka_type": "int32"})
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})
    replicas: tuple[int, ...] = field(metadata={"kafka_type": "int32"})
    isr: tuple[int, ...] = field(metadata={"kafka_type": "int32"})
    removing_replicas: tuple[int, ...] = field(metadata={"kafka_type": "int32"})
    adding_replicas: tuple[int, ...] = field(metadata={"kafka_type": "int32"})
    leader: int = field(metadata={"kafka_type": "int32"})
    leader_recovery_state: int = field(metadata={"kafka_type": "int8", "tag": 0}, default=0)
    leader_epoch: int = field(metadata={"kafka_type": "int32"})
    partition_epoch: int = field(metadata={"kafka_type": "int32"})
    directories: tuple[UUID, ...] = field(metadata={"kafka_type": "uuid", "since": 1}, default=())
    eligible_leader_replicas: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 1, "since": 2}, default=None
    )
    last_known_elr: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2, "since": 2}, default=None
    )
    last_known_leader: int = field(
        metadata={"kafka_type": "int32", "tag": _LAST_KNOWN_LEADER, "since": 2}, default=NO_LEADER
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChangeRecord:
    """What changed of a partition; what is absent is as before.

    Each adds one to the partition epoch. If it has a leader, and be it the same, it adds one to the
    leader epoch. An empty ISR (`()`) is legal only with ELR (KIP-966).
    """

    __version__: ClassVar[int] = 2
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 5
    partition_id: int = field(metadata={"kafka_type": "int32"})
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})
    isr: tuple[int, ...] | None = field(metadata={"kafka_type": "int32", "tag": 0}, default=None)
    leader: int = field(metadata={"kafka_type": "int32", "tag": 1}, default=NO_LEADER_CHANGE)
    replicas: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 2}, default=None
    )
    removing_replicas: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 3}, default=None
    )
    adding_replicas: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 4}, default=None
    )
    leader_recovery_state: int = field(metadata={"kafka_type": "int8", "tag": 5}, default=-1)
    directories: tuple[UUID, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 8, "since": 1}, default=None
    )
    eligible_leader_replicas: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 6, "since": 2}, default=None
    )
    last_known_elr: tuple[int, ...] | None = field(
        metadata={"kafka_type": "int32", "tag": 7, "since": 2}, default=None
    )
    last_known_leader: int = field(
        metadata={"kafka_type": "int32", "tag": _LAST_KNOWN_LEADER, "since": 2},
        default=NO_LEADER_CHANGE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTopicRecord:
    """A topic is gone, with its partitions and its configuration."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 9
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearElrRecord:
    """The ELR and LastKnownElr of a topic's partitions are empty now; of every topic's, where it
    has no name."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 28
    topic_name: str = field(metadata={"kafka_type": "string"})
