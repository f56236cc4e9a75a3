"""Reading a file of batches from its first byte, sound or not, a window at a time."""

import re
from collections.abc import Iterator

from node.records.batch import HEADER_SIZE, BatchHeader, DamagedBatch, check_batch, read_header
from node.storage.disk import File

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
            # Cut short by the window and not by the file: again from here, with a wider one if
            # this batch alone did not fit.
            length = _WINDOW if at else length * 2
        position += at


def walk_batches(file: File, position: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of every batch from `position` to before `end`: nothing else of them is
    looked at.

    Raises DamagedBatch, with the position in the file, where one does not continue the one before.
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
