"""The frame around a metadata record: frame version, type, version, then the record itself.

Metadata records are what the controller's state is made of. Each is the value of a record in a
data batch of `__cluster_metadata`; the key is null.
"""

from node.codec import write_whole
from node.codec.varint import read_unsigned
from node.records.malformed import MalformedRecord, read_record
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
_BY_VERSION = {(kind.__record_type__, kind.__version__): kind for kind in _KINDS}
_NAMES = {kind.__record_type__: kind.__name__ for kind in _KINDS}
_FRAME_VERSION = 1


def encode_metadata(record: MetadataRecord) -> bytes:
    """The value of the record that holds `record`."""
    frame = bytes((_FRAME_VERSION, record.__record_type__, record.__version__))
    return frame + write_whole(record)


def decode_metadata(value: bytes | None) -> MetadataRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord on another frame version, and on types and versions this node does not
    write: a controller that skipped one would no longer agree with the others.
    """
    if value is None:
        raise MalformedRecord("a metadata record without a value")
    number, version, at = _read_frame(value)
    kind = _BY_VERSION.get((number, version))
    if kind is None:
        name = _NAMES.get(number)
        what = f"metadata record type {number}" if name is None else f"{name} version {version}"
        raise MalformedRecord(f"{what} is unknown")
    return read_record(kind, value, at)


def _read_frame(value: bytes) -> tuple[int, int, int]:
    """Type and version of the framed record, and where its body begins. Raises MalformedRecord."""
    try:
        frame_version, at = read_unsigned(value, 0)
        number, at = read_unsigned(value, at)
        version, at = read_unsigned(value, at)
    except IndexError:
        raise MalformedRecord("the frame of a metadata record is cut short") from None
    if frame_version != _FRAME_VERSION:
        raise MalformedRecord(f"frame version is {frame_version}, not {_FRAME_VERSION}")
    return number, version, at


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
