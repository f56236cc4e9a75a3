"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords: requests about a partition's offsets.

ListOffsets 1-11: where a partition begins and ends, for consumers.
"""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, TopicPartition, by_topic, our_error, read_partition

# In place of a timestamp: the last committed offset, the first one, the record of the maximum
# timestamp (KIP-734), and those of tiered storage (KIP-405, KIP-1005, KIP-1023).
LATEST, EARLIEST, LATEST_TIME = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
# The first version with each.
SPECIAL_TIMES = {
    LATEST: 0,
    EARLIEST: 0,
    LATEST_TIME: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
_NOT_SAID = -1
_NEWEST = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtOffset:
    partition: TopicPartition
    timestamp_ms: int  # or a special one
    epoch: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsRequest:
    """`version` is the request's, by which special times are known."""

    version: int = _NEWEST
    replica: NodeId = NodeId(-1)
    partitions: tuple[SoughtOffset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffset:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    timestamp_ms: int = _NOT_SAID
    offset: int = _NOT_SAID
    epoch: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    partitions: tuple[ListedOffset, ...]


def _read_list_offsets_request(entity: Any) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        version=entity.__version__,
        replica=NodeId(entity.replica_id),
        partitions=tuple(
            SoughtOffset(
                partition=read_partition(topic, each.partition_index),
                timestamp_ms=each.timestamp,
                epoch=getattr(each, "current_leader_epoch", _NOT_SAID),
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_list_offsets_request(message: ListOffsetsRequest, kio: SimpleNamespace) -> Any:
    return kio.ListOffsetsRequest(
        replica_id=message.replica,
        isolation_level=0,
        timeout=timedelta(0),
        topics=tuple(
            kio.ListOffsetsTopic(
                name=at.name,
                partitions=tuple(
                    kio.ListOffsetsPartition(
                        partition_index=each.partition.index,
                        timestamp=each.timestamp_ms,
                        current_leader_epoch=each.epoch,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _read_list_offsets_response(entity: Any) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        partitions=tuple(
            ListedOffset(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
                timestamp_ms=each.timestamp,
                offset=each.offset,
                epoch=getattr(each, "leader_epoch", _NOT_SAID),
            )
            for topic in entity.topics
            for each in topic.partitions
        )
    )


def _write_list_offsets_response(message: ListOffsetsResponse, kio: SimpleNamespace) -> Any:
    return kio.ListOffsetsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.ListOffsetsTopicResponse(
                name=at.name,
                partitions=tuple(
                    kio.ListOffsetsPartitionResponse(
                        partition_index=each.partition.index,
                        error_code=each.error,
                        timestamp=each.timestamp_ms,
                        offset=each.offset,
                        leader_epoch=each.epoch,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


LIST_OFFSETS = Api(
    key=2,
    name="ListOffsets",
    package="list_offsets",
    min_version=1,
    max_version=_NEWEST,
    request=ListOffsetsRequest,
    read_request=_read_list_offsets_request,
    write_request=_write_list_offsets_request,
    read_response=_read_list_offsets_response,
    write_response=_write_list_offsets_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# OffsetForLeaderEpoch 2-4: where an epoch ends in the leader's log, for consumers (KIP-320).


@dataclass(frozen=True, slots=True, kw_only=True)
class SoughtEpoch:
    """The end of `sought`; `epoch` is the leader's as the client knows it."""

    partition: TopicPartition
    epoch: int = _NOT_SAID
    sought: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochRequest:
    replica: NodeId = NodeId(-1)
    partitions: tuple[SoughtEpoch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnd:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    epoch: int = _NOT_SAID
    end: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetForLeaderEpochResponse:
    partitions: tuple[EpochEnd, ...]


def _read_offset_for_leader_epoch_request(entity: Any) -> OffsetForLeaderEpochRequest:
    return OffsetForLeaderEpochRequest(
        replica=NodeId(getattr(entity, "replica_id", _NOT_SAID)),
        partitions=tuple(
            SoughtEpoch(
                partition=read_partition(topic, each.partition),
                epoch=each.current_leader_epoch,
                sought=each.leader_epoch,
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offset_for_leader_epoch_request(
    message: OffsetForLeaderEpochRequest, kio: SimpleNamespace
) -> Any:
    return kio.OffsetForLeaderEpochRequest(
        replica_id=message.replica,
        topics=tuple(
            kio.OffsetForLeaderTopic(
                topic=at.name,
                partitions=tuple(
                    kio.OffsetForLeaderPartition(
                        partition=each.partition.index,
                        current_leader_epoch=each.epoch,
                        leader_epoch=each.sought,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _read_offset_for_leader_epoch_response(entity: Any) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        partitions=tuple(
            EpochEnd(
                partition=read_partition(topic, each.partition),
                error=our_error(each.error_code),
                epoch=each.leader_epoch,
                end=each.end_offset,
            )
            for topic in entity.topics
            for each in topic.partitions
        )
    )


def _write_offset_for_leader_epoch_response(
    message: OffsetForLeaderEpochResponse, kio: SimpleNamespace
) -> Any:
    return kio.OffsetForLeaderEpochResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.OffsetForLeaderTopicResult(
                topic=at.name,
                partitions=tuple(
                    kio.EpochEndOffset(
                        error_code=each.error,
                        partition=each.partition.index,
                        leader_epoch=each.epoch,
                        end_offset=each.end,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


OFFSET_FOR_LEADER_EPOCH = Api(
    key=23,
    name="OffsetForLeaderEpoch",
    package="offset_for_leader_epoch",
    min_version=2,
    max_version=4,
    request=OffsetForLeaderEpochRequest,
    read_request=_read_offset_for_leader_epoch_request,
    write_request=_write_offset_for_leader_epoch_request,
    read_response=_read_offset_for_leader_epoch_response,
    write_response=_write_offset_for_leader_epoch_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)


# DeleteRecords 0-2: a client deletes the first records of partitions (KIP-107).


TO_HIGH_WATERMARK = -1  # in the place of an offset


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsToDelete:
    """All below `offset`."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsRequest:
    timeout_ms: int
    partitions: tuple[RecordsToDelete, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRecords:
    """No replica has anything below `low_watermark`."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    low_watermark: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsResponse:
    partitions: tuple[DeletedRecords, ...]


def _read_delete_records_request(entity: Any) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        timeout_ms=entity.timeout // timedelta(milliseconds=1),
        partitions=tuple(
            RecordsToDelete(
                partition=read_partition(topic, each.partition_index), offset=each.offset
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_delete_records_request(message: DeleteRecordsRequest, kio: SimpleNamespace) -> Any:
    return kio.DeleteRecordsRequest(
        timeout=timedelta(milliseconds=message.timeout_ms),
        topics=tuple(
            kio.DeleteRecordsTopic(
                name=at.name,
                partitions=tuple(
                    kio.DeleteRecordsPartition(
                        partition_index=each.partition.index, offset=each.offset
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


def _read_delete_records_response(entity: Any) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        partitions=tuple(
            DeletedRecords(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
                low_watermark=each.low_watermark,
            )
            for topic in entity.topics
            for each in topic.partitions
        )
    )


def _write_delete_records_response(message: DeleteRecordsResponse, kio: SimpleNamespace) -> Any:
    return kio.DeleteRecordsResponse(
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.DeleteRecordsTopicResult(
                name=at.name,
                partitions=tuple(
                    kio.DeleteRecordsPartitionResult(
                        partition_index=each.partition.index,
                        low_watermark=each.low_watermark,
                        error_code=each.error,
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each.partition)
        ),
    )


DELETE_RECORDS = Api(
    key=21,
    name="DeleteRecords",
    package="delete_records",
    min_version=0,
    max_version=2,
    request=DeleteRecordsRequest,
    read_request=_read_delete_records_request,
    write_request=_write_delete_records_request,
    read_response=_read_delete_records_response,
    write_response=_write_delete_records_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
