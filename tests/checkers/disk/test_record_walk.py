"""Lengths and counts that batches tell of themselves: lies lead nowhere outside of their bytes."""

import struct

import crc32c
import numpy as np
import pytest

from checkers.disk.batches import scan
from checkers.disk.values import read_spans, walk
from tests.support.batches import timed_batch

HUGE = (2**31, 2**62, 2**63, 2**64 - 2, 2**64 - 1)


def varint(number: int) -> bytes:
    """The bits of `number`, as they are."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def lying(field: int, number: int) -> bytes:
    """A record whose size (0), key (3) or value (4) is so long; the others are short."""
    told = [varint(80), b"\0\0", varint(0), varint(2), varint(16)]
    told[field] = varint(number)
    return b"".join([*told, bytes(40)])


@pytest.mark.parametrize("number", HUGE)
@pytest.mark.parametrize("field", [0, 3, 4])
def test_a_length_that_no_batch_holds_ends_the_walk(field: int, number: int) -> None:
    data = np.frombuffer(lying(field, number), np.uint8)
    one, counts = np.zeros(1, np.int64), np.full(1, 5, np.int64)
    offsets, values, read = np.zeros(5, np.int64), np.zeros(5, np.int64), np.zeros(1, np.int64)
    walk(data, one, np.array([len(data)]), counts, one, offsets, values, read)
    # What is negative as 64 bits is the length of no key and of no value: there is none.
    assert read[0] <= (field > 0 and number >= 2**63)


@pytest.mark.parametrize("count", [-(2**31), -1, 3, 2**31 - 1])
def test_a_count_that_is_a_lie_is_a_torn_batch(count: int) -> None:
    sound = timed_batch(1, 2)
    covered = bytearray(sound[21:])
    covered[36:40] = struct.pack(">i", count)
    told = sound[:17] + struct.pack(">I", crc32c.crc32c(bytes(covered))) + bytes(covered)
    for segment, records in ((told, 2 if count > 2 else 0), (told + sound, None)):
        found = scan(segment)
        assert found.crc_ok.all()
        spans = read_spans(segment, found)
        assert spans.problem is not None
        assert "torn" in spans.problem
        if records is not None:
            assert spans.records.sum() == records
    assert read_spans(sound, scan(sound)).problem is None
