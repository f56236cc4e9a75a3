"""The frame around a metadata record: frame version, type, version, then the record itself.

Metadata records are what the controller's state is made of. Each is the value of a record in a
data batch of `__cluster_metadata`; the key is null. Other controllers, Apache Kafka's among them,
write records that this node does not know: it keeps their bytes, but cannot replay them.
"""

from dataclasses import dataclass

from node.codec import read_whole, write_whole
from node.codec.varint import read_unsigned
from node.records.malformed_record import MalformedRecord
from node.records.record_types import RECORD_TYPES
from node.records.schemas import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    RegisterControllerRecord,
)

MetadataRecord = (
    AbortTransactionRecord
    | BeginTransactionRecord
    | ConfigRecord
    | EndTransactionRecord
    | FeatureLevelRecord
    | NoOpRecord
    | RegisterControllerRecord
)
_KINDS: tuple[type[MetadataRecord], ...] = (
    ConfigRecord,
    FeatureLevelRecord,
    NoOpRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RegisterControllerRecord,
)
_FRAME_VERSION = 1
_FRAME_BYTES = 3  # of what is known: one each
_FRAMES = {kind: bytes((_FRAME_VERSION, kind.__record_type__, kind.__version__)) for kind in _KINDS}
_BY_FRAME = {frame: kind for kind, frame in _FRAMES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecord:
    """A metadata record of a type, or of a version of its type, that this node cannot replay."""

    type: int
    version: int

    def __str__(self) -> str:
        name = RECORD_TYPES.get(self.type, "metadata record")
        return f"{name} (type {self.type}, version {self.version})"


def encode_metadata(record: MetadataRecord) -> bytes:
    """The value of the record that holds `record`."""
    return _FRAMES[type(record)] + write_whole(record)


def decode_metadata(value: bytes | None) -> MetadataRecord | UnknownRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord where no controller could read it: without a frame of version 1, or with
    other bytes than a record of its type and version has.
    """
    kind = None if value is None else _BY_FRAME.get(value[:_FRAME_BYTES])
    if value is not None and kind is not None:
        return read_whole(kind, value, _FRAME_BYTES, MalformedRecord)
    unknown = unknown_record(value)
    assert unknown is not None, "what is known was read"
    return unknown


def is_known(data: bytes, start: int) -> bool:
    """Does a record of a type and version that this node can replay begin there?"""
    return start >= 0 and data[start : start + _FRAME_BYTES] in _BY_FRAME


def unknown_record(value: bytes | None) -> UnknownRecord | None:
    """What this node cannot replay; None for what it can, if its bytes are sound.

    Raises MalformedRecord where there is no frame of version 1.
    """
    if value is None:
        raise MalformedRecord("a metadata record without a value")
    if value[:_FRAME_BYTES] in _BY_FRAME:
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
    "AbortTransactionRecord",
    "BeginTransactionRecord",
    "ConfigRecord",
    "EndTransactionRecord",
    "FeatureLevelRecord",
    "MalformedRecord",
    "MetadataRecord",
    "NoOpRecord",
    "RegisterControllerRecord",
    "UnknownRecord",
    "decode_metadata",
    "encode_metadata",
    "is_known",
    "unknown_record",
]
