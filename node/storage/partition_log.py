"""The log of a replica of a partition: written to the page cache, and flushed when it shuts down.

As in Kafka nothing is flushed before it is acknowledged: what keeps a record is that it is on
several brokers (KIP-966 counts on that, and on no more). So a power cut takes what it likes of the
end, and recovery keeps what is whole, up to the first batch that is not (`LogLoader`). Whoever
restarts like that says so, by not saying that it shut down cleanly (`clean_shutdown`).

A log begins at `start`: at 0, or where records were deleted up to (KIP-107, retention). What lies
before it in its first segment is nobody's any more.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from uuid import UUID

from node.effects import SegmentLimits
from node.ids import Epoch, LogPosition, Offset, parse_uuid, uuid_text
from node.records.batch import HEADER_SIZE, BatchHeader, DamagedBatch, read_header
from node.storage.disk import Disk
from node.storage.layout import LEADER_EPOCHS, PARTITION_METADATA
from node.storage.leader_epochs import LeaderEpochs, encode_epochs, parse_epochs
from node.storage.rolled_file import RolledFile
from node.storage.scan import scan_batches
from node.storage.segment import Segment, accept_batches, parse_segment_name, segment_name
from node.storage.storage_errors import CorruptFile

_BEGIN = Offset(0)


@dataclass(slots=True, kw_only=True)
class PartitionLog:
    disk: Disk
    directory: str
    topic: UUID
    limits: SegmentLimits
    segments: list[Segment]
    epochs: LeaderEpochs
    next_offset: Offset
    start: Offset = Offset(0)
    cut_bytes: int = 0  # that recovery took off when the log was opened
    flushed: bool = False

    @classmethod
    def create(cls, disk: Disk, directory: str, topic: UUID, limits: SegmentLimits) -> Self:
        """An empty one, in the place of whatever the directory holds."""
        disk.make_directory(directory)
        metadata = f"{directory}/{PARTITION_METADATA}"
        # The id first: without it the rest belongs to nobody.
        for name in sorted(disk.names(directory), key=lambda name: name != PARTITION_METADATA):
            disk.remove(f"{directory}/{name}")
        segment = _segment(disk, directory, Offset(0))
        disk.replace(metadata, f"version: 0\ntopic_id: {uuid_text(topic)}".encode())
        return cls(
            disk=disk,
            directory=directory,
            topic=topic,
            limits=limits,
            segments=[segment],
            epochs=LeaderEpochs(),
            next_offset=Offset(0),
        )

    @classmethod
    def open(
        cls, disk: Disk, directory: str, limits: SegmentLimits, start: Offset = _BEGIN
    ) -> Self:
        """What is whole of the one that is there, which begins at `start` or later. Raises
        CorruptFile where nothing says whose it is."""
        log = cls(
            disk=disk,
            directory=directory,
            topic=_read_topic(disk, f"{directory}/{PARTITION_METADATA}"),
            limits=limits,
            segments=[],
            epochs=LeaderEpochs(),
            next_offset=start,
            start=start,
        )
        log._recover()
        return log

    # --- what is asked ---

    def end(self) -> LogPosition:
        return LogPosition(self.epochs.latest(), self.next_offset)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after its last record."""
        return self.epochs.end_of(epoch, LogPosition(Epoch(0), self.start), self.next_offset)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one if there is any; nothing at
        the log's end, and never across the end of a segment."""
        assert self.start <= offset <= self.next_offset
        if offset == self.next_offset:
            return b""
        index = bisect_right(self.segments, offset, key=lambda segment: segment.base) - 1
        return self.segments[index].read(offset, max_bytes)

    def readable(self, offset: Offset, max_bytes: int, limit: Offset) -> int:
        """How many bytes `read_below` reads."""
        _, start, end = self._below(offset, max_bytes, limit)
        return end - start

    def read_below(self, offset: Offset, max_bytes: int, limit: Offset) -> bytes:
        """As `read`, without the batches that end behind `limit`."""
        segment, start, end = self._below(offset, max_bytes, limit)
        return segment.file.read(start, end - start)

    def first_at(self, time_ms: int, limit: Offset) -> BatchHeader | None:
        """The first batch with a record of that time or a later one, if it ends at `limit` or
        before."""
        for segment in self.segments:
            place = segment.times.first_of(time_ms, self._first_place(segment))
            if place is not None:
                data = segment.file.read(segment.positions[place], HEADER_SIZE)
                header = read_header(data)
                return header if header.next_offset <= limit else None
        return None

    def latest_ms(self, limit: Offset) -> int | None:
        """The latest time of the batches that end at `limit` or before; None: there are none."""
        times = (
            segment.times.latest(self._first_place(segment), self._places_below(index, limit))
            for index, segment in enumerate(self.segments)
            if segment.base < limit
        )
        return max((each for each in times if each is not None), default=None)

    def headers(self) -> Iterator[BatchHeader]:
        """Of all batches, also of the first one's segment that end before `start`."""
        for segment in self.segments:
            yield from segment.headers()

    def _below(self, offset: Offset, max_bytes: int, limit: Offset) -> tuple[Segment, int, int]:
        assert self.start <= offset <= self.next_offset
        index = bisect_right(self.segments, offset, key=lambda segment: segment.base) - 1
        segment = self.segments[index]
        if offset >= min(limit, self.next_offset):
            return segment, 0, 0
        start, end = segment.range(offset, max_bytes)
        places = self._places_below(index, limit)
        is_all = places == len(segment.positions)
        return segment, start, end if is_all else max(start, min(end, segment.positions[places]))

    def _places_below(self, index: int, limit: Offset) -> int:
        """How many batches of that segment end at `limit` or before."""
        is_last = index + 1 == len(self.segments)
        segment_end = self.next_offset if is_last else self.segments[index + 1].base
        segment = self.segments[index]
        return len(segment.offsets) if segment_end <= limit else max(segment.place(limit), 0)

    def _first_place(self, segment: Segment) -> int:
        """The first batch of it that is not deleted."""
        return max(segment.place(self.start), 0)

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
            self._add(header)
            position += header.size
        self._write(data[written:position])

    def truncate(self, end: Offset) -> None:
        """Cut the log so that it ends at `end`, a batch's boundary."""
        assert self.start <= end <= self.next_offset
        if end == self.next_offset:
            return
        self.flushed = False
        while len(self.segments) > 1 and self.segments[-1].base >= end:
            last = self.segments.pop()
            self._remove(last)
            self.next_offset = last.base
        self._open_last()
        if self.next_offset > end:
            self.segments[-1].truncate(end)
        self.next_offset = end
        if self.epochs.truncate(end):
            self._save_epochs()

    def raise_start(self, start: Offset) -> None:
        """Nothing below `start` is in the log any more; whole segments of that go. The file of
        epochs tells of former ones until it is written for another reason."""
        assert self.start <= start <= self.next_offset
        self.start = start
        if start == self.next_offset > self.segments[-1].base:
            self.segments.append(_segment(self.disk, self.directory, start))
        while len(self.segments) > 1 and self.segments[1].base <= start:
            self._remove(self.segments.pop(0))
        self.epochs.raise_start(start)

    def restart(self, start: Offset) -> None:
        """Drop all of it for a log that begins, and ends, at `start`
        (`truncateFullyAndStartAt`)."""
        while self.segments:
            self._remove(self.segments.pop())
        self.segments.append(_segment(self.disk, self.directory, start))
        self.start = self.next_offset = start
        self.flushed = False
        self.epochs = LeaderEpochs()
        self._save_epochs()

    def flush(self) -> Offset:
        """Make all of it durable. The offset below which everything is."""
        if not self.flushed:
            self.segments[-1].file.flush()
            self.flushed = True
        return self.next_offset

    def close(self) -> None:
        for segment in self.segments:
            segment.file.close()

    def remove(self) -> None:
        """All files of it; the id first, without which the rest belongs to nobody."""
        self.close()
        for name in sorted(
            self.disk.names(self.directory), key=lambda name: name != PARTITION_METADATA
        ):
            self.disk.remove(f"{self.directory}/{name}")

    # --- recovery ---

    def _recover(self) -> None:
        """Keep what is whole and continues; the rest, and all segments after it, go."""
        names = self.disk.names(self.directory)
        bases = sorted(base for base in map(parse_segment_name, names) if base is not None)
        self.next_offset = bases[0] if bases else self.start
        for base in bases:
            if self.cut_bytes or base != self.next_offset:
                path = f"{self.directory}/{segment_name(base)}"
                self.cut_bytes += max(1, len(self.disk.read_all(path)))
                self.disk.remove(path)
            else:
                self._recover_segment(_segment(self.disk, self.directory, base))
        epoch = self._epoch_before()
        if not self.segments or self.next_offset < self.start:
            self.restart(self.start)
        self.start = max(self.start, self.segments[0].base)
        if not self.epochs.epochs and epoch is not None:
            self.epochs.assign(epoch, self.start)
        self.epochs.raise_start(self.start)
        self._save_epochs()

    def _epoch_before(self) -> Epoch | None:
        """Of the last record before the start, as the file says: where no batch is left, nothing
        else does."""
        path = f"{self.directory}/{LEADER_EPOCHS}"
        try:
            known = parse_epochs(self.disk.read_all(path)) if self.disk.exists(path) else None
        except ValueError:
            return None
        is_known = known is not None and known.starts[:1] <= [self.start] and known.epochs
        return known.at(self.start) if known is not None and is_known else None

    def _recover_segment(self, segment: Segment) -> None:
        if self.segments:
            self._close_last()
        self.segments.append(segment)
        try:
            for position, header in scan_batches(segment.file):
                is_next = header.base_offset == self.next_offset
                if not is_next or header.leader_epoch < self.epochs.latest():
                    raise DamagedBatch(position, "it does not continue the log")
                self.epochs.assign(header.leader_epoch, header.base_offset)
                self._add(header)
        except DamagedBatch:
            self.cut_bytes += segment.file.size() - segment.size
            segment.file.truncate(segment.size)

    # --- files ---

    def _must_roll(self, header: BatchHeader) -> bool:
        """By size, or by the time between the first batch and this one as their timestamps tell it
        (`LogSegment.shouldRoll`; by the clock, where the first has none, only in Kafka)."""
        active = self.segments[-1]
        if active.size == 0:
            return False
        waited_ms = header.max_timestamp_ms - active.first_ms
        is_old = active.first_ms >= 0 and waited_ms > self.limits.ms
        return is_old or active.size + header.size > self.limits.size

    def _roll(self) -> None:
        """The full one is flushed, as Kafka does."""
        self.segments[-1].file.flush()
        self._close_last()
        self.segments.append(_segment(self.disk, self.directory, self.next_offset))

    def _close_last(self) -> None:
        """Another one follows it."""
        last = self.segments[-1]
        last.file.close()
        last.file = RolledFile(disk=self.disk, path=last.path, length=last.size)

    def _open_last(self) -> None:
        """Those that followed it are gone."""
        last = self.segments[-1]
        if isinstance(last.file, RolledFile):
            last.file = self.disk.open(last.path)

    def _remove(self, segment: Segment) -> None:
        segment.file.close()
        self.disk.remove(segment.path)

    def _add(self, header: BatchHeader) -> None:
        """The next batch is in the last segment, or is about to be."""
        segment = self.segments[-1]
        if segment.size == 0:
            segment.first_ms = header.max_timestamp_ms
        segment.add(header.base_offset, header.size)
        segment.times.add(header.max_timestamp_ms)
        segment.newest_ms = max(segment.newest_ms, header.max_timestamp_ms)
        self.next_offset = header.next_offset

    def _write(self, data: bytes) -> None:
        if data:
            self.segments[-1].file.append(data)
            self.flushed = False

    def _save_epochs(self) -> None:
        self.disk.replace(f"{self.directory}/{LEADER_EPOCHS}", encode_epochs(self.epochs))


def _segment(disk: Disk, directory: str, base: Offset) -> Segment:
    path = f"{directory}/{segment_name(base)}"
    return Segment(base=base, path=path, file=disk.open(path))


def _read_topic(disk: Disk, path: str) -> UUID:
    try:
        version, topic = disk.read_all(path).decode().splitlines()
        if version != "version: 0" or not topic.startswith("topic_id: "):
            raise ValueError(topic)
        return parse_uuid(topic.removeprefix("topic_id: "))
    except ValueError as error:
        raise CorruptFile(
            f"{path} does not say which topic's the log is: {error}\n"
            "  try: put it back from a copy of this disk; or remove the directory, and the broker"
            " fetches the replica anew"
        ) from error
