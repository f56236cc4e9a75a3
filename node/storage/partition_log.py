"""The log of a partition's replica: written to the page cache, and flushed at a clean shutdown.

As in Kafka nothing is flushed before it is acknowledged: a record survives because it is on several
brokers (KIP-966 relies on that alone). So a power cut may take any part of the end, and recovery
keeps what is whole, up to the first batch that is not (`LogLoader`). After such an end the
clean-shutdown file is missing, and so the broker registers without its last epoch (`checkpoints`).

A log begins at `start`: at 0, or where deletion ended (KIP-107, retention). What lies before it in
its first segment is not served any more.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Self
from uuid import UUID

from node.effects import SegmentLimits
from node.ids import Epoch, LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import NO_TIME, BatchHeader
from node.storage.checkpoints import LeaderEpochs, encode_epochs, read_topic, save_topic
from node.storage.disk import LEADER_EPOCHS, PARTITION_METADATA, Disk
from node.storage.partition_recovery import FoundLog, Vouched, find_log
from node.storage.partition_segment import FileSlice, IndexChecksums, PartitionSegment, Reindexed
from node.storage.producers import KnownProducers, ProducerStates
from node.storage.segment import accept_batches, segment_name

_BEGIN = Offset(0)


def _no_listener(end: Offset) -> None:
    """The default for a log without a recovery point on any disk."""


_CUT_BACK = 2  # segments, to which a log may be truncated without much reading


@dataclass(slots=True, kw_only=True)
class PartitionLog:
    disk: Disk
    directory: str
    topic: UUID
    limits: SegmentLimits
    segments: list[PartitionSegment]
    epochs: LeaderEpochs
    next_offset: Offset
    reindexed: list[Reindexed]  # extended where a clean shutdown vouched for wrong indexes
    states: ProducerStates
    start: Offset = Offset(0)
    cut_bytes: int = 0  # that recovery truncated when the log was opened
    flushed: bool = False
    # Called with the offset from which on the log is about to change.
    on_cut: Callable[[Offset], None] = _no_listener
    _unflushed: int = 0  # records appended since its last segment was flushed

    @classmethod
    def create(
        cls,
        disk: Disk,
        directory: str,
        topic: UUID,
        limits: SegmentLimits,
        reindexed: list[Reindexed],
    ) -> Self:
        """Make an empty log, in place of whatever the existing directory holds."""
        _remove_all(disk, directory)
        log = cls(
            disk=disk,
            directory=directory,
            topic=topic,
            limits=limits,
            segments=[],
            epochs=LeaderEpochs(),
            next_offset=_BEGIN,
            reindexed=reindexed,
            states=ProducerStates(disk=disk, directory=directory),
        )
        # Its name gets durable with that of the topic id's file, without which this is no log.
        disk.put(f"{directory}/{segment_name(_BEGIN)}", b"")
        log.segments.append(
            PartitionSegment.found(disk, directory, _BEGIN, limits.index_interval, reindexed)
        )
        save_topic(disk, directory, topic)
        log.flushed = True  # the names are durable, and there is nothing else yet
        return log

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        limits: SegmentLimits,
        start: Offset,
        vouched: Vouched,
        reindexed: list[Reindexed],
    ) -> Self:
        """Open what is whole of an existing log, which begins at `start` or later
        (`partition_recovery`). Raises CorruptFile if it has no topic id.
        """
        topic = read_topic(disk, directory)
        found = find_log(disk, directory, limits.index_interval, start, vouched, reindexed)
        log = cls(
            disk=disk,
            directory=directory,
            topic=topic,
            limits=limits,
            segments=found.segments,
            epochs=found.epochs,
            next_offset=found.end,
            start=start,
            cut_bytes=found.cut_bytes,
            reindexed=reindexed,
            states=found.states,
        )
        log._begin(found.known, found.epoch_before())
        is_new = log.next_offset == _BEGIN and not found.has_epochs
        log.flushed = (vouched.is_clean or is_new) and log._is_as_found(found)
        return log

    def _begin(self, known: LeaderEpochs | None, epoch_before: Epoch | None) -> None:
        """Set the start, with the epochs from there on."""
        if not self.segments or self.next_offset < self.start:
            self.restart(self.start)
        else:
            self.states.advance(self.next_offset, self._headers_between)
        self.start = max(self.start, self.segments[0].base)
        if not self.epochs.epochs and epoch_before is not None:
            self.epochs.assign(epoch_before, self.start)
        self.epochs.raise_start(self.start)
        if self.epochs != known:
            self._save_epochs()

    def _is_as_found(self, found: FoundLog) -> bool:
        """Is all of it that a flush makes durable on the disk as a clean shutdown left it?"""
        is_saved = all(each.saved is not None or each.size == 0 for each in self.segments)
        has_snapshot = self.next_offset in (_BEGIN, *self.states.offsets[-1:])
        return is_saved and has_snapshot and not found.cut_bytes and self.epochs == found.known

    # --- what is asked ---

    def end(self) -> LogPosition:
        return LogPosition(self.epochs.latest(), self.next_offset)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after its last record."""
        return self.epochs.end_of(epoch, LogPosition(Epoch(0), self.start), self.next_offset)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one if there is any; empty at
        the log's end, and never across the end of a segment.
        """
        return self.read_below(offset, max_bytes, self.next_offset)

    def readable(self, offset: Offset, max_bytes: int, limit: Offset) -> int:
        """How many bytes `read_below` reads."""
        _, start, end = self._below(offset, max_bytes, limit)
        return end - start

    def read_below(self, offset: Offset, max_bytes: int, limit: Offset) -> bytes:
        """As `read`, without the batches that end behind `limit`."""
        segment, start, end = self._below(offset, max_bytes, limit)
        return segment.file.read(start, end - start)

    def slice_below(self, offset: Offset, max_bytes: int, limit: Offset) -> FileSlice:
        """The same, to be read later."""
        segment, start, end = self._below(offset, max_bytes, limit)
        return segment.slice(start, end - start)

    def first_at(self, time_ms: int, limit: Offset) -> BatchHeader | None:
        """The first batch with a record of that time or later, if it ends at `limit` or before."""
        for segment, end in self._kept():
            header = segment.first_at(time_ms, self.start) if end > self.start else None
            if header is not None:
                return header if header.next_offset <= limit else None
        return None

    def latest_ms(self, limit: Offset) -> int | None:
        """The maximum timestamp of the batches that end at `limit` or before; None: none has
        one.
        """
        times = [
            segment.latest_ms(self.start, None if end <= limit else limit)
            for segment, end in self._kept()
            if segment.base < limit and end > self.start
        ]
        latest = max(times, default=NO_TIME)
        return None if latest == NO_TIME else latest

    def headers(self) -> Iterator[BatchHeader]:
        """The headers of all batches, also those in the first segment that end before `start`."""
        return self._headers_between(_BEGIN, self.next_offset)

    @property
    def producers(self) -> KnownProducers:
        """The idempotent producers in its batches. Raises CorruptLog if it could not be read when
        it was truncated or opened.
        """
        return self.states.producers()

    def _headers_between(self, start: Offset, end: Offset) -> Iterator[BatchHeader]:
        """The headers of all batches from the one that holds `start` to the one before `end`."""
        for segment, segment_end in self._kept():
            if segment_end > start and segment.base < end:
                for header in segment.headers(start):
                    if header.base_offset >= end:
                        return
                    yield header

    @property
    def recovery_point(self) -> Offset:
        """All below is durable, with the indexes of the segments that end there or before. The last
        segment counts only while nothing was appended since it was flushed.
        """
        if self.flushed:
            return self.next_offset
        unsaved = (each.base for each in self.segments if each.saved is None)
        return next(unsaved, self.segments[-1].base)

    def index_checksums(self) -> dict[Offset, IndexChecksums]:
        """The checksums of the segments with durable indexes, by their bases."""
        return {each.base: each.saved for each in self.segments if each.saved is not None}

    def _kept(self) -> Iterator[tuple[PartitionSegment, Offset]]:
        """Each segment, and where it ends."""
        ends = [*(each.base for each in self.segments[1:]), self.next_offset]
        return zip(self.segments, ends, strict=True)

    def _below(
        self, offset: Offset, max_bytes: int, limit: Offset
    ) -> tuple[PartitionSegment, int, int]:
        assert self.start <= offset <= self.next_offset
        index = bisect_right(self.segments, offset, key=lambda segment: segment.base) - 1
        segment = self.segments[index]
        if offset >= min(limit, self.next_offset):
            return segment, 0, 0
        start, end = segment.range(offset, max_bytes)
        is_last = index + 1 == len(self.segments)
        segment_end = self.next_offset if is_last else self.segments[index + 1].base
        return segment, start, end if segment_end <= limit else min(end, segment.locate(limit))

    # --- what is done ---

    def append(self, data: bytes) -> None:
        """Whole, sound batches that continue the log, in the page cache only. Raises
        DamagedBatch."""
        position = written = 0
        for header in accept_batches(data, self.end()):
            if self.epochs.assign(header.leader_epoch, header.base_offset):
                self._save_epochs()
            if self._must_roll(header):
                self._write(data[written:position])
                written = position
                self._roll()
            self.segments[-1].add(header)
            self.next_offset = header.next_offset
            self._unflushed += header.last_offset_delta + 1
            self.states.appended(header)
            position += header.size
        self._write(data[written:position])
        if self._unflushed >= self.limits.flush_messages:
            self.segments[-1].file.flush()
            self._unflushed = 0
        self.states.take_if_due()

    def truncate(self, end: Offset) -> None:
        """Truncate the log to `end`, a batch's boundary."""
        assert self.start <= end <= self.next_offset
        if end == self.next_offset:
            return
        # The new last segment is written again, and its indexes with it.
        self.on_cut(next((it.base for it in reversed(self.segments) if it.base < end), self.start))
        self.flushed = False
        # First, and durably: the snapshots do not cover what is written there next.
        self.states.keep(self.segments[0].base, end)
        while len(self.segments) > 1 and self.segments[-1].base >= end:
            last = self.segments.pop()
            last.slices.cut(0)  # it is truncated, and not only deleted
            last.remove()
            self.next_offset = last.base
        self.segments[-1].go_on()
        if self.next_offset > end:
            self.segments[-1].truncate(end)
        self.next_offset = end
        self.states.cut(end, self._headers_between)
        if self.epochs.truncate(end):
            self._save_epochs()

    def raise_start(self, start: Offset) -> None:
        """Nothing below `start` is in the log any more; whole segments below it are deleted. The
        epoch file keeps former epochs until it is written for another reason.
        """
        assert self.start <= start <= self.next_offset
        self.start = start
        if start == self.next_offset > self.segments[-1].base:
            self.states.take()
            self._begin_segment(start)
        gone = []
        while len(self.segments) > 1 and self.segments[1].base <= start:
            gone.append(self.segments.pop(0))
        if gone:
            self.disk.remove(*(path for each in gone for path in each.close_to_remove()))
        self.states.keep(self.segments[0].base, self.next_offset)
        self.epochs.raise_start(start)

    def restart(self, start: Offset) -> None:
        """Replace all of it by an empty log at `start` (`truncateFullyAndStartAt`)."""
        self.states.clear(start)
        while self.segments:
            self.segments.pop().remove()
        self._begin_segment(start)
        self.start = self.next_offset = start
        self.flushed = False
        self.epochs = LeaderEpochs()
        self._save_epochs()

    def forget_producers(self, wall_ms: int, silent_ms: int) -> None:
        """Forget those that were silent for so long."""
        if self.states.known is not None:
            self.states.known.expire(wall_ms, silent_ms)

    def flush(self) -> Offset:
        """Make all of it durable, with its indexes. Returns the offset below which everything
        is.
        """
        if not self.flushed:
            self.segments[-1].file.flush()
            is_news = self._save_indexes()
            if self.states.take() or is_news:
                self.disk.sync_names(self.directory)
            self.flushed = True
        return self.next_offset

    def limit(self, limits: SegmentLimits) -> None:
        """Set the limits from now on."""
        self.limits = limits
        self.segments[-1].index.interval = limits.index_interval

    def close(self) -> None:
        for segment in self.segments:
            segment.close()

    def remove(self) -> None:
        """Remove its files; the topic id first, without which the rest is no log."""
        self.close()
        _remove_all(self.disk, self.directory)

    # --- files ---

    def _must_roll(self, header: BatchHeader) -> bool:
        """Decides by size, or by the time between the timestamps of the first batch and this one
        (`LogSegment.shouldRoll`; only Kafka uses the clock, if the first has none).
        """
        active = self.segments[-1]
        if active.size == 0:
            return False
        waited_ms = header.max_timestamp_ms - active.first_ms
        is_old = active.first_ms >= 0 and waited_ms > self.limits.ms
        is_full = active.size + header.size > self.limits.size
        return is_old or is_full or not active.holds(header)

    def _roll(self) -> None:
        """The full segment is flushed, as Kafka does, and with its indexes: it is not read again as
        a whole, however this process ends.
        """
        self.segments[-1].file.flush()
        self.segments[-1].save_index()
        self._unflushed = 0
        self.segments[-1].finish()
        self.states.take()
        self._begin_segment(self.next_offset)  # which makes the snapshot's name durable as well
        if len(self.segments) > _CUT_BACK:
            self.states.drop_within(self.segments[-3].base, self.segments[-2].base)

    def _begin_segment(self, base: Offset) -> None:
        interval = self.limits.index_interval
        self.segments.append(
            PartitionSegment.begin(self.disk, self.directory, base, interval, self.reindexed)
        )

    def _save_indexes(self) -> bool:
        """Make the indexes durable, but not their names. Returns whether there were any to save."""
        unsaved = [each for each in self.segments if each.saved is None and each.size > 0]
        for segment in unsaved:
            segment.save_index()
        return bool(unsaved)

    def _write(self, data: bytes) -> None:
        if data:
            self.segments[-1].file.append(data)
            self.flushed = False

    def _save_epochs(self) -> None:
        self.disk.replace(f"{self.directory}/{LEADER_EPOCHS}", encode_epochs(self.epochs))


def _remove_all(disk: Disk, directory: str) -> None:
    """The topic id first, durably: without it the rest is no log."""
    names = disk.names(directory)
    rest = [f"{directory}/{name}" for name in names if name != PARTITION_METADATA]
    if PARTITION_METADATA in names:
        disk.remove(f"{directory}/{PARTITION_METADATA}")
    if rest:
        disk.remove(*rest)
