"""The frame around a metadata record: frame version, type, version, then the record itself.

Metadata records are what the controller's state is made of. Each is the value of a record in a
data batch of `__cluster_metadata`; the key is null.
"""

from node.codec import read_whole, write_whole
from node.codec.varint import read_unsigned
from node.records.malformed_record import MalformedRecord
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
_NAMES = {kind.__record_type__: kind.__name__ for kind in _KINDS}
# Type and version of what is known take a byte each.
_FRAMES = {kind: bytes((_FRAME_VERSION, kind.__record_type__, kind.__version__)) for kind in _KINDS}
_BY_FRAME = {frame: kind for kind, frame in _FRAMES.items()}


def encode_metadata(record: MetadataRecord) -> bytes:
    """The value of the record that holds `record`."""
    return _FRAMES[type(record)] + write_whole(record)


def decode_metadata(value: bytes | None) -> MetadataRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord on another frame version, and on types and versions this node does not
    write: a controller that skipped one would no longer agree with the others.
    """
    if value is None:
        raise MalformedRecord("a metadata record without a value")
    kind = _BY_FRAME.get(value[:3])
    if kind is None:
        raise MalformedRecord(_why_unknown(value))
    return read_whole(kind, value, 3, MalformedRecord)


def _why_unknown(value: bytes) -> str:
    try:
        frame_version, at = read_unsigned(value, 0)
        number, at = read_unsigned(value, at)
        version, at = read_unsigned(value, at)
    except IndexError:
        return "the frame of a metadata record is cut short"
    if frame_version != _FRAME_VERSION:
        return f"frame version is {frame_version}, not {_FRAME_VERSION}"
    name = _NAMES.get(number)
    what = f"metadata record type {number}" if name is None else f"{name} version {version}"
    return f"{what} is unknown"


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
    "decode_metadata",
    "encode_metadata",
]
