"""OffsetCommit 2-9: how far a group has come."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition

_NO_RETENTION = -1  # in ms: as long as the broker keeps offsets


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """`offset` is the next to be read; `epoch` that of the record before it, -1 if not said."""

    partition: TopicPartition
    offset: int
    epoch: int = -1
    metadata: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitRequest:
    """`generation` -1: of one who is no member."""

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


def _read_request(entity: Any) -> OffsetCommitRequest:
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


def _write_request(message: OffsetCommitRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> OffsetCommitResponse:
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


def _write_response(message: OffsetCommitResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
