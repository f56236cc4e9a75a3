"""One segment of the metadata log: a file of batches, and an index of all of them in memory.
Segments of partitions are in `partition_segment`.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import field

from node.ids import LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    DamagedBatch,
    check_batch,
    read_header,
    split_batches,
)
from node.storage.disk import File

# Reading a file of batches from its first byte, sound or not, a window at a time.


_WINDOW = 1024 * 1024
_HEADERS_WINDOW = 8 * 1024
# What any batch header looks like: offset below 2^56, length not negative, magic 2, and the high
# byte of the attributes 0. A look-ahead, so that matches may overlap.
_HEADER = re.compile(rb"(?=\x00.{7}[\x00-\x7f].{7}\x02.{4}\x00)", re.DOTALL)
_HEADER_REACH = 22


def scan_batches(file: File, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of every batch from `position` on, each checked whole.

    Raises DamagedBatch, with the position in the file, at the first that is not sound.
    """
    size = file.size()
    length = _WINDOW
    while position < size:
        window = file.read(position, length)
        at = 0
        try:
            while at < len(window):
                header = check_batch(window, at)
                yield position + at, header
                at += header.size
            length = _WINDOW
        except DamagedBatch as damage:
            more = position + len(window) < size
            if not (damage.torn and more):
                raise DamagedBatch(position + at, damage.reason, torn=damage.torn) from None
            # The window, and not the file, ended within the batch: read from here again, with a
            # wider window if this batch alone did not fit.
            length = _WINDOW if at else length * 2
        position += at


def walk_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of every batch from `position` to before `end`; only headers are checked.

    Raises DamagedBatch, with the position in the file, if one does not continue the one before.
    """
    start, window = position, b""
    expected = -1
    while position < end:
        if position + HEADER_SIZE > start + len(window):
            start, window = position, file.read(position, _HEADERS_WINDOW)
        try:
            header = read_header(window, position - start)
        except DamagedBatch as damage:
            raise DamagedBatch(position, damage.reason) from None
        if position + header.size > end or expected not in (-1, header.base_offset):
            raise DamagedBatch(position, f"no batch at offset {expected} begins and ends here")
        yield position, header
        position, expected = position + header.size, header.next_offset


def find_batch(file: File, start: int) -> tuple[int, BatchHeader] | None:
    """The first whole, sound batch at `start` or anywhere after it, or None if there is none."""
    size = file.size()
    while start < size:
        window = file.read(start, _WINDOW + _HEADER_REACH)
        for match in _HEADER.finditer(window):
            found = _batch_at(file, start + match.start(), size)
            if found is not None:
                return start + match.start(), found
        start += _WINDOW
    return None


def _batch_at(file: File, position: int, size: int) -> BatchHeader | None:
    length = int.from_bytes(file.read(position + 8, 4), "big") + 12
    if position + length > size:
        return None
    try:
        return check_batch(file.read(position, length))
    except DamagedBatch:
        return None


SUFFIX = ".log"
_DIGITS = 20


def segment_name(base: Offset) -> str:
    return f"{base:0{_DIGITS}d}{SUFFIX}"


def parse_segment_name(name: str) -> Offset | None:
    """The base offset in a segment's file name, or None if it is no segment's."""
    digits = name.removesuffix(SUFFIX)
    if len(digits) != _DIGITS or not digits.isdecimal() or name == digits:
        return None
    return Offset(int(digits))


def _numbers() -> "array[int]":
    return array("q")


@dataclass(slots=True, kw_only=True)
class Segment:
    """A file of whole, contiguous batches, the first of which has offset `base`."""

    base: Offset
    path: str
    file: File
    size: int = 0
    # Of each batch: its base offset and its position in the file, both strictly rising.
    offsets: "array[int]" = field(default_factory=_numbers)
    positions: "array[int]" = field(default_factory=_numbers)

    def add(self, base_offset: Offset, size: int) -> None:
        """A batch of `size` bytes was found or is about to be written at the end."""
        self.offsets.append(base_offset)
        self.positions.append(self.size)
        self.size += size

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one; `offset` is in here."""
        start, end = self.range(offset, max_bytes)
        return self.file.read(start, end - start)

    def range(self, offset: Offset, max_bytes: int) -> tuple[int, int]:
        """The range of these batches in the file."""
        first = self.place(offset)
        start = self.positions[first]
        # The last batch boundary that is within reach; the end of the file is one as well.
        limit = start + max_bytes
        if limit >= self.size:
            return start, self.size
        after = max(bisect_right(self.positions, limit) - 1, first + 1)
        return start, self.positions[after] if after < len(self.positions) else self.size

    def place(self, offset: Offset) -> int:
        """The index of the batch that holds `offset`, among those of this segment."""
        return bisect_right(self.offsets, offset) - 1

    def truncate(self, end: Offset) -> None:
        """Remove, durably, the batches from offset `end` on, which must be the base of one."""
        keep = bisect_right(self.offsets, end) - 1
        assert self.offsets[keep] == end, f"{end} is inside a batch"
        self.size = self.positions[keep]
        del self.offsets[keep:]
        del self.positions[keep:]
        self.file.truncate(self.size)
        # At once: if it were left to a later flush, a power cut could bring back pages of the old
        # tail among those of a new one.
        self.file.flush()


def accept_batches(data: bytes, last: LogPosition) -> list[BatchHeader]:
    """The headers of `data`: whole, sound batches, which continue a log that ends at `last`, and
    one another.

    Raises DamagedBatch on other bytes; offsets and epochs that do not continue are a broken
    invariant.
    """
    headers = []
    end, epoch = last.offset, last.epoch
    for batch in split_batches(data):
        header = batch.header
        assert header.base_offset == end, f"offset {header.base_offset} at log end {end}"
        assert header.leader_epoch >= epoch, f"epoch {header.leader_epoch} after {epoch}"
        headers.append(header)
        end, epoch = header.next_offset, header.leader_epoch
    return headers
