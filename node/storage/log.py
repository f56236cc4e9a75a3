"""The metadata log: contiguous record batches in segments, appended, truncated and flushed.

Five orders make `recovery` possible: an epoch is in `leader-epoch-checkpoint`, durably, before its
first batch is written; a segment is flushed before the next is made; a truncation is flushed before
it returns; the flush mark rises after the flush that it stands for, and falls before a truncation;
a snapshot is durable before the records that it replaces are removed, oldest first.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, Self, assert_never, runtime_checkable

from node.effects import (
    AppendBatches,
    CreateLogs,
    DeleteBeforeSnapshot,
    FinishSnapshot,
    ForgetProducers,
    LimitSegments,
    LogChange,
    NewLog,
    RaiseLogStarts,
    RemoveLog,
    ReplaceLog,
    ReplicaLogChange,
    RestartLog,
    SaveCleanShutdown,
    SaveHighWatermarks,
    SaveRecoveryPoints,
    SegmentLimits,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import METADATA_TOPIC_ID, Epoch, LogId, LogPosition, Offset, uuid_text
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader
from node.storage.checkpoints import LeaderEpochs, encode_epochs
from node.storage.disk import LEADER_EPOCHS, PARTITION_METADATA, CorruptFile, Disk
from node.storage.recovery import Cut, FlushMark, recover_log, start_anew
from node.storage.segment import Segment, accept_batches, segment_name
from node.storage.snapshots import Snapshot, Snapshots

# The effects that change logs, performed: the same calls on any kind of log.


class BatchLog(Protocol):
    """See `node.storage.log` and `node.storage.partition_log`."""

    def append(self, data: bytes) -> None: ...

    def truncate(self, end: Offset) -> None: ...

    def flush(self) -> Offset: ...


@runtime_checkable
class WritableLog(BatchLog, Protocol):
    """One with snapshots: see `node.storage.log`."""

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None: ...

    def finish_snapshot(self, id_: LogPosition) -> None: ...

    def delete_before_snapshot(self, snapshot: LogPosition) -> None: ...

    def replace(self, snapshot: LogPosition) -> None: ...


class ChangeableLogs(Protocol):
    """See `node.storage.log_directories`."""

    def __getitem__(self, log: LogId) -> BatchLog: ...

    def create(self, new: Sequence[NewLog]) -> None: ...

    def limit_segments(self, log: LogId, limits: SegmentLimits) -> None: ...

    def remove(self, log: LogId) -> None: ...

    def raise_starts(self, starts: Mapping[LogId, Offset]) -> None: ...

    def restart(self, log: LogId, start: Offset) -> None: ...

    def save_clean_shutdown(self, broker_epoch: int) -> None: ...

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None: ...

    def save_recovery_points(self) -> None: ...

    def forget_producers(self, logs: Iterable[LogId], wall_ms: int, silent_ms: int) -> None: ...


def perform(change: LogChange, log: BatchLog) -> None:
    """Done when it returns."""
    match change:
        case AppendBatches(data=data):
            log.append(data)
        case TruncateLog(end=end):
            log.truncate(end)
        case _:
            assert isinstance(log, WritableLog), f"{change} of a log that has no snapshots"
            _perform_on_snapshots(change, log)


def _perform_on_snapshots(
    change: WriteSnapshot | FinishSnapshot | DeleteBeforeSnapshot | ReplaceLog, log: WritableLog
) -> None:
    match change:
        case WriteSnapshot(snapshot=id_, position=position, data=data):
            log.write_snapshot(id_, position, data)
        case FinishSnapshot(snapshot=id_):
            log.finish_snapshot(id_)
        case DeleteBeforeSnapshot(snapshot=id_):
            log.delete_before_snapshot(id_)
        case ReplaceLog(snapshot=id_):
            log.replace(id_)
        case _:
            assert_never(change)


def perform_on_replicas(change: ReplicaLogChange, logs: ChangeableLogs) -> None:
    """Done when it returns."""
    match change:
        case CreateLogs(logs=new):
            logs.create(new)
        case LimitSegments(log=log, limits=limits):
            logs.limit_segments(log, limits)
        case RemoveLog(log=log):
            logs.remove(log)
        case RaiseLogStarts(starts=starts):
            logs.raise_starts(starts)
        case RestartLog(log=log, start=start):
            logs.restart(log, start)
        case SaveCleanShutdown(broker_epoch=epoch):
            logs.save_clean_shutdown(epoch)
        case SaveHighWatermarks(offsets=offsets):
            logs.save_high_watermarks(offsets)
        case SaveRecoveryPoints():
            logs.save_recovery_points()
        case ForgetProducers(logs=names, wall_ms=wall_ms, silent_ms=silent_ms):
            logs.forget_producers(names, wall_ms, silent_ms)
        case _:
            assert_never(change)


_PARTITION_METADATA = f"version: 0\ntopic_id: {uuid_text(METADATA_TOPIC_ID)}".encode()


@dataclass(slots=True, kw_only=True)
class Log:
    """The log as written so far: a `LogView`, and the writes that effects ask for."""

    disk: Disk
    directory: str
    segment_bytes: int
    cut: Cut | None  # the torn tail, when the log was opened
    was_unmarked: bool  # there was no flush mark when it was opened
    kept: Snapshots
    begin: LogPosition  # the first offset, and the epoch before it: a snapshot's id, or 0
    segments: list[Segment]  # the first may begin before `begin`
    epochs: LeaderEpochs
    mark: FlushMark
    next_offset: Offset
    flushed: bool = True
    known_end: LogPosition = LogPosition(Epoch(0), Offset(0))  # cached: every step asks for it

    @classmethod
    def open(cls, disk: Disk, directory: str, segment_bytes: int) -> Self:
        """Recover the log in `directory` (made when absent).

        The result is durable. Raises CorruptLog or CorruptFile as `recovery` says.
        """
        disk.make_directory(directory)
        _check_partition_metadata(disk, f"{directory}/{PARTITION_METADATA}")
        kept = Snapshots.open(disk, directory)
        found = recover_log(disk, directory, kept)
        kept.remove_before(found.start.offset)
        return cls(
            disk=disk,
            directory=directory,
            segment_bytes=segment_bytes,
            cut=found.cut,
            was_unmarked=found.was_unmarked,
            kept=kept,
            begin=found.start,
            segments=found.segments,
            epochs=found.epochs,
            mark=FlushMark.put(disk, directory, found.end),
            next_offset=found.end,
        )

    def end(self) -> LogPosition:
        epoch, known = max(self.epochs.latest(), self.begin.epoch), self.known_end
        if known.offset != self.next_offset or known.epoch != epoch:
            known = self.known_end = LogPosition(epoch, self.next_offset)
        return known

    def start(self) -> Offset:
        return self.begin.offset

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        return self.epochs.end_of(epoch, self.begin, self.next_offset)

    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    def snapshots(self) -> Sequence[Snapshot]:
        return self.kept.found

    def read_snapshot(self, id_: LogPosition, position: int, max_bytes: int) -> bytes:
        return self.kept.read(id_, position, max_bytes)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Empty at the log's end; never across the end of a segment."""
        assert self.start() <= offset <= self.next_offset
        if offset == self.next_offset:
            return b""
        index = bisect_right(self.segments, offset, key=lambda segment: segment.base) - 1
        return self.segments[index].read(offset, max_bytes)

    def append(self, data: bytes) -> None:
        """Write whole, sound batches that continue the log, in the page cache only.

        Raises DamagedBatch on other bytes, before any of them is written; offsets and epochs that
        do not continue are a broken invariant.
        """
        headers = accept_batches(data, self.end())
        self._begin_epochs(headers)
        position = written = 0
        for header in headers:
            if self._must_roll(header.size):
                self._write(data[written:position])
                written = position
                self._roll()
            self.segments[-1].add(header.base_offset, header.size)
            self.next_offset = header.next_offset
            position += header.size
        self._write(data[written:position])

    def truncate(self, end: Offset) -> None:
        """Truncate the log to `end`, a batch's boundary; durable when it returns."""
        assert self.start() <= end <= self.next_offset
        if end == self.next_offset:
            return
        self.mark.fall(end)
        # The newest first: after a power cut in between, what is left is still one log.
        while len(self.segments) > 1 and self.segments[-1].base >= end:
            last = self.segments.pop()
            last.file.close()
            self.disk.remove(last.path)
            self.next_offset = last.base
        if self.next_offset > end:
            self.segments[-1].truncate(end)
        self.next_offset = end
        self._flushed()
        if self.epochs.truncate(end):
            self._save_epochs()

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None:
        self.kept.write(id_, position, data)

    def finish_snapshot(self, id_: LogPosition) -> None:
        self.kept.finish(id_)

    def delete_before_snapshot(self, snapshot: LogPosition) -> None:
        """Delete older snapshots, and the whole segments that they and this one replace.

        The log then starts at this snapshot, unless no segment could go and it starts at 0.
        """
        while len(self.segments) > 1 and self.segments[1].base <= snapshot.offset:
            oldest = self.segments.pop(0)
            oldest.file.close()
            self.disk.remove(oldest.path)
        self.kept.remove_before(snapshot.offset)
        if self.segments[0].base > 0:
            self.begin = snapshot
            if self.epochs.begin_at(snapshot.offset, self.next_offset):
                self._save_epochs()

    def replace(self, snapshot: LogPosition) -> None:
        """Replace the whole log by an empty one that starts where a snapshot ends; durable when it
        returns (`truncateFullyAndStartAt`).
        """
        self.mark.fall(snapshot.offset)
        started = start_anew(self.disk, self.directory, self.segments, snapshot.offset)
        self.segments.append(started)
        self.epochs = LeaderEpochs()
        self.begin, self.next_offset = snapshot, snapshot.offset
        self._flushed()
        self.kept.remove_before(snapshot.offset)

    def flush(self) -> Offset:
        """Make everything appended durable. Returns the offset below which everything is."""
        end = self.next_offset
        if not self.flushed:
            self.segments[-1].file.flush()
            self._flushed()
        return end

    def close(self) -> None:
        """Close the files, flushed or not."""
        for segment in self.segments:
            segment.file.close()

    def _flushed(self) -> None:
        """All of the log is flushed now."""
        self.flushed = True
        self.mark.rise(self.next_offset)

    def _begin_epochs(self, headers: list[BatchHeader]) -> None:
        begun = [self.epochs.assign(header.leader_epoch, header.base_offset) for header in headers]
        if any(begun):
            self._save_epochs()

    def _save_epochs(self) -> None:
        self.disk.replace(f"{self.directory}/{LEADER_EPOCHS}", encode_epochs(self.epochs))

    def _must_roll(self, size: int) -> bool:
        active = self.segments[-1]
        return active.size > 0 and active.size + size > self.segment_bytes

    def _roll(self) -> None:
        """Begin a new segment; the full one is flushed first, so only the last can be torn."""
        self.segments[-1].file.flush()
        path = f"{self.directory}/{segment_name(self.next_offset)}"
        segment = Segment(base=self.next_offset, path=path, file=self.disk.open(path))
        assert segment.file.size() == 0, f"{path} exists"
        self.segments.append(segment)

    def _write(self, data: bytes) -> None:
        if data:
            self.segments[-1].file.append(data)
            self.flushed = False


def _check_partition_metadata(disk: Disk, path: str) -> None:
    """The topic's id, constant for the metadata log; written when absent."""
    if not disk.exists(path):
        disk.replace(path, _PARTITION_METADATA)
    elif disk.read_all(path).rstrip() != _PARTITION_METADATA:
        raise CorruptFile(
            f"{path} does not hold the metadata topic's id\n"
            "  try: remove it, if the directory is a metadata log's; it is written again at start"
        )
