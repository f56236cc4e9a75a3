"""ListOffsets and OffsetForLeaderEpoch: what a leader knows of its log's offsets; and
GetReplicaLogInfo: where the log of any replica ends."""

from collections import Counter
from dataclasses import field

from node import limits
from node.broker.replicas.logs import ReplicaLog
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.errors import ErrorCode
from node.ids import NO_EPOCH, Epoch, uuid_text
from node.lazy_dataclass import dataclass
from node.outbox import Outbox
from node.records.batch import BatchHeader, DamagedBatch, Record, split_batches
from node.storage.disk import CorruptLog
from node.wire.entities import TopicPartition
from node.wire.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    LATEST_TIME,
    MOST_ASKED,
    SPECIAL_TIMES,
    EpochEnd,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ReplicaLogInfo,
    ReplicaLogsRequest,
    ReplicaLogsResponse,
    SoughtOffset,
)

_OPENED_BYTES = 1024 * 1024  # of compressed records: about 0.1 s, of snappy and lz4


def list_offsets(replicas: ReplicaManager, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """A new leader does not know the latest offset: consumers must not be sent back (KIP-207). A
    partition that is asked for twice is refused both times, as in Kafka.
    """
    requested = Counter(each.partition for each in request.partitions)
    lookup = _Lookup(replicas=replicas, version=request.version)
    twice = ErrorCode.INVALID_REQUEST
    return ListOffsetsResponse(
        partitions=tuple(
            lookup.listed(each)
            if requested[each.partition] == 1
            else ListedOffset(partition=each.partition, error=twice)
            for each in request.partitions
        )
    )


def ends_of_epochs(
    replicas: ReplicaManager, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    """The ends of epochs, for consumers that check whether the log that they read was truncated
    (KIP-320).
    """
    found = []
    for each in request.partitions:
        held, error = _leader(replicas, each.partition, each.epoch)
        if held is None or error is not ErrorCode.NONE:
            found.append(EpochEnd(partition=each.partition, error=error))
            continue
        if not 0 <= each.sought <= held.replica.leader_epoch:  # an unknown epoch (KIP-101)
            found.append(EpochEnd(partition=each.partition))
            continue
        end = held.replica.end_of_epoch(Epoch(each.sought))
        found.append(EpochEnd(partition=each.partition, epoch=end.epoch, end=end.offset))
    return OffsetForLeaderEpochResponse(partitions=tuple(found))


def replica_logs(
    replicas: ReplicaManager, broker_epoch: int, request: ReplicaLogsRequest, outbox: Outbox
) -> ReplicaLogsResponse:
    """How much the replicas hold, for a controller that looks for the best of them (KIP-966)."""
    served = [_log_info(replicas, each) for each in request.partitions[:MOST_ASKED]]
    for each in served:
        if each.error is ErrorCode.NONE:
            outbox.trace(
                "p.asked",
                topic=uuid_text(each.partition.id),
                index=each.partition.index,
                epoch=each.leader_epoch,
                last_written=each.last_epoch,
                end=each.end,
                broker_epoch=broker_epoch,
            )
    return ReplicaLogsResponse(
        broker_epoch=broker_epoch,
        is_truncated=len(request.partitions) > MOST_ASKED,
        logs=(
            *served,
            *(
                ReplicaLogInfo(partition=each, error=ErrorCode.REQUEST_LIMIT_REACHED)
                for each in request.partitions[MOST_ASKED:]
            ),
        ),
    )


def _log_info(replicas: ReplicaManager, partition: TopicPartition) -> ReplicaLogInfo:
    held = replicas.find(partition)
    if held is None:
        return ReplicaLogInfo(partition=partition, error=replicas.absent(partition).error)
    return ReplicaLogInfo(
        partition=partition,
        last_epoch=held.replica.last_epoch,
        leader_epoch=held.replica.leader_epoch,
        end=held.replica.end,
    )


@dataclass(slots=True, kw_only=True)
class _Lookup:
    """The lookups of one request, answered in one step: limits the records that are read for it."""

    replicas: ReplicaManager
    version: int
    records_left: int = field(default_factory=lambda: limits.MAX_RECORDS_PER_STEP)

    def listed(self, sought: SoughtOffset) -> ListedOffset:
        held, error = _leader(self.replicas, sought.partition, sought.epoch)
        if error is ErrorCode.NONE and not _is_known(sought.timestamp_ms, self.version):
            error = ErrorCode.UNSUPPORTED_VERSION
        if held is None or error is not ErrorCode.NONE:
            return ListedOffset(partition=sought.partition, error=error)
        match sought.timestamp_ms:
            case time if time in (EARLIEST, EARLIEST_LOCAL):
                return _earliest(held, sought)
            case time if time in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
                return ListedOffset(partition=sought.partition)  # there is no tiered storage
            case time if time == LATEST:
                is_known = held.replica.knows_its_high_watermark
                end = held.replica.high_watermark
                return _found(sought, held, end) if is_known else _not_available(sought)
            case time:
                return self._in_log(held, sought, None if time == LATEST_TIME else time)

    def _in_log(
        self, held: HostedPartition, sought: SoughtOffset, time_ms: int | None
    ) -> ListedOffset:
        try:
            return self._at_time(held, sought, time_ms)
        except CorruptLog as damage:
            self.replicas.damaged(held, damage)
            return ListedOffset(partition=sought.partition, error=ErrorCode.CORRUPT_MESSAGE)

    def _at_time(
        self, held: HostedPartition, sought: SoughtOffset, time_ms: int | None
    ) -> ListedOffset:
        """The first record of that time or later, in the first batch that has one; -1 if none has.
        None: of the latest time. A new leader may not know it yet.
        """
        log, limit = self.replicas.log(held), held.replica.high_watermark
        if time_ms is None and log is not None:
            time_ms = log.latest_ms(limit)
        header = None if log is None or time_ms is None else log.first_at(time_ms, limit)
        if log is None or time_ms is None or header is None:
            is_known = held.replica.knows_its_high_watermark
            return ListedOffset(partition=sought.partition) if is_known else _not_available(sought)
        record = self._record(log, header, time_ms)
        return ListedOffset(
            partition=sought.partition,
            timestamp_ms=record.timestamp_ms if record else header.base_timestamp_ms,
            offset=record.offset if record else max(header.base_offset, log.start),
            epoch=header.leader_epoch,
        )

    def _record(self, log: ReplicaLog, header: BatchHeader, time_ms: int) -> Record | None:
        """None if the records are not what their header says, or are too many: then the batch's
        first record stands for the sought one, which is not before it.
        """
        if header.record_count > self.records_left:
            return None
        self.records_left -= header.record_count
        first = max(header.base_offset, log.start)
        batch = next(split_batches(log.read(first, header.size)))
        try:
            return next(
                (
                    each
                    for each in batch.opened_records(_OPENED_BYTES)
                    if first <= each.offset <= header.last_offset and each.timestamp_ms >= time_ms
                ),
                None,
            )
        except DamagedBatch:  # the producer's mistake, left to consumers; or it is too large
            return None


def _is_known(timestamp_ms: int, version: int) -> bool:
    return timestamp_ms >= 0 or version >= SPECIAL_TIMES.get(timestamp_ms, version + 1)


def _earliest(held: HostedPartition, sought: SoughtOffset) -> ListedOffset:
    """The first offset, with the epoch of its record, or of the next one to be written there."""
    replica, known = held.replica, held.replica.first_epoch
    epoch = replica.leader_epoch if known == NO_EPOCH else known
    return ListedOffset(partition=sought.partition, offset=replica.start, epoch=epoch)


def _not_available(sought: SoughtOffset) -> ListedOffset:
    return ListedOffset(partition=sought.partition, error=ErrorCode.OFFSET_NOT_AVAILABLE)


def _found(sought: SoughtOffset, held: HostedPartition, offset: int) -> ListedOffset:
    epoch = held.replica.leader_epoch
    return ListedOffset(partition=sought.partition, offset=offset, epoch=epoch)


def _leader(
    replicas: ReplicaManager, partition: TopicPartition, epoch: int
) -> tuple[HostedPartition | None, ErrorCode]:
    held = replicas.find(partition)
    if held is None:
        return None, replicas.absent(partition).error
    return held, held.replica.refusal(epoch)
