"""The values in the batches of a partition: the first 8 bytes of each record's own bytes.

The `append` workload writes its values there. A compiled loop over the varints of all records of a
segment finds them, and returns spans: runs in which offset and value rise by one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Bytes, Ints
from checkers.disk.batches import HEADER_SIZE, Scan
from checkers.disk.fields import NONE, DamagedError, decompressed
from checkers.linearizability.compiled import inlined, loop

# The compiled loop over the records of many batches: a varint at a time.


NOT_SENT = -1  # a record of fewer than 8 bytes has no value
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
            value = np.int64(NOT_SENT)
            if length >= _VALUE_BYTES:
                value = np.int64(0)
                for byte in range(_VALUE_BYTES):
                    value = value << 8 | np.int64(data[here + byte])
            place = first[batch] + number
            offsets[place], values[place] = delta, value
            read[batch] += 1
            at = behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Runs of records; arrays of one length. `problem` names the first damaged batch."""

    offset: Ints
    value: Ints
    records: Ints
    epoch: Ints
    problem: str | None


def read_spans(segment: bytes, found: Scan) -> Spans:
    """The spans of all intact data batches of a segment, in order."""
    chosen = np.flatnonzero(found.crc_ok & ~found.control)
    told, starting = found.column("records")[chosen], found.column("base_offset")[chosen]
    data, starts, ends, problem = _blocks(segment, found, chosen)
    # A record takes some bytes: no more room is needed than a batch can hold.
    counts = np.clip(told, 0, ends - starts)
    first = np.concatenate([[0], np.cumsum(counts)])
    offsets, values = np.empty(first[-1], np.int64), np.empty(first[-1], np.int64)
    read = np.zeros(len(chosen), np.int64)
    if len(chosen):
        # Imported here, as most importers read no partitions, and a compiler takes its time.
        from checkers.disk.values import walk

        walk(data, starts, ends, counts, first, offsets, values, read)
    torn = np.flatnonzero(read != told)
    if problem is None and len(torn):
        problem = f"the records of the batch at offset {starting[torn[0]]} are torn"
    kept = np.arange(first[-1]) - np.repeat(first[:-1], counts) < np.repeat(read, counts)
    bases, epochs = np.repeat(starting, counts), np.repeat(found.column("epoch")[chosen], counts)
    return _spans((bases + offsets)[kept], values[kept], epochs[kept], problem)


def _blocks(
    segment: bytes, found: Scan, chosen: NDArray[np.intp]
) -> tuple[Bytes, Ints, Ints, str | None]:
    """Bytes with the uncompressed record blocks, and where each begins and ends."""
    starts, ends = found.positions[chosen] + HEADER_SIZE, (found.positions + found.sizes)[chosen]
    codecs = found.codecs[chosen]
    if not np.any(codecs != NONE):
        return np.frombuffer(segment, np.uint8), starts, ends, None
    blocks, problem = [], None
    for codec, start, end in zip(codecs.tolist(), starts.tolist(), ends.tolist(), strict=True):
        try:
            blocks.append(decompressed(codec, segment[start:end]))
        except DamagedError as error:
            blocks.append(b"")
            problem = problem or f"the batch at position {start - HEADER_SIZE}: {error}"
    sizes = np.array([len(block) for block in blocks], np.int64)
    ends = np.cumsum(sizes)
    return np.frombuffer(b"".join(blocks), np.uint8), ends - sizes, ends, problem


def _spans(offset: Ints, value: Ints, epoch: Ints, problem: str | None) -> Spans:
    """Cut wherever a span does not continue."""
    goes_on = (np.diff(offset) == 1) & (np.diff(value) == 1) & (np.diff(epoch) == 0)
    begins = np.flatnonzero(np.concatenate([[True], ~goes_on])) if len(offset) else offset
    return Spans(
        offset=offset[begins],
        value=value[begins],
        records=np.diff(np.append(begins, len(offset))),
        epoch=epoch[begins],
        problem=problem,
    )
