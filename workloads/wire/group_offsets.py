"""OffsetCommit and OffsetFetch of one partition, by a client that is no member of the group."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import (
    MalformedResponseError,
    MessageReader,
    array,
    nullable_string,
    string,
)

_NO_GENERATION, _NO_EPOCH = struct.pack(">i", -1), struct.pack(">i", -1)
_OFFSET = struct.Struct(">iq")
_INDEX = struct.Struct(">i")
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset:
    error: int
    offset: int  # -1: none is committed


def commit_offset(group: str, topic: str, partition: int, offset: int) -> bytes:
    """Body of an OffsetCommit (v8)."""
    nobody = string(group) + _NO_GENERATION + string("") + nullable_string(None)
    return committing(nobody, topic, partition, offset)


def committing(member: bytes, topic: str, partition: int, offset: int) -> bytes:
    """The same, or of a TxnOffsetCommit; `member`: who it is, all that stands before offsets."""
    requested = _OFFSET.pack(partition, offset) + _NO_EPOCH + nullable_string(None) + _NO_TAGS
    return member + array([string(topic) + array([requested]) + _NO_TAGS]) + _NO_TAGS


def read_commit(body: bytes, topic: str, partition: int) -> int:
    """The error code of the one partition. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    _expect(reader, topic, partition)
    error = reader.int16()
    reader.tags()
    reader.tags()
    reader.end()
    return error


def fetch_offset(group: str, topic: str, partition: int, *, stable: bool = False) -> bytes:
    """Body of an OffsetFetch (v8). `stable`: refused while an open transaction commits another
    one (KIP-447)."""
    topics = array([string(topic) + array([_INDEX.pack(partition)]) + _NO_TAGS])
    return array([string(group) + topics + _NO_TAGS]) + bytes((stable,)) + _NO_TAGS


def read_group_offset(body: bytes, group: str, topic: str, partition: int) -> GroupOffset:
    """The result of the one partition. With an error of the group there is none. Raises
    MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    named = reader.string()
    if named != group:
        raise MalformedResponseError(f"answers {named}, not {group}")
    offset, error = -1, 0
    for _ in range(reader.count()):
        _expect(reader, topic, partition)
        offset = reader.int64()
        reader.skip(4)  # leader epoch
        reader.string()  # metadata
        error = reader.int16()
        reader.tags()
        reader.tags()
    error = reader.int16() or error
    reader.tags()
    reader.end()
    return GroupOffset(error=error, offset=offset)


def _expect(reader: MessageReader, topic: str, partition: int) -> None:
    """A topic with one partition."""
    named = reader.string()
    reader.expect_one()
    index = reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")
