"""OffsetCommit, OffsetFetch, and the fast encoding of ListGroups and OffsetFetch.

This section encodes all groups of a broker, or all offsets of a group, without kio's classes:
clients cannot ask for a part of them, and with kio a hundred thousand would take a second and more,
while no other request is served. What is packed has the bytes that kio writes; what a version
cannot carry goes to kio, and fails as it does there.
"""

from struct import Struct
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from node.codec.varint import write_unsigned
from node.errors import ErrorCode
from node.ids import NO_OFFSET
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, TopicPartition, by_topic, our_error, read_partition

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


_NO_RETENTION = -1  # in ms: as long as the broker keeps offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """`offset` is the next to be read; `epoch` that of the record before it, -1 if not given."""

    partition: TopicPartition
    offset: int
    epoch: int = -1
    metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """`generation` -1: from a client that is no member."""

    group: str
    generation: int = -1
    member: str = ""
    instance: str | None = None
    offsets: tuple[CommittedOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    results: tuple[CommitResult, ...]


def _read_offset_commit_request(entity: Any) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group=entity.group_id,
        generation=entity.generation_id_or_member_epoch,
        member=entity.member_id,
        instance=getattr(entity, "group_instance_id", None),
        offsets=tuple(
            CommittedOffset(
                partition=read_partition(topic, each.partition_index, entry),
                offset=each.committed_offset,
                epoch=getattr(each, "committed_leader_epoch", -1),
                metadata=each.committed_metadata,
            )
            for entry, topic in enumerate(entity.topics)
            for each in topic.partitions
        ),
    )


def _write_offset_commit_request(message: OffsetCommitRequest, kio: SimpleNamespace) -> Any:
    return kio.OffsetCommitRequest(
        group_id=message.group,
        generation_id_or_member_epoch=message.generation,
        member_id=message.member,
        group_instance_id=message.instance,
        retention_time=_NO_RETENTION,
        topics=tuple(
            kio.OffsetCommitRequestTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetCommitRequestPartition(
                        partition_index=each.partition.index,
                        committed_offset=each.offset,
                        committed_leader_epoch=each.epoch,
                        committed_metadata=each.metadata,
                    )
                    for each in offsets
                ),
            )
            for at, offsets in by_topic(message.offsets, lambda each: each.partition)
        ),
    )


def _read_offset_commit_response(entity: Any) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        results=tuple(
            CommitResult(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
            )
            for topic in entity.topics
            for each in topic.partitions
        )
    )


def _write_offset_commit_response(message: OffsetCommitResponse, kio: SimpleNamespace) -> Any:
    return kio.OffsetCommitResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.OffsetCommitResponseTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetCommitResponsePartition(
                        partition_index=each.partition.index, error_code=each.error
                    )
                    for each in results
                ),
            )
            for at, results in by_topic(message.results, lambda each: each.partition)
        ),
    )


OFFSET_COMMIT = Api(
    key=8,
    name="OffsetCommit",
    package="offset_commit",
    min_version=2,
    max_version=9,
    request=OffsetCommitRequest,
    read_request=_read_offset_commit_request,
    write_request=_write_offset_commit_request,
    read_response=_read_offset_commit_response,
    write_response=_write_offset_commit_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# OffsetFetch 1-9: groups' offsets, as last committed.


_FIRST_WITH_ERROR = 2  # of a whole group; before it each partition has the error
_FIRST_WITH_SEVERAL = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtOffsets:
    """The offsets sought of one group; `partitions` None: all that it has committed."""

    group: str
    partitions: tuple[TopicPartition, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchRequest:
    """One group before version 8."""

    groups: tuple[SoughtOffsets, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffset:
    """`NO_OFFSET`: none was committed."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    offset: int = NO_OFFSET
    epoch: int = -1
    metadata: str | None = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedOffsets:
    """The offsets of one group."""

    group: str
    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    groups: tuple[FetchedOffsets, ...]


def _read_offset_fetch_request(entity: Any) -> OffsetFetchRequest:
    groups = getattr(entity, "groups", (entity,))
    return OffsetFetchRequest(groups=tuple(map(_read_group, groups)))


def _read_group(entity: Any) -> SoughtOffsets:
    if entity.topics is None:
        return SoughtOffsets(group=entity.group_id)
    return SoughtOffsets(
        group=entity.group_id,
        partitions=tuple(
            read_partition(topic, index, entry)
            for entry, topic in enumerate(entity.topics)
            for index in topic.partition_indexes
        ),
    )


def _write_offset_fetch_request(message: OffsetFetchRequest, kio: SimpleNamespace) -> Any:
    if kio.version < _FIRST_WITH_SEVERAL:
        (only,) = message.groups
        topics = _topics(only, kio.OffsetFetchRequestTopic)
        return kio.OffsetFetchRequest(group_id=only.group, topics=topics, require_stable=False)
    return kio.OffsetFetchRequest(
        groups=tuple(
            kio.OffsetFetchRequestGroup(
                group_id=each.group,
                member_id=None,
                member_epoch=-1,
                topics=_topics(each, kio.OffsetFetchRequestTopics),
            )
            for each in message.groups
        ),
        require_stable=False,
    )


def _topics(sought: SoughtOffsets, make: Any) -> tuple[Any, ...] | None:
    if sought.partitions is None:
        return None
    return tuple(
        make(name=at.name, partition_indexes=tuple(each.index for each in partitions))
        for at, partitions in by_topic(sought.partitions, lambda each: each)
    )


def _read_offset_fetch_response(entity: Any) -> OffsetFetchResponse:
    groups = getattr(entity, "groups", (entity,))
    return OffsetFetchResponse(groups=tuple(map(_read_fetched, groups)))


def _read_fetched(entity: Any) -> FetchedOffsets:
    """Before version 8 it does not name the group."""
    return FetchedOffsets(
        group=getattr(entity, "group_id", ""),
        error=our_error(getattr(entity, "error_code", ErrorCode.NONE)),
        offsets=tuple(
            FetchedOffset(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
                offset=each.committed_offset,
                epoch=getattr(each, "committed_leader_epoch", -1),
                metadata=each.metadata,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offset_fetch_response(message: OffsetFetchResponse, kio: SimpleNamespace) -> Any:
    if kio.version < _FIRST_WITH_SEVERAL:
        (only,) = message.groups
        make = (kio.OffsetFetchResponseTopic, kio.OffsetFetchResponsePartition)
        return kio.OffsetFetchResponse(
            throttle_time=NO_THROTTLE,
            error_code=only.error,
            topics=() if only.error and kio.version >= _FIRST_WITH_ERROR else _fetched(only, *make),
        )
    make = (kio.OffsetFetchResponseTopics, kio.OffsetFetchResponsePartitions)
    return kio.OffsetFetchResponse(
        throttle_time=NO_THROTTLE,
        groups=tuple(
            kio.OffsetFetchResponseGroup(
                group_id=each.group,
                error_code=each.error,
                topics=() if each.error else _fetched(each, *make),
            )
            for each in message.groups
        ),
    )


def _fetched(group: FetchedOffsets, make_topic: Any, make_partition: Any) -> tuple[Any, ...]:
    return tuple(
        make_topic(
            name=at.name,
            partitions=tuple(
                make_partition(
                    partition_index=each.partition.index,
                    committed_offset=each.offset,
                    committed_leader_epoch=each.epoch,
                    metadata=each.metadata,
                    error_code=each.error,
                )
                for each in offsets
            ),
        )
        for at, offsets in by_topic(group.offsets, lambda each: each.partition)
    )


OFFSET_FETCH = Api(
    key=9,
    name="OffsetFetch",
    package="offset_fetch",
    min_version=1,
    max_version=9,
    request=OffsetFetchRequest,
    read_request=_read_offset_fetch_request,
    write_request=_write_offset_fetch_request,
    read_response=_read_offset_fetch_response,
    write_response=_write_offset_fetch_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
    pack_response=pack_fetched,
    packed_flexible=FETCH_FLEXIBLE,
)
