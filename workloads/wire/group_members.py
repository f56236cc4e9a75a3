"""Requests of groups: FindCoordinator, OffsetCommit, OffsetFetch, and JoinGroup, SyncGroup,
Heartbeat and LeaveGroup of one member (KIP-62)."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from workloads.wire.flexible import (
    MalformedResponseError,
    MessageReader,
    array,
    nullable_string,
    string,
    varint,
)

# FindCoordinator: which broker coordinates a group, or the transactions of a transactional id.


_NO_TAGS = b"\x00"


class KeyType(IntEnum):
    """The kind of key that a coordinator is looked up by."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    error: int
    node: int


def find_coordinator(key: str, kind: KeyType = KeyType.TRANSACTION) -> bytes:
    """Body of a FindCoordinator."""
    return bytes((kind,)) + array([string(key)]) + _NO_TAGS


def read_coordinator(body: bytes) -> Coordinator:
    """The coordinator of the requested key. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    reader.string()  # the key
    node = reader.int32()
    reader.string()  # its host
    reader.skip(4)  # its port
    error = reader.int16()
    reader.string()  # error message
    reader.tags()
    reader.end()
    return Coordinator(error=error, node=node)


# OffsetCommit and OffsetFetch of one partition, by a client that is no member of the group.


_NO_GENERATION, _NO_EPOCH = struct.pack(">i", -1), struct.pack(">i", -1)
_OFFSET = struct.Struct(">iq")
_INDEX = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset:
    error: int
    offset: int  # -1: none is committed


def commit_offset(group: str, topic: str, partition: int, offset: int) -> bytes:
    """Body of an OffsetCommit (v8)."""
    without_member = string(group) + _NO_GENERATION + string("") + nullable_string(None)
    return committing(without_member, topic, partition, offset)


def committing(member: bytes, topic: str, partition: int, offset: int) -> bytes:
    """The same, or of a TxnOffsetCommit; `member`: its identity, all that stands before offsets."""
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


# Error codes that a member acts upon.
COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR = 15, 16
REBALANCE_IN_PROGRESS, MEMBER_ID_REQUIRED = 27, 79

_INT32 = struct.Struct(">i")
_PROTOCOL_TYPE, _PROTOCOL = "consumer", "range"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberTimeouts:
    """How long a member may be silent, and how long others wait for it to join again."""

    session_ms: int
    rebalance_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """`members`: the ids of all; only the leader gets them."""

    error: int
    generation: int
    member: str
    members: tuple[str, ...]


def join_group(group: str, member: str, timeouts: MemberTimeouts) -> bytes:
    """Body of a JoinGroup (v9); `member` is empty for a member without an id."""
    protocols = array([string(_PROTOCOL) + _data(b"") + _NO_TAGS])
    return (
        string(group)
        + _INT32.pack(timeouts.session_ms)
        + _INT32.pack(timeouts.rebalance_ms)
        + string(member)
        + nullable_string(None)
        + string(_PROTOCOL_TYPE)
        + protocols
        + nullable_string(None)
        + _NO_TAGS
    )


def read_joined(body: bytes) -> Joined:
    """Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error, generation = reader.int16(), reader.int32()
    reader.string()  # protocol type
    reader.string()  # protocol
    reader.string()  # its leader
    reader.skip(1)  # skip assignment
    member = reader.name()
    members = []
    for _ in range(reader.count()):
        members.append(reader.name())
        reader.string()  # instance
        reader.data_block()
        reader.tags()
    reader.end()
    return Joined(error=error, generation=generation, member=member, members=tuple(members))


def sync_group(group: str, generation: int, member: str, members: tuple[str, ...]) -> bytes:
    """Body of a SyncGroup (v5); the leader has `members`, and gives each its own name."""
    return share_out(group, generation, member, {each: each.encode() for each in members})


def share_out(group: str, generation: int, member: str, given: Mapping[str, bytes]) -> bytes:
    """The same, with what each member is given; the leader alone gives anything."""
    shares = [string(each) + _data(share) + _NO_TAGS for each, share in given.items()]
    protocol = nullable_string(_PROTOCOL_TYPE) + nullable_string(_PROTOCOL)
    return _of_member(group, generation, member) + protocol + array(shares) + _NO_TAGS


def read_synced(body: bytes) -> tuple[int, bytes]:
    """The error code, and the assignment. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()  # protocol type
    reader.string()  # protocol
    share = reader.data_block()
    reader.end()
    return error, share


def heartbeat(group: str, generation: int, member: str) -> bytes:
    """Body of a Heartbeat (v4)."""
    return _of_member(group, generation, member) + _NO_TAGS


def read_heartbeat(body: bytes) -> int:
    """The error code. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.end()
    return error


def leave_group(group: str, member: str) -> bytes:
    """Body of a LeaveGroup (v5)."""
    leaving = string(member) + nullable_string(None) + nullable_string(None) + _NO_TAGS
    return string(group) + array([leaving]) + _NO_TAGS


def read_left(body: bytes, member: str) -> int:
    """The error code of the group, or of the only member. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    for _ in range(reader.count()):
        named = reader.name()
        if named != member:
            raise MalformedResponseError(f"answers {named}, not {member}")
        reader.string()  # instance
        error = reader.int16() or error
        reader.tags()
    reader.end()
    return error


def commit_as_member(
    group: str, generation: int, member: str, topic: str, partition: int, offset: int
) -> bytes:
    """Body of an OffsetCommit (v8) of a member of that generation."""
    return committing(_of_member(group, generation, member), topic, partition, offset)


def _of_member(group: str, generation: int, member: str) -> bytes:
    return string(group) + _INT32.pack(generation) + string(member) + nullable_string(None)


def _data(data: bytes) -> bytes:
    return varint(len(data) + 1) + data
