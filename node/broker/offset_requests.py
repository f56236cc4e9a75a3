"""ListOffsets and OffsetForLeaderEpoch: what a leader knows of its log's offsets."""

from node.broker.held_replicas import Held, HeldReplicas
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch
from node.wire.list_offsets import (
    EARLIEST,
    LATEST,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    SoughtOffset,
)
from node.wire.offset_for_leader_epoch import (
    EpochEnd,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from node.wire.topic_partitions import TopicPartition


def list_offsets(replicas: HeldReplicas, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """A fresh leader does not know the latest: consumers must not be sent back (KIP-207)."""
    return ListOffsetsResponse(
        partitions=tuple(_listed(replicas, each) for each in request.partitions)
    )


def ends_of_epochs(
    replicas: HeldReplicas, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """For consumers that look whether the log that they read was cut (KIP-320)."""
    found = []
    for each in request.partitions:
        held, error = _leader(replicas, each.partition, each.epoch)
        if held is None or error is not ErrorCode.NONE:
            found.append(EpochEnd(partition=each.partition, error=error))
            continue
        end = held.replica.end_of_epoch(Epoch(each.sought))
        found.append(EpochEnd(partition=each.partition, epoch=end.epoch, end=end.offset))
    return OffsetForLeaderEpochResponse(partitions=tuple(found))


def _listed(replicas: HeldReplicas, sought: SoughtOffset) -> ListedOffset:
    held, error = _leader(replicas, sought.partition, sought.epoch)
    if held is None or error is not ErrorCode.NONE:
        return ListedOffset(partition=sought.partition, error=error)
    replica = held.replica
    if sought.timestamp_ms == EARLIEST:
        return _found(sought, held, 0)
    if sought.timestamp_ms == LATEST:
        if not replica.knows_its_high_watermark:
            unknown = ErrorCode.OFFSET_NOT_AVAILABLE
            return ListedOffset(partition=sought.partition, error=unknown)
        return _found(sought, held, replica.high_watermark)
    if sought.timestamp_ms < 0:
        return ListedOffset(partition=sought.partition, error=ErrorCode.INVALID_REQUEST)
    return _at_time(replicas, held, sought)


def _at_time(replicas: HeldReplicas, held: Held, sought: SoughtOffset) -> ListedOffset:
    """The first batch that has a record of that time, or a later one; -1 if none has."""
    for header in replicas.headers(held):
        if header.next_offset > held.replica.high_watermark:
            break
        if header.max_timestamp_ms >= sought.timestamp_ms:
            found = _found(sought, held, header.base_offset)
            return ListedOffset(
                partition=found.partition,
                timestamp_ms=header.base_timestamp_ms,
                offset=found.offset,
                epoch=header.leader_epoch,
            )
    return ListedOffset(partition=sought.partition)


def _found(sought: SoughtOffset, held: Held, offset: int) -> ListedOffset:
    epoch = held.replica.leader_epoch
    return ListedOffset(partition=sought.partition, offset=offset, epoch=epoch)


def _leader(
    replicas: HeldReplicas, partition: TopicPartition, epoch: int
) -> tuple[Held | None, ErrorCode]:
    held = replicas.find(partition)
    if held is None:
        is_named = partition.id == ZERO_UUID
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None, unknown if is_named else ErrorCode.UNKNOWN_TOPIC_ID
    return held, held.replica.refusal(epoch)
