"""ListOffsets and OffsetForLeaderEpoch: what a leader knows of its log's offsets."""

from collections.abc import Iterator
from itertools import dropwhile, takewhile

from node.broker.held_replicas import Held, HeldReplicas
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch
from node.records.batch import BatchHeader, DamagedBatch, Record, split_batches
from node.wire.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    LATEST_TIME,
    SPECIAL_TIMES,
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
        partitions=tuple(_listed(replicas, each, request.version) for each in request.partitions)
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


def _listed(replicas: HeldReplicas, sought: SoughtOffset, version: int) -> ListedOffset:
    held, error = _leader(replicas, sought.partition, sought.epoch)
    if error is ErrorCode.NONE and not _is_known(sought.timestamp_ms, version):
        error = ErrorCode.UNSUPPORTED_VERSION
    if held is None or error is not ErrorCode.NONE:
        return ListedOffset(partition=sought.partition, error=error)
    match sought.timestamp_ms:
        case time if time in (EARLIEST, EARLIEST_LOCAL):
            return _earliest(held, sought)
        case time if time in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            return ListedOffset(partition=sought.partition)  # nothing is kept elsewhere
        case time if time == LATEST:
            is_known = held.replica.knows_its_high_watermark
            end = held.replica.high_watermark
            return _found(sought, held, end) if is_known else _not_available(sought)
        case time if time == LATEST_TIME:
            header = _of_latest_time(replicas, held)
            time_ms = -1 if header is None else header.max_timestamp_ms
            return _at_time(replicas, held, sought, header, time_ms)
        case time:
            header = next(
                (each for each in _told(replicas, held) if each.max_timestamp_ms >= time), None
            )
            return _at_time(replicas, held, sought, header, time)


def _is_known(timestamp_ms: int, version: int) -> bool:
    return timestamp_ms >= 0 or version >= SPECIAL_TIMES.get(timestamp_ms, version + 1)


def _earliest(held: Held, sought: SoughtOffset) -> ListedOffset:
    """With the epoch of its record, if there is one."""
    replica = held.replica
    return ListedOffset(partition=sought.partition, offset=replica.start, epoch=replica.first_epoch)


def _told(replicas: HeldReplicas, held: Held) -> Iterator[BatchHeader]:
    """Of the batches that consumers may read."""
    start, limit = held.replica.start, held.replica.high_watermark
    kept = dropwhile(lambda header: header.next_offset <= start, replicas.headers(held))
    return takewhile(lambda header: header.next_offset <= limit, kept)


def _of_latest_time(replicas: HeldReplicas, held: Held) -> BatchHeader | None:
    """The first of them."""
    told = _told(replicas, held)
    return max(told, key=lambda header: header.max_timestamp_ms, default=None)


def _at_time(
    replicas: HeldReplicas,
    held: Held,
    sought: SoughtOffset,
    header: BatchHeader | None,
    time_ms: int,
) -> ListedOffset:
    """The first record of that time, or a later one, in the batch that has it; -1 if none has. A
    fresh leader may not know of it yet."""
    if header is None:
        is_known = held.replica.knows_its_high_watermark
        return ListedOffset(partition=sought.partition) if is_known else _not_available(sought)
    record = _record(replicas, held, header, time_ms)
    first = max(header.base_offset, held.replica.start)
    return ListedOffset(
        partition=sought.partition,
        timestamp_ms=record.timestamp_ms if record else header.base_timestamp_ms,
        offset=record.offset if record else first,
        epoch=header.leader_epoch,
    )


def _record(replicas: HeldReplicas, held: Held, header: BatchHeader, time_ms: int) -> Record | None:
    """None where records are compressed, which is left to clients, or are not what their header
    says: then the batch's first one stands for the one that is sought, which is not before it."""
    if header.codec != "none":
        return None
    first = max(header.base_offset, held.replica.start)
    batch = next(split_batches(replicas.read(held, first, header.size)))
    try:
        return next(
            (
                each
                for each in batch.records()
                if each.offset >= first and each.timestamp_ms >= time_ms
            ),
            None,
        )
    except DamagedBatch:  # its writer's mistake, which consumers will find
        return None


def _not_available(sought: SoughtOffset) -> ListedOffset:
    return ListedOffset(partition=sought.partition, error=ErrorCode.OFFSET_NOT_AVAILABLE)


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
