"""`<base>.index`: where in a segment some of its batches stand (Kafka's `OffsetIndex`).

An entry has two int32: the last offset of a batch, less the segment's base offset, and the position
at which that batch begins. Both rise strictly.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, Self

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import NO_TIME, BatchHeader

OFFSET_INDEX = ".index"
# The last offset of a segment is no more than that after its base (`canConvertToRelativeOffset`).
MOST_OFFSETS = 2**31 - 1
_ENTRY = struct.Struct(">ii")


class Entry(NamedTuple):
    """Offsets are relative to the segment's base."""

    last: int
    position: int


def _numbers() -> "array[int]":
    return array("i")


@dataclass(slots=True)
class OffsetIndex:
    lasts: "array[int]" = field(default_factory=_numbers)
    positions: "array[int]" = field(default_factory=_numbers)

    def add(self, last: int, position: int) -> None:
        self.lasts.append(last)
        self.positions.append(position)

    def newest(self) -> Entry | None:
        return self._entry(len(self.lasts))

    def before(self, offset: int) -> Entry | None:
        """The last entry of a batch that ends before that relative offset."""
        return self._entry(bisect_left(self.lasts, offset))

    def at_position(self, position: int) -> Entry | None:
        """The last entry of a batch that begins there or before."""
        return self._entry(bisect_right(self.positions, position))

    def truncate(self, end: int) -> None:
        """Forget batches that end at that relative offset or later."""
        keep = bisect_left(self.lasts, end)
        del self.lasts[keep:]
        del self.positions[keep:]

    def encode(self) -> bytes:
        return b"".join(map(_ENTRY.pack, self.lasts, self.positions))

    @classmethod
    def parse(cls, data: bytes, size: int) -> Self:
        """The inverse of `encode`, for a segment of that size. Raises ValueError where no index of
        it can be so (`sanityCheck`, and that entries rise and lie within)."""
        if len(data) % _ENTRY.size:
            raise ValueError(f"{len(data)} bytes are no whole entries")
        index = cls()
        last, position = -1, 0
        for entry in _ENTRY.iter_unpack(data):
            if entry[0] <= last or entry[1] <= position:
                raise ValueError(f"entry {entry} follows {(last, position)}")
            last, position = entry
            index.add(last, position)
        if index.lasts and position >= size:
            raise ValueError(f"it reaches to position {position} of {size} bytes")
        return index

    def _entry(self, count: int) -> Entry | None:
        """The last one of so many."""
        return Entry(self.lasts[count - 1], self.positions[count - 1]) if count else None


# `<base>.timeindex`: the latest timestamp so far, each time that it has risen by the next entry of
# the offset index (Kafka's `TimeIndex`).
#
# An entry has a timestamp in ms, int64, and the last offset of the first batch that has it, less
# the segment's base offset, int32. Both rise strictly. A batch without a timestamp (-1) has no
# entry.


TIME_INDEX = ".timeindex"
_TIME_ENTRY = struct.Struct(">qi")


def _times() -> "array[int]":
    return array("q")


def _offsets() -> "array[int]":
    return array("i")


@dataclass(slots=True)
class TimeIndex:
    times: "array[int]" = field(default_factory=_times)
    lasts: "array[int]" = field(default_factory=_offsets)

    def add(self, time_ms: int, last: int) -> None:
        """Unless it is no later than those before."""
        if time_ms > self.newest()[0]:
            self.times.append(time_ms)
            self.lasts.append(last)

    def newest(self) -> tuple[int, int]:
        """The latest time, and its batch."""
        return (self.times[-1], self.lasts[-1]) if self.times else (NO_TIME, 0)

    def first_reaching(self, time_ms: int) -> int | None:
        """The batch of the first entry that has that time or a later one."""
        place = bisect_left(self.times, time_ms)
        return self.lasts[place] if place < len(self.times) else None

    def latest_before(self, end: int) -> int:
        """Of the entries of batches that end before that relative offset."""
        place = bisect_left(self.lasts, end)
        return self.times[place - 1] if place else NO_TIME

    def truncate(self, end: int) -> None:
        """Forget batches that end at that relative offset or later."""
        keep = bisect_left(self.lasts, end)
        del self.times[keep:]
        del self.lasts[keep:]

    def encode(self) -> bytes:
        return b"".join(map(_TIME_ENTRY.pack, self.times, self.lasts))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The inverse of `encode`. Raises ValueError where no index can be so (`sanityCheck`, and
        that entries rise)."""
        if len(data) % _TIME_ENTRY.size:
            raise ValueError(f"{len(data)} bytes are no whole entries")
        index = cls()
        time_ms, last = NO_TIME, -1
        for entry in _TIME_ENTRY.iter_unpack(data):
            if entry[0] <= time_ms or entry[1] <= last:
                raise ValueError(f"entry {entry} follows {(time_ms, last)}")
            time_ms, last = entry
            index.add(time_ms, last)
        return index


# Where batches of one segment of a partition's log are, by offset, time and position.
#
# Sparse, as Kafka's: two indexes with an entry each `index.interval.bytes`, and of the batches
# since the last entry every one. So what a log keeps in memory grows with its indexes, and not with
# its batches. Whoever looks up a batch begins to read at an entry, and finds it within an interval.
#
# That holds for times as well. At each entry of the offset index the time index says the latest
# time until then. So the first batch that is later than one of its entries, and the batch that the
# next entry names, lie between the same two entries of the offset index.


@dataclass(slots=True, kw_only=True)
class SegmentIndex:
    """Of the batches from `first` on, a position; offsets are relative to `base`."""

    base: Offset
    interval: int  # index.interval.bytes
    first: int = 0
    offsets: OffsetIndex = field(default_factory=OffsetIndex)
    times: TimeIndex = field(default_factory=TimeIndex)
    newest_ms: int = NO_TIME  # the latest time of all batches
    _newest_last: int = 0  # and the last offset of the first that has it
    # Of each batch since the newest entry, and of that one: its last offset, and its position.
    _lasts: "array[int]" = field(default_factory=_numbers)
    _positions: "array[int]" = field(default_factory=_numbers)

    def add(self, header: BatchHeader, position: int) -> None:
        """The next batch (`LogSegment.append`)."""
        last = header.last_offset - self.base
        self._heed_time(header, last)
        if self._positions and position - self._positions[0] > self.interval:
            self.offsets.add(last, position)
            self.times.add(self.newest_ms, self._newest_last)
            del self._lasts[:]
            del self._positions[:]
        self._lasts.append(last)
        self._positions.append(position)

    def complete(self) -> None:
        """The time index tells of all batches (`LogSegment.onBecomeInactiveSegment`)."""
        self.times.add(self.newest_ms, self._newest_last)

    def truncate(self, end: Offset) -> int:
        """Forget the batches from `end` on; where those begin of which `resume` has to be told
        again."""
        self.offsets.truncate(end - self.base)
        self.times.truncate(end - self.base)
        return self.tail()

    def tail(self) -> int:
        """Where the batch of the newest entry begins."""
        newest = self.offsets.newest()
        return self.first if newest is None else newest.position

    def resume(self, batches: Iterable[tuple[int, BatchHeader]]) -> None:
        """All batches from `tail` on, after the entries were read or cut."""
        self.newest_ms, self._newest_last = self.times.newest()
        self._lasts, self._positions = _numbers(), _numbers()
        for position, header in batches:
            last = header.last_offset - self.base
            self._heed_time(header, last)
            self._lasts.append(last)
            self._positions.append(position)

    # --- what is asked ---

    def exact(self, offset: Offset) -> int | None:
        """Where the batch begins that holds `offset`, if that is behind the newest entry's."""
        newest = self.offsets.newest()
        last = offset - self.base
        if newest is not None and last <= newest.last:
            return None
        return self._positions[bisect_left(self._lasts, last)]

    def entry_at(self, offset: Offset) -> Entry | None:
        """Of the batch that ends with `offset`, or of one before."""
        return self.offsets.before(offset - self.base + 1)

    def boundary(self, position: int) -> int | None:
        """The last batch that begins there or before, if it is behind the newest entry's."""
        if not self._positions or position < self._positions[0]:
            return None
        return self._positions[bisect_right(self._positions, position) - 1]

    def before_time(self, time_ms: int) -> Entry | None:
        """No batch before that entry's is as late; None: any may be the first one."""
        until = self.times.first_reaching(time_ms)
        return self.offsets.newest() if until is None else self.offsets.before(until)

    def latest_before(self, end: Offset) -> tuple[int, Entry | None]:
        """A time, and an entry: of the batches that end before `end` the latest time is that one,
        or one of those from the entry on."""
        until = end - self.base
        return self.times.latest_before(until), self.offsets.before(until)

    def _heed_time(self, header: BatchHeader, last: int) -> None:
        if header.max_timestamp_ms > self.newest_ms:
            self.newest_ms, self._newest_last = header.max_timestamp_ms, last
