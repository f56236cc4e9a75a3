"""Scanning and searching files larger than the window they are read through."""

import pytest

from chaos.cluster.sim.disk.disk import SimFile
from node.ids import Epoch, Offset
from node.records.batch import DamagedBatch, encode_batch
from node.storage.segment import find_batch, scan_batches
from tests.support.batches import batch
from tests.support.power import new_disk

WINDOW = 1024 * 1024


def file_of(*parts: bytes) -> SimFile:
    file = new_disk().open("x.log")
    for part in parts:
        file.append(part)
    return file


def large(base: int, size: int) -> bytes:
    return encode_batch(
        [(None, bytes(size))], base_offset=Offset(base), leader_epoch=Epoch(1), timestamp_ms=0
    )


def test_batches_across_and_beyond_a_window_are_scanned() -> None:
    parts = [batch(0, 1), large(1, WINDOW - 100), batch(2, 1), large(3, 3 * WINDOW), batch(4, 1)]
    found = list(scan_batches(file_of(*parts)))
    assert [header.base_offset for _, header in found] == [0, 1, 2, 3, 4]
    assert [position for position, _ in found] == [
        sum(len(part) for part in parts[:index]) for index in range(5)
    ]


@pytest.mark.parametrize("missing", [1, 100, WINDOW, 3 * WINDOW])
def test_a_large_batch_that_is_torn_is_seen_where_it_begins(missing: int) -> None:
    first = batch(0, 1)
    with pytest.raises(DamagedBatch) as damage:
        list(scan_batches(file_of(first, large(1, 3 * WINDOW + 500)[:-missing])))
    assert damage.value.torn
    assert damage.value.position == len(first)


@pytest.mark.parametrize("before", [0, 1, WINDOW - 22, WINDOW - 21, WINDOW - 1, WINDOW, 2 * WINDOW])
@pytest.mark.parametrize("filler", [b"\0", b"\2", b"\xff"])
def test_a_batch_is_found_wherever_it_stands(before: int, filler: bytes) -> None:
    file = file_of(filler * before, batch(7, 2), filler * 30)
    found = find_batch(file, 0)
    assert found is not None
    position, header = found
    assert (position, header.base_offset) == (before, 7)
    assert find_batch(file, before + 1) is None


def test_half_a_batch_is_none() -> None:
    assert find_batch(file_of(b"\0" * 50, batch(7, 2)[:-1]), 0) is None
    assert find_batch(file_of(b""), 0) is None
