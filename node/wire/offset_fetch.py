"""OffsetFetch 1-9: how far groups have come, as they last committed it."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NO_OFFSET
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.packed_groups import FETCH_FLEXIBLE, pack_fetched
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition

_FIRST_WITH_ERROR = 2  # of a whole group; before it each partition says so
_FIRST_WITH_SEVERAL = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtOffsets:
    """Of one group; `partitions` None: all that it has committed."""

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
    """Of one group."""

    group: str
    error: ErrorCode = ErrorCode.NONE
    offsets: tuple[FetchedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    groups: tuple[FetchedOffsets, ...]


def _read_request(entity: Any) -> OffsetFetchRequest:
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


def _write_request(message: OffsetFetchRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> OffsetFetchResponse:
    groups = getattr(entity, "groups", (entity,))
    return OffsetFetchResponse(groups=tuple(map(_read_fetched, groups)))


def _read_fetched(entity: Any) -> FetchedOffsets:
    """Before version 8 it does not say whose offsets they are."""
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


def _write_response(message: OffsetFetchResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
    pack_response=pack_fetched,
    packed_flexible=FETCH_FLEXIBLE,
)
