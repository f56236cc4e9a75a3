"""The metadata records of brokers, as dataclasses with the marks of `node.codec`.

A field that is younger than its record's version 0 says since which version it is there; in an
older one it reads as its default.
"""

from dataclasses import field
from typing import ClassVar
from uuid import UUID

from node.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerEndpoint:
    """Where a broker can be reached, by listener name."""

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
    """A broker process made itself known. It takes the place of what was known of that broker."""

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
    """Nothing is known of a broker any more."""

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
    """What changed of a registration. `fenced`: 1 it is fenced now, -1 it is not any more, 0 as
    before. `in_controlled_shutdown`: 1 it entered that (KIP-841), which only a registration ends.
    No `log_dirs`: they are as before."""

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
    """A broker was given a block of producer ids; the next one begins at `next_producer_id`."""

    __version__: ClassVar[int] = 0
    __flexible__: ClassVar[bool] = True
    __record_type__: ClassVar[int] = 15
    broker_id: int = field(metadata={"kafka_type": "int32"})
    broker_epoch: int = field(metadata={"kafka_type": "int64"})
    next_producer_id: int = field(metadata={"kafka_type": "int64"})
