"""`<base>.timeindex`: the latest timestamp so far, each time that it has risen by the next entry of
the offset index (Kafka's `TimeIndex`).

An entry has a timestamp in ms, int64, and the last offset of the first batch that has it, less the
segment's base offset, int32. Both rise strictly. A batch without a timestamp (-1) has no entry.
"""

import struct
from array import array
from bisect import bisect_left
from dataclasses import field
from typing import Self

from node.lazy_dataclass import dataclass
from node.records.batch import NO_TIME

TIME_INDEX = ".timeindex"
_ENTRY = struct.Struct(">qi")


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
        return b"".join(map(_ENTRY.pack, self.times, self.lasts))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """The inverse of `encode`. Raises ValueError where no index can be so (`sanityCheck`, and
        that entries rise)."""
        if len(data) % _ENTRY.size:
            raise ValueError(f"{len(data)} bytes are no whole entries")
        index = cls()
        time_ms, last = NO_TIME, -1
        for entry in _ENTRY.iter_unpack(data):
            if entry[0] <= time_ms or entry[1] <= last:
                raise ValueError(f"entry {entry} follows {(time_ms, last)}")
            time_ms, last = entry
            index.add(time_ms, last)
        return index
