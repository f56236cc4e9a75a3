"""The indexes of a segment: by offset, by time, and the two together.

This section is `<base>.index`: the positions of some of its batches (Kafka's `OffsetIndex`). An
entry has two int32: the last offset of a batch, less the segment's base offset, and the position at
which that batch begins. Both rise strictly.
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
# The largest last offset of a segment, relative to its base (`canConvertToRelativeOffset`).
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
        """Remove batches that end at that relative offset or later."""
        keep = bisect_left(self.lasts, end)
        del self.lasts[keep:]
        del self.positions[keep:]

    def encode(self) -> bytes:
        return b"".join(map(_ENTRY.pack, self.lasts, self.positions))

    @classmethod
    def parse(cls, data: bytes, size: int) -> Self:
        """The inverse of `encode`, for a segment of that size. Raises ValueError if no index of it
        can be like that (`sanityCheck`, and that entries rise and lie within).
        """
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
        """The last of the first `count` entries."""
        return Entry(self.lasts[count - 1], self.positions[count - 1]) if count else None


# `<base>.timeindex`: the maximum timestamp, for each entry of the offset index at which it has
# risen (Kafka's `TimeIndex`).
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
        """Add an entry, unless it is no later than those before."""
        if time_ms > self.newest()[0]:
            self.times.append(time_ms)
            self.lasts.append(last)

    def newest(self) -> tuple[int, int]:
        """The maximum timestamp, and its batch."""
        return (self.times[-1], self.lasts[-1]) if self.times else (NO_TIME, 0)

    def first_reaching(self, time_ms: int) -> int | None:
        """The batch of the first entry with that timestamp or a later one."""
        place = bisect_left(self.times, time_ms)
        return self.lasts[place] if place < len(self.times) else None

    def latest_before(self, end: int) -> int:
        """The maximum timestamp in the entries of batches that end before that relative offset."""
        place = bisect_left(self.lasts, end)
        return self.times[place - 1] if place else NO_TIME

    def truncate(self, end: int) -> None:
        """Remove batches that end at that relative offset or later."""
        keep = bisect_left(self.lasts, end)
        del self.times[keep:]
        del self.lasts[keep:]

    def encode(self) -> bytes:
        return b"".join(map(_TIME_ENTRY.pack, self.times, self.lasts))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The inverse of `encode`. Raises ValueError if no index can be like that (`sanityCheck`,
        and that entries rise).
        """
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


# Both indexes of one segment of a partition's log: its batches by offset, time and position.
#
# Sparse, as Kafka's: two indexes with an entry each `index.interval.bytes`, and every batch since
# the last entry. So a log's memory grows with its indexes, and not with its batches. A lookup
# begins to read at an entry, and finds the batch within an interval.
#
# That holds for times as well. At each entry of the offset index the time index has the maximum
# timestamp until then. So the first batch that is later than one of its entries, and the batch that
# the next entry names, lie between the same two entries of the offset index.


@dataclass(slots=True, kw_only=True)
class SegmentIndex:
    """Covers the batches from position `first` on; offsets are relative to `base`."""

    base: Offset
    interval: int  # index.interval.bytes
    first: int = 0
    offsets: OffsetIndex = field(default_factory=OffsetIndex)
    times: TimeIndex = field(default_factory=TimeIndex)
    newest_ms: int = NO_TIME  # the maximum timestamp of all batches
    _newest_last: int = 0  # and the last offset of the first that has it
    # Of the newest entry's batch and each one since: its last offset, and its position.
    _lasts: "array[int]" = field(default_factory=_numbers)
    _positions: "array[int]" = field(default_factory=_numbers)

    def add(self, header: BatchHeader, position: int) -> None:
        """Add the next batch (`LogSegment.append`)."""
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
        """Make the time index cover all batches (`LogSegment.onBecomeInactiveSegment`)."""
        self.times.add(self.newest_ms, self._newest_last)

    def truncate(self, end: Offset) -> int:
        """Remove the batches from `end` on; returns from where `resume` has to be given batches
        again.
        """
        self.offsets.truncate(end - self.base)
        self.times.truncate(end - self.base)
        return self.tail()

    def tail(self) -> int:
        """The position of the newest entry's batch."""
        newest = self.offsets.newest()
        return self.first if newest is None else newest.position

    def resume(self, batches: Iterable[tuple[int, BatchHeader]]) -> None:
        """All batches from `tail` on, after the entries were read or truncated."""
        self.newest_ms, self._newest_last = self.times.newest()
        self._lasts, self._positions = _numbers(), _numbers()
        for position, header in batches:
            last = header.last_offset - self.base
            self._heed_time(header, last)
            self._lasts.append(last)
            self._positions.append(position)

    # --- what is asked ---

    def exact(self, offset: Offset) -> int | None:
        """The position of the batch that holds `offset`, if that is behind the newest entry's."""
        newest = self.offsets.newest()
        last = offset - self.base
        if newest is not None and last <= newest.last:
            return None
        return self._positions[bisect_left(self._lasts, last)]

    def entry_at(self, offset: Offset) -> Entry | None:
        """The entry of the batch that ends with `offset`, or of one before."""
        return self.offsets.before(offset - self.base + 1)

    def boundary(self, position: int) -> int | None:
        """The last batch that begins there or before, if it is behind the newest entry's."""
        if not self._positions or position < self._positions[0]:
            return None
        return self._positions[bisect_right(self._positions, position) - 1]

    def before_time(self, time_ms: int) -> Entry | None:
        """An entry before which no batch is as late; None: any may be the first one."""
        until = self.times.first_reaching(time_ms)
        return self.offsets.newest() if until is None else self.offsets.before(until)

    def latest_before(self, end: Offset) -> tuple[int, Entry | None]:
        """A timestamp and an entry: the maximum of the batches that end before `end` is that
        timestamp, or is in a batch from the entry on.
        """
        until = end - self.base
        return self.times.latest_before(until), self.offsets.before(until)

    def _heed_time(self, header: BatchHeader, last: int) -> None:
        if header.max_timestamp_ms > self.newest_ms:
            self.newest_ms, self._newest_last = header.max_timestamp_ms, last
