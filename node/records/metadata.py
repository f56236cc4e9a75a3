"""The frame around a metadata record: frame version, type, version, then the record itself.

Metadata records are what the controller's state is made of. Each is the value of a record in a
data batch of `__cluster_metadata`; the key is null.
"""

from node.records.entities import MalformedRecord, decode_entity, encode_entity
from node.records.schemas import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    NoOpRecord,
    RegisterControllerRecord,
)
from node.records.varint import read_unsigned

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
_BY_TYPE: dict[int, type[MetadataRecord]] = {kind.__record_type__: kind for kind in _KINDS}
_FRAME_VERSION = 1


def encode_metadata(record: MetadataRecord) -> bytes:
    """The value of the record that holds `record`."""
    frame = bytes((_FRAME_VERSION, record.__record_type__, record.__version__))
    return frame + encode_entity(record)


def decode_metadata(value: bytes | None) -> MetadataRecord:
    """The inverse of `encode_metadata`.

    Raises MalformedRecord on another frame version, and on types and versions this node does not
    write: a controller that skipped one would no longer agree with the others.
    """
    if value is None:
        raise MalformedRecord("a metadata record without a value")
    kind, version, position = _read_frame(value)
    known = _BY_TYPE.get(kind)
    if known is None:
        raise MalformedRecord(f"metadata record type {kind} is unknown")
    if version != known.__version__:
        raise MalformedRecord(f"{known.__name__} version {version} is unknown")
    return decode_entity(known, value, position)


def _read_frame(value: bytes) -> tuple[int, int, int]:
    """Type and version of the framed record, and where its body begins. Raises MalformedRecord."""
    try:
        frame_version, position = read_unsigned(value, 0)
        kind, position = read_unsigned(value, position)
        version, position = read_unsigned(value, position)
    except IndexError:
        raise MalformedRecord("the frame of a metadata record is cut short") from None
    if frame_version != _FRAME_VERSION:
        raise MalformedRecord(f"frame version is {frame_version}, not {_FRAME_VERSION}")
    return kind, version, position


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
