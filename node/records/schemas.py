"""The metadata records of a quorum without brokers, as dataclasses with the marks of `node.codec`.

kio has no metadata records. Field names, order, types, nullability and tags are Kafka's
(`metadata/src/main/resources/common/metadata/*.json`), held equal by a test. All are flexible.
Those here exist in version 0 only; others are in `broker_schemas` and `topic_schemas`.
"""

from dataclasses import field
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass


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
    """Nothing. The active controller writes one every metadata.max.idle.interval.ms."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkMigrationStateRecord:
    """How far a migration from ZooKeeper is, in a log that was begun on Kafka 3.x; since 4.0 it
    means nothing to anybody (`MetadataDelta.replay`)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 21
    zk_migration_state: int = field(metadata={"kafka_type": "int8"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginTransactionRecord:
    """What follows, up to End or Abort, takes effect together (KIP-868)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 23
    name: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransactionRecord:
    """The open metadata transaction holds."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactionRecord:
    """The open metadata transaction never happened; written by a leader that finds one open."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 25
    reason: str | None = field(metadata={"kafka_type": "string", "tag": 0}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEndpoint:
    """Where a controller can be reached, by listener name."""

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
    """A controller process told the active one of itself (KIP-919)."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 27
    controller_id: int = field(metadata={"kafka_type": "int32"})
    incarnation_id: UUID | None = field(metadata={"kafka_type": "uuid"})
    zk_migration_ready: bool = field(metadata={"kafka_type": "bool"})
    end_points: tuple[ControllerEndpoint, ...]
    features: tuple[ControllerFeature, ...]
