"""DeleteGroups 0-2 (KIP-229) and OffsetDelete (KIP-496): groups that nobody is in, and what was
committed of topics that nobody reads."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    id: str
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    results: tuple[DeletedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    group: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffset:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """`error`: of all of it, and then there are no results."""

    error: ErrorCode = ErrorCode.NONE
    results: tuple[DeletedOffset, ...] = ()


def _read_groups(entity: Any) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups=tuple(entity.groups_names))


def _write_groups(message: DeleteGroupsRequest, kio: SimpleNamespace) -> Any:
    return kio.DeleteGroupsRequest(groups_names=message.groups)


def _read_groups_response(entity: Any) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletedGroup(id=each.group_id, error=our_error(each.error_code))
            for each in entity.results
        )
    )


def _write_groups_response(message: DeleteGroupsResponse, kio: SimpleNamespace) -> Any:
    return kio.DeleteGroupsResponse(
        throttle_time=NO_THROTTLE,
        results=tuple(
            kio.DeletableGroupResult(group_id=each.id, error_code=each.error)
            for each in message.results
        ),
    )


def _read_offsets(entity: Any) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group=entity.group_id,
        partitions=tuple(
            read_partition(topic, each.partition_index)
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offsets(message: OffsetDeleteRequest, kio: SimpleNamespace) -> Any:
    return kio.OffsetDeleteRequest(
        group_id=message.group,
        topics=tuple(
            kio.OffsetDeleteRequestTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetDeleteRequestPartition(partition_index=each.index)
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each)
        ),
    )


def _read_offsets_response(entity: Any) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error=our_error(entity.error_code),
        results=tuple(
            DeletedOffset(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offsets_response(message: OffsetDeleteResponse, kio: SimpleNamespace) -> Any:
    return kio.OffsetDeleteResponse(
        error_code=message.error,
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.OffsetDeleteResponseTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetDeleteResponsePartition(
                        partition_index=each.partition.index, error_code=each.error
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.results, lambda each: each.partition)
        ),
    )


DELETE_GROUPS = Api(
    key=42,
    name="DeleteGroups",
    package="delete_groups",
    min_version=0,
    max_version=2,
    request=DeleteGroupsRequest,
    read_request=_read_groups,
    write_request=_write_groups,
    read_response=_read_groups_response,
    write_response=_write_groups_response,
)
OFFSET_DELETE = Api(
    key=47,
    name="OffsetDelete",
    package="offset_delete",
    min_version=0,
    max_version=0,
    request=OffsetDeleteRequest,
    read_request=_read_offsets,
    write_request=_write_offsets,
    read_response=_read_offsets_response,
    write_response=_write_offsets_response,
)
