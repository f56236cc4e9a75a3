"""`<base>.index`: where in a segment some of its batches stand (Kafka's `OffsetIndex`).

An entry has two int32: the last offset of a batch, less the segment's base offset, and the position
at which that batch begins. Both rise strictly.
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import field
from typing import NamedTuple, Self

from node.lazy_dataclass import dataclass

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
