"""The values in the batches of a partition: the first 8 bytes of each record's own bytes.

The `append` workload writes its values there. A compiled loop over the varints of all records of a
segment finds them, and returns spans: runs in which offset and value rise by one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.array_types import Bytes, Ints
from checkers.disk.batches import HEADER_SIZE, Scan
from checkers.disk.compression import NONE, decompressed
from checkers.disk.fields import DamagedError


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
        from checkers.disk.record_walk import walk

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
