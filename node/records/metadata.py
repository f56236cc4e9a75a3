"""The frame around a metadata record: frame version, type, version, then the record itself.

Metadata records are what the controller's state is made of. Each is the value of a record in a
data batch of `__cluster_metadata`; the key is null. Other controllers, Apache Kafka's among them,
write records that this node does not know: it keeps their bytes, but cannot replay them.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import get_args

from node.codec import whole_reader, write_whole
from node.codec.varint import read_unsigned
from node.lazy_dataclass import dataclass
from node.records.broker_schemas import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from node.records.malformed_record import MalformedRecord
from node.records.metadata_versions import NEWEST, written_version
from node.records.record_types import RECORD_TYPES
from node.records.schemas import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    RegisterControllerRecord,
    ZkMigrationStateRecord,
)
from node.records.topic_schemas import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

MetadataRecord = (
    AbortTransactionRecord
    | BeginTransactionRecord
    | BrokerRegistrationChangeRecord
    | ClearElrRecord
    | ConfigRecord
    | EndTransactionRecord
    | FeatureLevelRecord
    | FenceBrokerRecord
    | NoOpRecord
    | PartitionChangeRecord
    | PartitionRecord
    | ProducerIdsRecord
    | RegisterBrokerRecord
    | RegisterControllerRecord
    | RemoveTopicRecord
    | TopicRecord
    | UnfenceBrokerRecord
    | UnregisterBrokerRecord
    | ZkMigrationStateRecord
)
KINDS: tuple[type[MetadataRecord], ...] = get_args(MetadataRecord)
_REMEMBERED, _REMEMBERED_BYTES = 512, 512  # values that are kept as records, and the largest
_FRAME_VERSION = 1
_FRAME_BYTES = 3  # of what is known: one each
_KINDS_BY_FRAME: dict[bytes, type[MetadataRecord]] = {
    bytes((_FRAME_VERSION, kind.__record_type__, version)): kind
    for kind in KINDS
    for version in range(kind.__version__ + 1)
}
_Read = Callable[[bytes, int], MetadataRecord]
_READERS: dict[bytes, _Read] = {}  # by frame; each is made when it is first used


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecord:
    """A metadata record of a type, or of a version of its type, that this node cannot replay."""

    type: int
    version: int

    def __str__(self) -> str:
        name = RECORD_TYPES.get(self.type, "metadata record")
        return f"{name} (type {self.type}, version {self.version})"


def _reader_of(frame: bytes) -> _Read | None:
    """None: this node cannot replay such records."""
    kind = _KINDS_BY_FRAME.get(frame)
    if kind is None:
        return None
    read: _Read = whole_reader(kind, MalformedRecord, frame[-1])  # type: ignore[arg-type]  # a class is hashable
    _READERS[frame] = read
    return read


def encode_metadata(record: MetadataRecord, level: int = NEWEST) -> bytes:
    """The value of the record that holds `record`, where metadata.version has that level.

    Raises UnencodableMessage where it says what that level does not know.
    """
    version = written_version(type(record), level)
    frame = bytes((_FRAME_VERSION, record.__record_type__, version))
    return frame + write_whole(record, version)


def decode_metadata(value: bytes | None) -> MetadataRecord | UnknownRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord where no controller could read it: without a frame of version 1, or with
    other bytes than a record of its type and version has.
    """
    if value is not None and len(value) <= _REMEMBERED_BYTES:
        return _remembered(value)
    return _decode(value)


def _decode(value: bytes | None) -> MetadataRecord | UnknownRecord:
    if value is not None:
        frame = value[:_FRAME_BYTES]
        read = _READERS.get(frame) or _reader_of(frame)
        if read is not None:
            return read(value, _FRAME_BYTES)
    unknown = unknown_record(value)
    assert unknown is not None, "what is known was read"
    return unknown


# A follower looks at a record when it takes it, and once it is committed.
_remembered = lru_cache(_REMEMBERED)(_decode)


def all_known(values: Sequence[bytes | None]) -> bool:
    """Are all of a type and version that this node can replay?"""
    frames = {None if value is None else value[:_FRAME_BYTES] for value in values}
    return frames <= _KINDS_BY_FRAME.keys()


def unknown_record(value: bytes | None) -> UnknownRecord | None:
    """What this node cannot replay; None for what it can, if its bytes are sound.

    Raises MalformedRecord where there is no frame of version 1.
    """
    if value is None:
        raise MalformedRecord("a metadata record without a value")
    if value[:_FRAME_BYTES] in _KINDS_BY_FRAME:
        return None
    try:
        frame_version, at = read_unsigned(value, 0)
        number, at = read_unsigned(value, at)
        version, at = read_unsigned(value, at)
    except IndexError:
        raise MalformedRecord("the frame of a metadata record is cut short") from None
    if frame_version != _FRAME_VERSION:
        raise MalformedRecord(f"frame version is {frame_version}, not {_FRAME_VERSION}")
    return UnknownRecord(type=number, version=version)


__all__ = [
    "KINDS",
    "AbortTransactionRecord",
    "BeginTransactionRecord",
    "BrokerRegistrationChangeRecord",
    "ClearElrRecord",
    "ConfigRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "FenceBrokerRecord",
    "MalformedRecord",
    "MetadataRecord",
    "NoOpRecord",
    "PartitionChangeRecord",
    "PartitionRecord",
    "ProducerIdsRecord",
    "RegisterBrokerRecord",
    "RegisterControllerRecord",
    "RemoveTopicRecord",
    "TopicRecord",
    "UnfenceBrokerRecord",
    "UnknownRecord",
    "UnregisterBrokerRecord",
    "ZkMigrationStateRecord",
    "all_known",
    "decode_metadata",
    "encode_metadata",
    "unknown_record",
]
