"""The compiled loop over the records of many batches: a varint at a time."""

import numpy as np

from checkers.array_types import Bytes, Ints
from checkers.linearizability.compiled import inlined, loop

NOBODYS = -1  # a record of fewer than 8 bytes has no value
_VALUE_BYTES = 8


@inlined
def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A zig-zag number and the position behind it; a position behind the end if there is none."""
    value, shift = np.int64(0), 0
    while at < end and shift < 64:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return int((value >> 1) ^ -(value & 1)), at
        shift += 7
    return 0, end + 1


@loop
def walk(
    data: Bytes,
    starts: Ints,
    ends: Ints,
    counts: Ints,
    first: Ints,
    offsets: Ints,
    values: Ints,
    read: Ints,
) -> None:
    """Offset (from the base) and value of each record; `read` is how many records of a batch are
    complete."""
    for batch in range(len(starts)):
        at, end = starts[batch], ends[batch]
        for number in range(counts[batch]):
            size, at = _varint(data, at, end)
            # Never add lengths that a file gives: the sums wrap around.
            if size < 0 or size > end - at:
                break
            behind = at + size
            _, here = _varint(data, at + 1, behind)  # attributes, then the timestamp
            delta, here = _varint(data, here, behind)
            key, here = _varint(data, here, behind)
            if max(key, 0) > behind - here:
                break
            length, here = _varint(data, here + max(key, 0), behind)
            if max(length, 0) > behind - here:
                break
            value = np.int64(NOBODYS)
            if length >= _VALUE_BYTES:
                value = np.int64(0)
                for byte in range(_VALUE_BYTES):
                    value = value << 8 | np.int64(data[here + byte])
            place = first[batch] + number
            offsets[place], values[place] = delta, value
            read[batch] += 1
            at = behind
