"""OffsetCommit and OffsetFetch: which commits are allowed, what is written, and what is read."""

from collections.abc import Iterable, Iterator
from uuid import UUID

from node.broker.coordinators.group import Group, GroupState, is_of_topic_that_is
from node.broker.coordinators.group_log import PIECE, GroupLog, GroupRecord
from node.controller.image import Image
from node.controller.image.topics import Topics
from node.errors import ErrorCode
from node.ids import MS, Now
from node.records.group_records import OffsetCommitKey, OffsetCommitValue
from node.wire.entities import TopicPartition
from node.wire.group_offsets import (
    CommitResult,
    CommittedOffset,
    FetchedOffset,
    FetchedOffsets,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SoughtOffsets,
)


def why_not_commit(group: Group | None, request: OffsetCommitRequest, now: Now) -> ErrorCode:
    """Why the whole commit is refused, if not NONE. Any client may commit for a group without
    members; a commit shows that its member lives.
    """
    if group is None or group.state is GroupState.EMPTY:
        return ErrorCode.NONE if request.generation < 0 else ErrorCode.ILLEGAL_GENERATION
    error = group.why_not(request.member, request.instance)
    if error is not ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING:
        return ErrorCode.REBALANCE_IN_PROGRESS
    group.members[request.member].is_heard_of(now.mono_ns)
    return ErrorCode.NONE


def checked(
    request: OffsetCommitRequest, image: Image, metadata_bytes: int
) -> tuple[list[CommittedOffset], list[CommitResult]]:
    """The commits that are allowed, and why the others are not."""
    fit: list[CommittedOffset] = []
    unfit: list[CommitResult] = []
    for each in request.offsets:
        topic = image.topics.named(each.partition.name)
        error = ErrorCode.NONE
        if topic is None or not 0 <= each.partition.index < topic.partitions:
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif len((each.metadata or "").encode()) > metadata_bytes:
            error = ErrorCode.OFFSET_METADATA_TOO_LARGE
        if error is ErrorCode.NONE:
            fit.append(each)
        else:
            unfit.append(CommitResult(partition=each.partition, error=error))
    return fit, unfit


def records(
    group: str, offsets: Iterable[CommittedOffset], topics: Topics, now: Now
) -> list[GroupRecord]:
    """The records of commits that were checked by the same image."""
    return [
        (
            OffsetCommitKey(group=group, topic=each.partition.name, partition=each.partition.index),
            OffsetCommitValue(
                offset=each.offset,
                leader_epoch=each.epoch,
                metadata=each.metadata or "",
                commit_timestamp=now.wall_ns // MS,
                topic_id=_id(topics, each.partition.name),
            ),
        )
        for each in offsets
    ]


def refused_commit(request: OffsetCommitRequest, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        results=tuple(
            CommitResult(partition=each.partition, error=error) for each in request.offsets
        )
    )


def _id(topics: Topics, name: str) -> UUID:
    found = topics.named(name)
    assert found is not None, f"an offset of {name}, which there is not"
    return found.id


def fetched(
    log: GroupLog, sought: SoughtOffsets, topics: Topics
) -> Iterator[FetchedOffsets | None]:
    """The committed offsets that are sought, of existing topics: at the end, and None after each
    piece.
    """
    known = log.offsets.get(sought.group, {})
    wanted = sought.partitions
    if wanted is None:
        wanted = tuple(
            TopicPartition(name=name, index=index)
            for name, index in sorted(known)
            if is_of_topic_that_is(topics, name, known[name, index])
        )
        if len(wanted) > PIECE:
            yield None
    offsets: list[FetchedOffset] = []
    for looked, each in enumerate(wanted, start=1):
        value = log.offsets.get(sought.group, {}).get((each.name, each.index))
        is_told = value is not None and is_of_topic_that_is(topics, each.name, value)
        if is_told or sought.partitions is not None:
            offsets.append(_offset(each, value if is_told else None))
        if looked % PIECE == 0:
            yield None
    yield FetchedOffsets(group=sought.group, offsets=tuple(offsets))


def refused_fetch(sought: SoughtOffsets, error: ErrorCode) -> FetchedOffsets:
    """Each partition has the error too: version 1 has no other place for it."""
    return FetchedOffsets(
        group=sought.group,
        error=error,
        offsets=tuple(
            FetchedOffset(partition=each, error=error) for each in sought.partitions or ()
        ),
    )


def _offset(at: TopicPartition, value: OffsetCommitValue | None) -> FetchedOffset:
    if value is None:
        return FetchedOffset(partition=at)
    return FetchedOffset(
        partition=at, offset=value.offset, epoch=value.leader_epoch, metadata=value.metadata
    )
