"""DeleteRecords 0-2: the first records of partitions, of which a client has no need any more
(KIP-107)."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition

TO_HIGH_WATERMARK = -1  # in the place of an offset
_NOT_SAID = -1


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
    """Nobody has anything below `low_watermark`."""

    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE
    low_watermark: int = _NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecordsResponse:
    partitions: tuple[DeletedRecords, ...]


def _read_request(entity: Any) -> DeleteRecordsRequest:
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


def _write_request(message: DeleteRecordsRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> DeleteRecordsResponse:
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


def _write_response(message: DeleteRecordsResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
