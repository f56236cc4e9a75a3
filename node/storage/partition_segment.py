"""One segment of a partition's log: a file of batches, and its indexes in memory and in two files.

The files are Kafka's. Indexes are written as they are in memory when the segment is full, truncated
or recovered, in the page cache only, and made durable when the log is flushed. An index is rebuilt
from the batches if it is not what was flushed, or an entry does not name the batch that it leads
to.
"""

from collections.abc import Iterator
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple, Self
from weakref import WeakSet

import crc32c

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import HEADER_SIZE, NO_TIME, BatchHeader, DamagedBatch, read_header
from node.storage.disk import CorruptLog, Disk, File
from node.storage.indexes import (
    MOST_OFFSETS,
    OFFSET_INDEX,
    TIME_INDEX,
    Entry,
    OffsetIndex,
    SegmentIndex,
    TimeIndex,
)
from node.storage.segment import SUFFIX, scan_batches, segment_name, walk_batches

# A full segment holds no descriptor: clients decide how many there are, as their timestamps roll
# segments.


@dataclass(frozen=True, slots=True, kw_only=True)
class RolledFile:
    """A `File` that was flushed, and is only read; each read opens it."""

    disk: Disk
    path: str
    length: int

    def size(self) -> int:
        return self.length

    def read(self, position: int, length: int) -> bytes:
        return self.disk.read(self.path, position, length)

    def append(self, data: bytes) -> None:
        raise AssertionError(f"{self.path} is full, and {len(data)} bytes are to be appended")

    def truncate(self, size: int) -> None:
        raise AssertionError(f"{self.path} is not open, and is to be cut to {size} bytes")

    def flush(self) -> None:
        """It is flushed already."""

    def close(self) -> None:
        """It is closed already."""


# Parts of segments in responses: read when they are sent, not before.
#
# A response may take long to send: its reader is slow. Meanwhile the segment is rolled, deleted or
# truncated. A rolled file is read on by its name; a deleted file is held open until it is sent. A
# truncated part is not sent any more, and its connection is closed, as by Kafka:
# `FileRecords.writeTo` fails where a file "has been truncated during write": the next bytes there
# are other records.


# Deleted files that may be held open at once: beyond these, unsent parts are lost.
MAX_HELD = 16


class HeldFile:
    """A file without a name; closed when nothing of it is to be sent."""

    count = 0  # of this process

    def __init__(self, file: File) -> None:
        self._file = file
        HeldFile.count += 1

    def read(self, position: int, length: int) -> bytes:
        return self._file.read(position, length)

    def __del__(self) -> None:
        HeldFile.count -= 1
        self._file.close()


class _Source:
    """The file of a segment, for the slices that were taken of it at one time."""

    __slots__ = ("__weakref__", "file", "sound")

    def __init__(self, file: File) -> None:
        self.file: File | HeldFile = file
        self.sound: int | None = None  # bytes before this are unchanged; None: all are


class FileSlice:
    """`len` bytes of a file."""

    __slots__ = ("_size", "_source", "_start")

    def __init__(self, source: _Source, start: int, size: int) -> None:
        self._source = source
        self._start = start
        self._size = size

    def __len__(self) -> int:
        return self._size

    def read(self, position: int, length: int) -> bytes | None:
        """Up to that many bytes; None: they have changed."""
        source, start = self._source, self._start + position
        if source.sound is not None and self._start + self._size > source.sound:
            return None
        data = source.file.read(start, length)
        return data if len(data) == length else None


class Slices:
    """The slices of one segment that are still to be sent."""

    __slots__ = ("_sources",)

    def __init__(self) -> None:
        # Most segments never have one, and a set of weak references is large.
        self._sources: WeakSet[_Source] | tuple[()] = ()

    def take(self, file: File, start: int, size: int) -> FileSlice:
        source = next((each for each in self._sources if each.sound is None), None)
        if source is None:
            source = _Source(file)
            self._sources = self._sources or WeakSet()
            self._sources.add(source)
        return FileSlice(source, start, size)

    def moved(self, file: File) -> None:
        """The same bytes are in this file from now on."""
        for source in self._sources:
            source.file = file

    def cut(self, size: int) -> None:
        """The file is about to be truncated there."""
        for source in self._sources:
            source.sound = size if source.sound is None else min(source.sound, size)

    def must_be_held(self) -> bool:
        """Must the file, which is about to be deleted, stay open? If not, nothing more of it is
        sent.
        """
        if not self._sources:
            return False
        if HeldFile.count < MAX_HELD:
            return True
        self.cut(0)
        return False

    def hold(self, file: File) -> None:
        held = HeldFile(file)
        for source in self._sources:
            source.file = held


class IndexChecksums(NamedTuple):
    """CRC-32C of both files."""

    offsets: int
    times: int


class Reindexed(NamedTuple):
    """A segment with rebuilt indexes, and why they were rebuilt."""

    segment: str
    reason: str


@dataclass(slots=True, kw_only=True)
class PartitionSegment:
    """Whole, contiguous batches, the first of which has offset `base`."""

    disk: Disk
    base: Offset
    path: str
    file: File
    index: SegmentIndex
    reindexed: list[Reindexed]  # is extended
    size: int = 0
    first_ms: int = NO_TIME  # the timestamp of its first batch
    saved: IndexChecksums | None = None  # of the files, if they are durable and as in memory
    slices: Slices = field(default_factory=Slices)
    _later: SegmentIndex | None = None  # of the batches that are not deleted, if some are

    @classmethod
    def begin(
        cls, disk: Disk, directory: str, base: Offset, interval: int, reindexed: list[Reindexed]
    ) -> Self:
        """A new segment, with a durable name. `interval`: index.interval.bytes."""
        path = f"{directory}/{segment_name(base)}"
        return cls._of(disk, path, disk.open(path), base, interval, reindexed)

    @classmethod
    def found(
        cls, disk: Disk, directory: str, base: Offset, interval: int, reindexed: list[Reindexed]
    ) -> Self:
        """An existing segment: with no batch yet, whatever its file holds."""
        path = f"{directory}/{segment_name(base)}"
        return cls._of(disk, path, disk.reopen(path), base, interval, reindexed)

    @classmethod
    def _of(
        cls,
        disk: Disk,
        path: str,
        file: File,
        base: Offset,
        interval: int,
        reindexed: list[Reindexed],
    ) -> Self:
        return cls(
            disk=disk,
            base=base,
            path=path,
            file=file,
            index=SegmentIndex(base=base, interval=interval),
            reindexed=reindexed,
        )

    @property
    def newest_ms(self) -> int:
        """The latest timestamp of its batches; -1: none has one."""
        return self.index.newest_ms

    # --- what is asked ---

    def locate(self, offset: Offset) -> int:
        """The position of the batch that holds `offset`, which is in here."""
        exact = self.index.exact(offset)
        if exact is not None:
            return exact
        begin = self._trusted(self.index.entry_at(offset), 0)
        return next(at for at, header in self._walk(begin) if header.last_offset >= offset)

    def range(self, offset: Offset, max_bytes: int) -> tuple[int, int]:
        """The range of whole batches from the one that holds `offset`, at least one."""
        start = self.locate(offset)
        limit = start + max_bytes
        if limit >= self.size:
            return start, self.size
        exact, entry = self.index.boundary(limit), self.index.offsets.at_position(limit)
        end = max(start, self._trusted(entry, 0) if exact is None else exact)
        for position, header in self._walk(end):
            following = position + header.size
            if following > limit and end > start:
                break
            end = following
        return start, end

    def slice(self, start: int, size: int) -> FileSlice:
        """That many bytes from there on, to be read later."""
        return self.slices.take(self.file, start, size)

    def first_at(self, time_ms: int, start: Offset) -> BatchHeader | None:
        """The first batch from the one that holds `start` on with a record of that time, 0 or
        later, or of a later one.
        """
        index = self._index_from(start)
        if time_ms > index.newest_ms:
            return None
        begin = self._trusted(index.before_time(time_ms), index.first)
        later = (header for _, header in self._walk(begin) if header.max_timestamp_ms >= time_ms)
        return next(later, None)

    def latest_ms(self, start: Offset, end: Offset | None) -> int:
        """The maximum timestamp of the batches from the one that holds `start` on that end at `end`
        or before, or of all; -1: none has one.
        """
        index = self._index_from(start)
        if end is None:
            return index.newest_ms
        latest, entry = index.latest_before(end)
        begin = self._trusted(entry, index.first)
        for _, header in self._walk(begin):
            if header.next_offset > end:
                break
            latest = max(latest, header.max_timestamp_ms)
        return latest

    def headers(self, start: Offset) -> Iterator[BatchHeader]:
        """The headers of all batches from the one that holds `start` on."""
        begin = 0 if start <= self.base else self.locate(start)
        return (header for _, header in self._walk(begin))

    def holds(self, header: BatchHeader) -> bool:
        """Do its indexes cover that batch?"""
        return header.last_offset - self.base <= MOST_OFFSETS

    def _walk(self, position: int) -> Iterator[tuple[int, BatchHeader]]:
        try:
            yield from walk_batches(self.file, position, self.size)
        except DamagedBatch as damage:
            raise CorruptLog(
                f"{self.path} is damaged at byte {damage.position}: {damage.reason}\n"
                "  try: stop the node and start it again: it cuts the log there, and fetches the "
                "rest anew"
            ) from damage

    def _trusted(self, entry: Entry | None, otherwise: int) -> int:
        """The position to begin reading at: an entry's, if it names the batch there."""
        if entry is None:
            return otherwise
        data = self.file.read(entry.position, HEADER_SIZE)
        try:
            if read_header(data).last_offset == self.base + entry.last:
                return entry.position
            found = "another batch"
        except DamagedBatch as damage:
            found = damage.reason
        self._index_anew()
        reason = f"byte {entry.position} is to begin a batch, and there is {found}"
        self.reindexed.append(Reindexed(self.path, reason))
        return otherwise

    def _index_from(self, start: Offset) -> SegmentIndex:
        """Leaves out what was deleted; found once, and again for another start."""
        if start <= self.base:
            return self.index
        first = self.locate(start)
        if self._later is None or self._later.first != first:
            later = SegmentIndex(base=self.base, interval=self.index.interval, first=first)
            for position, header in self._walk(first):
                later.add(header, position)
            self._later = later
        return self._later

    # --- what is done ---

    def add(self, header: BatchHeader) -> None:
        """The next batch was found at the end, or is about to be written there."""
        if self.size == 0:
            self.first_ms = header.max_timestamp_ms
        self.index.add(header, self.size)
        if self._later is not None:
            self._later.add(header, self.size)
        self.size += header.size
        self.saved = None

    def truncate(self, end: Offset) -> None:
        """Remove, durably, the batches from offset `end` on, which must be the base of one."""
        position = self.locate(end)
        _, header = next(self._walk(position))
        assert header.base_offset == end, f"{end} is inside a batch"
        self.size = position
        self._later = self.saved = None
        tail = self.index.truncate(end)
        self.index.resume(self._walk(tail))
        self.slices.cut(self.size)
        self.file.truncate(self.size)
        # At once: if it were left to a later flush, a power cut could bring back pages of the old
        # tail among those of a new one.
        self.file.flush()
        self.put_index()

    def close(self) -> None:
        """Its file may be deleted next."""
        if not self.slices.must_be_held():
            self.file.close()
        elif isinstance(self.file, RolledFile):
            self.slices.hold(self.disk.reopen(self.path))
        else:
            self.slices.hold(self.file)

    def finish(self) -> None:
        """It is full, and was flushed: another one follows."""
        self.put_index()
        self.file.close()
        self.file = RolledFile(disk=self.disk, path=self.path, length=self.size)
        self.slices.moved(self.file)

    def go_on(self) -> None:
        """It is the last segment again."""
        if isinstance(self.file, RolledFile):
            self.file = self.disk.reopen(self.path)

    def remove(self) -> None:
        self.disk.remove(*self.close_to_remove())

    def close_to_remove(self) -> list[str]:
        """Its files, which nothing has open any more. The batches go first: indexes alone are
        ignored, and batches without their indexes would look damaged.
        """
        self.close()
        indexes = [path for path in self._index_paths() if self.disk.exists(path)]
        return [self.path, *indexes]

    # --- its indexes ---

    def load_index(self, vouched: IndexChecksums) -> list[BatchHeader]:
        """Load a segment that was just opened: both index files, and all batches from the last
        entry on. Returns those, each of them whole, and the first of all. Raises ValueError if they
        do not agree, or the files are not those that were flushed: then nothing is changed.
        """
        index = SegmentIndex(base=self.base, interval=self.index.interval)
        offsets, times = map(self._as_flushed, self._index_paths(), vouched)
        size = self.file.size()
        index.offsets, index.times = OffsetIndex.parse(offsets, size), TimeIndex.parse(times)
        first = read_header(self.file.read(0, HEADER_SIZE))
        tail = list(scan_batches(self.file, index.tail()))
        newest, headers = index.offsets.newest(), [header for _, header in tail]
        named = first.last_offset if newest is None else self.base + newest.last
        if first.base_offset != self.base or headers[0].last_offset != named:
            raise ValueError(f"{self.path} has another batch where its index ends")
        for one, other in pairwise(headers):
            if one.next_offset != other.base_offset:
                raise ValueError(f"{self.path} has no batch at offset {one.next_offset}")
        index.resume(tail)
        self.index, self.size, self.first_ms = index, size, first.max_timestamp_ms
        self.saved = vouched
        return [first, *headers]

    def put_index(self) -> None:
        """Write both files as they are in memory, unless they are durable so; in the page cache
        only.
        """
        if self.saved is not None:
            return
        self.index.complete()
        for path, data in zip(self._index_paths(), self._encoded(), strict=True):
            self.disk.put(path, data)

    def save_index(self) -> None:
        """The same, and make the files durable, but not their names."""
        self.put_index()
        for path in self._index_paths():
            self.disk.sync(path)
        self.saved = IndexChecksums(*map(crc32c.crc32c, self._encoded()))

    def _encoded(self) -> tuple[bytes, bytes]:
        return self.index.offsets.encode(), self.index.times.encode()

    def _index_paths(self) -> tuple[str, str]:
        stem = self.path.removesuffix(SUFFIX)
        return stem + OFFSET_INDEX, stem + TIME_INDEX

    def _as_flushed(self, path: str, checksum: int) -> bytes:
        if not self.disk.exists(path):
            raise ValueError(f"{path} is missing")
        data = self.disk.read_all(path)
        if crc32c.crc32c(data) != checksum:
            raise ValueError(f"{path} is not as it was flushed")
        return data

    def _index_anew(self) -> None:
        """If a batch is damaged nothing is changed: half an index would describe half a log."""
        index = SegmentIndex(base=self.base, interval=self.index.interval)
        for position, header in self._walk(0):
            index.add(header, position)
        self.index = index
        self._later = self.saved = None
