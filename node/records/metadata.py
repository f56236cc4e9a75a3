"""Metadata records: frames, versions by metadata.version, fast reading, and validation of batches.

The controller's state is made of metadata records. Each is the value of a record in a data batch of
`__cluster_metadata`, with a null key: frame version, type, version, then the record itself. Other
controllers, Apache Kafka's among them, write records that this node does not know: it keeps their
bytes, but cannot replay them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, get_args

from node import limits
from node.codec import whole_reader, write_whole
from node.codec.fields import MarkedField, marked_fields
from node.codec.varint import read_unsigned
from node.ids import ZERO_UUID
from node.lazy_dataclass import dataclass
from node.records.batch import ATTRIBUTES, Batch, DamagedBatch, MalformedRecord
from node.records.control import AddVoter, ControlRecord, RemoveVoter, Voters, decode_control
from node.records.schemas import (
    RECORD_TYPES,
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ZkMigrationStateRecord,
)

# Records and versions that each level of metadata.version allows (Kafka's `MetadataVersion`).


METADATA_VERSION = "metadata.version"  # the feature
OLDEST, NEWEST = 7, 30  # 3.3-IV3, 4.3-IV0
CONTROLLER_REGISTRATIONS = 15  # 3.7-IV0
DIRECTORIES = 17  # 3.7-IV2: of replicas and brokers
ELR = 23  # 4.0-IV1: eligible leader replicas
CORDONED_DIRECTORIES = 30  # 4.3-IV0
ELR_VERSION = "eligible.leader.replicas.version"  # another feature, from ELR on
# Levels that changed what is written: a downgrade below one of them would lose data.
CHANGED = (7, 8, 11, 13, 14, 15, 17, 23, 30)

# The first level of each version of a record, newest first.
_WRITTEN: dict[type[Any], tuple[tuple[int, int], ...]] = {
    RegisterBrokerRecord: ((CORDONED_DIRECTORIES, 4), (DIRECTORIES, 3), (8, 2), (7, 1)),
    BrokerRegistrationChangeRecord: ((CORDONED_DIRECTORIES, 3), (DIRECTORIES, 2), (7, 1)),
    PartitionRecord: ((ELR, 2), (DIRECTORIES, 1)),
    PartitionChangeRecord: ((ELR, 2), (DIRECTORIES, 1)),
}


def written_version(kind: type[Any], level: int) -> int:
    """The version in which a record is written at that level of metadata.version."""
    for since, version in _WRITTEN.get(kind, ()):
        if level >= since:
            return version
    return 0


# The strings of a record, nested ones included.


_MOST_BYTES = 4  # of a character in UTF-8


def strings(record: Any) -> Iterator[str]:
    """Of a dataclass with the marks of `node.codec`."""
    for field in _with_strings(record.__class__):
        value = getattr(record, field.name)
        for each in value or () if field.array else (value,):
            if field.struct is not None:
                yield from strings(each)
            elif each is not None:
                yield each


def is_too_long(text: str) -> bool:
    """Is it longer than every version can carry?"""
    is_near = len(text) * _MOST_BYTES > limits.MAX_STRING_BYTES
    return is_near and len(text.encode()) > limits.MAX_STRING_BYTES


@cache
def _with_strings(record_class: Any) -> tuple[MarkedField, ...]:
    return tuple(
        field
        for field in marked_fields(record_class)
        if field.kafka_type == "string"
        or (field.struct is not None and _with_strings(field.struct))
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
_REMEMBERED, _REMEMBERED_BYTES = 512, 512  # number and maximum size of cached values
_FRAME_VERSION = 1
_FRAME_BYTES = 3  # of a known record: one byte per number
_KINDS_BY_FRAME: dict[bytes, type[MetadataRecord]] = {
    bytes((_FRAME_VERSION, kind.__record_type__, version)): kind
    for kind in KINDS
    for version in range(kind.__version__ + 1)
}
_Read = Callable[[bytes, int], MetadataRecord]
_READERS: dict[bytes, _Read] = {}  # by frame; compiled on first use


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
    """The encoded value of `record`, at that level of metadata.version.

    Raises UnencodableMessage if it has data that the level does not support.
    """
    version = written_version(type(record), level)
    frame = bytes((_FRAME_VERSION, record.__record_type__, version))
    return frame + write_whole(record, version)


def decode_metadata(value: bytes | None) -> MetadataRecord | UnknownRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord if no controller could read it: without a frame of version 1, or with
    bytes that are invalid for its type and version.
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


# A follower decodes a record when it receives it, and once it is committed.
_remembered = lru_cache(_REMEMBERED)(_decode)


def all_known(values: Sequence[bytes | None]) -> bool:
    """Are all of a type and version that this node can replay?"""
    frames = {None if value is None else value[:_FRAME_BYTES] for value in values}
    return frames <= _KINDS_BY_FRAME.keys()


def unknown_record(value: bytes | None) -> UnknownRecord | None:
    """Describes a record that this node cannot replay; None for a known one that is valid.

    Raises MalformedRecord without a frame of version 1.
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


# ConfigRecords of a snapshot, read in bulk, without creating record objects.
#
# A starting node has to load one for every key of all its resources (KIP-630).


# Frame version, type and version, a byte each.
_FRAME = bytes((1, ConfigRecord.__record_type__, ConfigRecord.__version__))
_TYPE = len(_FRAME)  # offset of the resource type; its name follows
_NAME = _TYPE + 1
_NO_TAGS = b"\0"

PlainEntry = tuple[int, str, str, str]  # resource type and name, key, value


def plain_entries(values: Sequence[bytes | None], start: int) -> Iterator[PlainEntry]:
    """Entries of the values from `start` on, up to the first that is not a ConfigRecord of short
    ASCII strings. That one is left to `decode_metadata`, which takes three times as long and
    reports errors.

    In ASCII a character is a byte, and so is each length, which is encoded as one more.
    """
    for at in range(start, len(values)):
        value = values[at]
        if value is None or not value.startswith(_FRAME) or not value.isascii():
            return
        text = value.decode()
        try:
            name_end = _NAME + value[_NAME]
            key_end = name_end + value[name_end]
            end = key_end + value[key_end]
        except IndexError:
            return
        if not value[_NAME] or not value[name_end] or not value[key_end]:
            return  # null
        if value[end:] != _NO_TAGS:
            return
        kind, name, key = value[_TYPE], text[_NAME + 1 : name_end], text[name_end + 1 : key_end]
        yield kind, name, key, text[key_end + 1 : end]


# Checks of a metadata log batch that comes from another node.
#
# Every node that has a log, and every later leader, replays it. A record that no node can decode
# would stop them all, so it is refused before it is written. A record that only this node does not
# know is kept (`node.raft.local_log`).


def check_contents(batch: Batch) -> None:
    """Every record is present, at its offset, and valid as far as this node knows its type.

    Raises DamagedBatch or MalformedRecord.
    """
    header = batch.header
    if header.attributes & ~ATTRIBUTES:
        raise DamagedBatch(0, f"attributes {header.attributes:#x}")
    if header.record_count != header.last_offset_delta + 1:
        reason = f"{header.record_count} records in {header.last_offset_delta + 1} offsets"
        raise DamagedBatch(0, reason)
    if header.is_control:
        for record in batch.records_in_order():
            _check_control(decode_control(record.key, record.value))
    else:
        for value in batch.values():
            decode_metadata(value)


def _check_control(record: ControlRecord) -> None:
    """An empty voter set could elect no leader, a voter without an address cannot be reached, and
    one without a directory id does not identify a replica (KIP-856)."""
    match record:
        case Voters(voters=rows):
            keys = [voter.key for voter in rows]
            if not keys or len(set(keys)) != len(keys) or not all(v.endpoints for v in rows):
                raise MalformedRecord(f"not a voter set: {keys}")
        case AddVoter(key=key) | RemoveVoter(key=key):
            if key.id < 0 or key.directory == ZERO_UUID:
                raise MalformedRecord(f"not a voter: {key}")
