"""Metadata records as dataclasses with the marks of `node.codec`.

kio has no metadata records. Field names, order, types, nullability and tags are Kafka's
(`metadata/src/main/resources/common/metadata/*.json`), held equal by a test. All are flexible. The
first section has those of a quorum without brokers, in version 0 only; sections for topics, brokers
and voters follow.
"""

from dataclasses import field
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass

# The names that Kafka 4.4 gives to the types of metadata records, for messages.
#
# Types 6, 13 and 16 are retired. A type that is missing here is newer.


RECORD_TYPES = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    12: "FeatureLevelRecord",
    14: "ClientQuotaRecord",
    15: "ProducerIdsRecord",
    17: "BrokerRegistrationChangeRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    20: "NoOpRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    28: "ClearElrRecord",
    29: "UnregisterControllerRecord",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRecord:
    """One configuration entry of a resource; a null value deletes it.

    Resource types: 2 topic, 4 broker, 16 client metrics, 32 group.
    """

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 4
    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLevelRecord:
    """The finalized level of a feature; 0 removes it. The first record of a new log sets
    metadata.version."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 12
    name: str = field(metadata={"kafka_type": "string"})
    feature_level: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOpRecord:
    """Has no effect. The active controller writes one every metadata.max.idle.interval.ms."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord:
    """State of a migration from ZooKeeper, in a log that was begun on Kafka 3.x; without effect
    since 4.0 (`MetadataDelta.replay`)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 21
    zk_migration_state: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord:
    """The following records, up to End or Abort, take effect together (KIP-868)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 23
    name: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord:
    """Commits the open metadata transaction."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord:
    """Discards the open metadata transaction; written by a leader that finds one open."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 25
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpoint:
    """An endpoint of a controller, by listener name."""

    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: int = field(metadata={"kafka_type": "uint16"})
    security_protocol: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerFeature:
    """The levels of a feature that a controller supports."""

    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    min_supported_version: int = field(metadata={"kafka_type": "int16"})
    max_supported_version: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterControllerRecord:
    """A controller process registered with the active one (KIP-919)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 27
    controller_id: int = field(metadata={"kafka_type": "int32"})
    incarnation_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]


# The metadata records of topics and partitions, as dataclasses with the marks of `node.codec`.


NO_LEADER = -1
NO_LEADER_CHANGE = -2  # of a PartitionChangeRecord
_LAST_KNOWN_LEADER = 100  # its tag: Kafka uses the tags named in KIP-966 for other fields


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRecord:
    """Creates a topic; its configuration and its partitions follow."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 2
    name: str = field(metadata={"kafka_type": "string"})
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRecord:
    """The full state of a partition. `leader` -1: none. `leader_recovery_state` 1: its leader was
    elected uncleanly and is still recovering (KIP-704). `directories` has one for each replica.
    `last_known_leader` -1: none has to be kept; only an unclean recovery manager sets it, for which
    `last_known_elr` is the whole set (KIP-966)."""

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
    """A change of a partition; absent fields are unchanged.

    Each adds one to the partition epoch. If it has a leader, even the same one, it adds one to the
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
    """Deletes a topic, with its partitions and its configuration."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 9
    topic_id: UUID = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearElrRecord:
    """Empties the ELR and LastKnownElr of a topic's partitions; without a name, of all topics'."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 28
    topic_name: str = field(metadata={"kafka_type": "string"})


# The metadata records of brokers, as dataclasses with the marks of `node.codec`.
#
# A field added after its record's version 0 is marked with its first version; in an older one it
# reads as its default.


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpoint:
    """An endpoint of a broker, by listener name."""

    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    host: str = field(metadata={"kafka_type": "string"})
    port: int = field(metadata={"kafka_type": "uint16"})
    security_protocol: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFeature:
    """The levels of a feature that a broker supports."""

    __flexible__: ClassVar[bool] = True
    name: str = field(metadata={"kafka_type": "string"})
    min_supported_version: int = field(metadata={"kafka_type": "int16"})
    max_supported_version: int = field(metadata={"kafka_type": "int16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterBrokerRecord:
    """A broker process registered. Replaces the broker's previous registration."""

    __version__: ClassVar[int] = 4
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 0
    broker_id: int = field(metadata={"kafka_type": "int32"})
    is_migrating_zk_broker: bool = field(metadata={"kafka_type": "bool", "since": 2}, default=False)
    incarnation_id: UUID = field(metadata={"kafka_type": "uuid"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})
    end_points: tuple[BrokerEndpoint, ...]
    features: tuple[BrokerFeature, ...]
    rack: str | None = field(metadata={"kafka_type": "string"})
    fenced: bool = field(metadata={"kafka_type": "bool"}, default=True)
    in_controlled_shutdown: bool = field(metadata={"kafka_type": "bool", "since": 1}, default=False)
    log_dirs: tuple[UUID, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 0, "since": 3}, default=()
    )
    cordoned_log_dirs: tuple[UUID, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 1, "since": 4}, default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterBrokerRecord:
    """Removes a broker's registration."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 1
    broker_id: int = field(metadata={"kafka_type": "int32"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceBrokerRecord:
    """Older than BrokerRegistrationChangeRecord, and still replayed."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 7
    id: int = field(metadata={"kafka_type": "int32"})
    epoch: int = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfenceBrokerRecord:
    """Older than BrokerRegistrationChangeRecord, and still replayed."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 8
    id: int = field(metadata={"kafka_type": "int32"})
    epoch: int = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistrationChangeRecord:
    """A change of a registration. `fenced`: 1 now fenced, -1 now unfenced, 0 unchanged.
    `in_controlled_shutdown`: 1 entered (KIP-841); only a new registration ends it. No `log_dirs`:
    unchanged."""

    __version__: ClassVar[int] = 3
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 17
    broker_id: int = field(metadata={"kafka_type": "int32"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})
    fenced: int = field(metadata={"kafka_type": "int8", "tag": 0}, default=0)
    in_controlled_shutdown: int = field(
        metadata={"kafka_type": "int8", "tag": 1, "since": 1}, default=0
    )
    log_dirs: tuple[UUID, ...] = field(
        metadata={"kafka_type": "uuid", "tag": 2, "since": 2}, default=()
    )
    cordoned_log_dirs: tuple[UUID, ...] | None = field(
        metadata={"kafka_type": "uuid", "tag": 3, "since": 3}, default=None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsRecord:
    """A broker was allocated a block of producer ids; the next one begins at `next_producer_id`."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 15
    broker_id: int = field(metadata={"kafka_type": "int32"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})
    next_producer_id: int = field(metadata={"kafka_type": "int64"})


# AddVoterRecord and RemoveVoterRecord (KIP-856), as dataclasses with the marks of `node.codec`.
#
# Kafka ships neither, and so kio has neither. The KIP leaves their types open: they are 7 and 8,
# the first two that no release gave to another.


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRecord:
    """The voter that a log or a snapshot adds."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    version: int = field(metadata={"kafka_type": "int16"})
    voter_id: int = field(metadata={"kafka_type": "int32"})
    voter_uuid: UUID | None = field(metadata={"kafka_type": "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRecord:
    """The voter that a log removes."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    version: int = field(metadata={"kafka_type": "int16"})
    voter_id: int = field(metadata={"kafka_type": "int32"})
    voter_uuid: UUID | None = field(metadata={"kafka_type": "uuid"})
