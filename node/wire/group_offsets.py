"""OffsetCommit, OffsetFetch, and the fast encoding of ListGroups and OffsetFetch.

This section encodes all groups of a broker, or all offsets of a group, without kio's classes:
clients cannot ask for a part of them, and with kio a hundred thousand would take a second and more,
while no other request is served. What is packed has the bytes that kio writes; what a version
cannot carry goes to kio, and fails as it does there.
"""

from struct import Struct
from typing import TYPE_CHECKING, Annotated

from node.codec.varint import write_unsigned
from node.errors import ErrorCode
from node.ids import NO_OFFSET
from node.lazy_dataclass import dataclass
from node.wire.api import NAMES, Api
from node.wire.declared import Error, Kio, OneBefore
from node.wire.entities import PartitionFields, TopicPartition, by_topic, in_topics, of_topics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from node.wire.group_descriptions import ListGroupsResponse


_NOT_THROTTLED, _NO_TAGS = bytes(4), b"\0"
_LONGEST = 2**15 - 1  # of a text in a version that is not flexible
_TWO, _FOUR = Struct(">h"), Struct(">i")
# A partition's index, its offset, and from version 5 on the leader epoch.
_OFFSET, _OFFSET_WITH_EPOCH = Struct(">iq"), Struct(">iqi")
# The first versions that have them.
_LIST_THROTTLE, LIST_FLEXIBLE, _LIST_STATE, _LIST_TYPE = 1, 3, 4, 5
_FETCH_ERROR, _FETCH_THROTTLE, _FETCH_EPOCH, FETCH_FLEXIBLE, _FETCH_GROUPS = 2, 3, 5, 6, 8


def pack_listed(message: "ListGroupsResponse", version: int, kind: str) -> bytes | None:
    """`kind`: the type of all groups."""
    out = bytearray(_NOT_THROTTLED if version >= _LIST_THROTTLE else b"")
    out += _TWO.pack(message.error)
    is_flexible = version >= LIST_FLEXIBLE
    try:
        _add_count(out, len(message.groups), is_flexible=is_flexible)
        type_ = _text(kind, is_flexible=is_flexible) if version >= _LIST_TYPE else b""
        for each in message.groups:
            out += _text(each.id, is_flexible=is_flexible)
            out += _text(each.protocol_type, is_flexible=is_flexible)
            if version >= _LIST_STATE:
                out += _text(each.state, is_flexible=is_flexible)
            out += type_
            if is_flexible:
                out += _NO_TAGS
    except ValueError:
        return None
    return bytes(out + _NO_TAGS if is_flexible else out)


def pack_fetched(message: "OffsetFetchResponse", version: int) -> bytes | None:
    out = bytearray(_NOT_THROTTLED if version >= _FETCH_THROTTLE else b"")
    is_flexible = version >= FETCH_FLEXIBLE
    try:
        if version >= _FETCH_GROUPS:
            _add_count(out, len(message.groups), is_flexible=True)
            for group in message.groups:
                out += _text(group.group, is_flexible=True)
                _add_offsets(out, group, version)
                out += _TWO.pack(group.error) + _NO_TAGS
        else:
            (group,) = message.groups
            _add_offsets(out, group, version)
            if version >= _FETCH_ERROR:
                out += _TWO.pack(group.error)
    except ValueError:
        return None
    return bytes(out + _NO_TAGS if is_flexible else out)


def _add_offsets(out: bytearray, group: "FetchedOffsets", version: int) -> None:
    is_flexible = version >= FETCH_FLEXIBLE
    is_told_once = bool(group.error) and version >= _FETCH_ERROR
    topics = [] if is_told_once else by_topic(group.offsets, lambda each: each.partition)
    _add_count(out, len(topics), is_flexible=is_flexible)
    for at, offsets in topics:
        out += _text(at.name, is_flexible=is_flexible)
        _add_count(out, len(offsets), is_flexible=is_flexible)
        _add_partitions(out, offsets, version)
        if is_flexible:
            out += _NO_TAGS


def _add_partitions(out: bytearray, offsets: "Iterable[FetchedOffset]", version: int) -> None:
    is_flexible = version >= FETCH_FLEXIBLE
    for each in offsets:
        index = each.partition.index
        if version >= _FETCH_EPOCH:
            out += _OFFSET_WITH_EPOCH.pack(index, each.offset, each.epoch)
        else:
            out += _OFFSET.pack(index, each.offset)
        if each.metadata is None:
            out += b"\0" if is_flexible else b"\xff\xff"
        else:
            out += _text(each.metadata, is_flexible=is_flexible)
        out += _TWO.pack(each.error)
        if is_flexible:
            out += _NO_TAGS


def _add_count(out: bytearray, count: int, *, is_flexible: bool) -> None:
    if is_flexible:
        write_unsigned(out, count + 1)
    else:
        out += _FOUR.pack(count)


def _text(text: str, *, is_flexible: bool) -> bytes:
    """Raises ValueError, as its encoding does, if it is too long."""
    raw = text.encode()
    if not is_flexible:
        if len(raw) > _LONGEST:
            raise ValueError(f"{len(raw)} bytes of a text")
        return _TWO.pack(len(raw)) + raw
    if len(raw) < 0x7F:
        return bytes((len(raw) + 1,)) + raw
    out = bytearray()
    write_unsigned(out, len(raw) + 1)
    return bytes(out + raw)


# OffsetCommit 2-9: a group's committed offsets.


_COMMITTED = in_topics("topics", "partitions", entries=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """`offset` is the next to be read; `epoch` that of the record before it, -1 if not given."""

    partition: PartitionFields
    offset: Annotated[int, "committed_offset"]
    epoch: Annotated[int, "committed_leader_epoch"] = -1
    metadata: Annotated[str | None, "committed_metadata"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """`generation` -1: from a client that is no member."""

    group: Annotated[str, "group_id"]
    generation: Annotated[int, "generation_id_or_member_epoch"] = -1
    member: Annotated[str, "member_id"] = ""
    instance: Annotated[str | None, "group_instance_id"] = None
    offsets: Annotated[tuple[CommittedOffset, ...], _COMMITTED]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    partition: PartitionFields
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    results: Annotated[tuple[CommitResult, ...], in_topics("topics", "partitions")]


OFFSET_COMMIT = Api(8, "OffsetCommit", 2, 9, OffsetCommitRequest, OffsetCommitResponse, size=NAMES)


# OffsetFetch 1-9: groups' offsets, as last committed.


_FIRST_WITH_ERROR = 2  # of a whole group; before it each partition has the error
_SOUGHT = of_topics("topics", "partition_indexes", entries=True)
_FETCHED = in_topics(
    "topics",
    "partitions",
    unless=lambda group, version: bool(group.error) and version >= _FIRST_WITH_ERROR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtOffsets:
    """The offsets sought of one group; `partitions` None: all that it has committed."""

    group: Annotated[str, "group_id"]
    partitions: Annotated[tuple[TopicPartition, ...] | None, _SOUGHT] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """One group before version 8."""

    groups: Annotated[tuple[SoughtOffsets, ...], OneBefore("groups")]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffset:
    """`NO_OFFSET`: none was committed."""

    partition: PartitionFields
    error: Error = ErrorCode.NONE
    offset: Annotated[int, "committed_offset"] = NO_OFFSET
    epoch: Annotated[int, "committed_leader_epoch"] = -1
    metadata: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffsets:
    """The offsets of one group."""

    group: Annotated[str, Kio("group_id", absent="")]
    error: Error = ErrorCode.NONE
    offsets: Annotated[tuple[FetchedOffset, ...], _FETCHED] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    groups: Annotated[tuple[FetchedOffsets, ...], OneBefore("groups")]


OFFSET_FETCH = Api(
    9,
    "OffsetFetch",
    1,
    9,
    OffsetFetchRequest,
    OffsetFetchResponse,
    size=NAMES,
    pack_response=pack_fetched,
    packed_flexible=FETCH_FLEXIBLE,
)
