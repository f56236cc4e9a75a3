"""ListOffsets 1-11: where a partition begins and ends, for consumers."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NodeId
from node.lazy_dataclass import dataclass
from node.limits import MAX_NAMED_ELEMENTS, MAX_PARTITION_ELEMENTS
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.topic_partitions import TopicPartition, by_topic, read_partition

# In the place of a timestamp: what is committed last, the first there is, the record of the latest
# time (KIP-734), and what only tiered storage tells apart (KIP-405, KIP-1005, KIP-1023).
LATEST, EARLIEST, LATEST_TIME = -1, -2, -3
EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -4, -5, -6
# The first version that knows each.
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
    """`version` is that in which it came, by which special times are known."""

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


def _read_request(entity: Any) -> ListOffsetsRequest:
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


def _write_request(message: ListOffsetsRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> ListOffsetsResponse:
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


def _write_response(message: ListOffsetsResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
    most=MAX_NAMED_ELEMENTS,
    most_told=MAX_PARTITION_ELEMENTS,
)
