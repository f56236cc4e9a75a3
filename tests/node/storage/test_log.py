"""The log on a real directory: what is written is read, cut and found again."""

from pathlib import Path

import pytest

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import DamagedBatch
from node.server.real_disk import RealDisk
from node.storage.log import Log
from tests.support.batches import batch

DIRECTORY = "__cluster_metadata-0"


def open_log(root: Path, segment_bytes: int = 1 << 30) -> Log:
    return Log.open(RealDisk(root), DIRECTORY, segment_bytes)


def fill(log: Log, *epochs: int, records: int = 2) -> list[bytes]:
    """Append a batch of `records` for each epoch given."""
    batches = []
    for epoch in epochs:
        batches.append(batch(log.end().offset, epoch, records, size=4))
        log.append(batches[-1])
    return batches


def position(epoch: int, offset: int) -> LogPosition:
    return LogPosition(Epoch(epoch), Offset(offset))


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / DIRECTORY).glob("*.log"))


def test_an_empty_log_begins_at_offset_0_of_epoch_0(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    assert log.end() == position(0, 0)
    assert log.end_of_epoch(Epoch(7)) == position(0, 0)
    assert log.read(Offset(0), 100) == b""
    assert names(tmp_path) == ["00000000000000000000.log"]
    text = (tmp_path / DIRECTORY / "partition.metadata").read_text()
    assert text == "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"


def test_reading_begins_with_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    one, two, three = fill(log, 1, 1, 4)
    assert log.end() == position(4, 6)
    assert log.read(Offset(0), 1 << 20) == one + two + three
    assert log.read(Offset(3), 1 << 20) == two + three
    assert log.read(Offset(2), 1) == two, "at least one batch"
    assert log.read(Offset(2), len(two)) == two
    assert log.read(Offset(2), len(two) + len(three) - 1) == two
    assert log.read(Offset(2), len(two) + len(three)) == two + three
    assert log.read(Offset(5), 1) == three
    assert log.read(Offset(6), 100) == b""


def test_an_epoch_ends_where_the_next_one_begins(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 2, 2, 5)
    assert log.end_of_epoch(Epoch(1)) == position(0, 0)
    assert log.end_of_epoch(Epoch(2)) == position(2, 4)
    assert log.end_of_epoch(Epoch(4)) == position(2, 4)
    assert log.end_of_epoch(Epoch(5)) == position(5, 6)
    assert log.end_of_epoch(Epoch(9)) == position(5, 6)
    checkpoint = (tmp_path / DIRECTORY / "leader-epoch-checkpoint").read_text()
    assert checkpoint == "0\n2\n2 0\n5 4\n"


def test_several_batches_are_appended_at_once(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    data = batch(0, 1, 3) + batch(3, 2, 1)
    log.append(data)
    assert log.end() == position(2, 4)
    assert log.read(Offset(0), 1 << 20) == data


def test_a_full_segment_is_followed_by_the_next(tmp_path: Path) -> None:
    size = len(batch(0, 1, 2, size=4))
    log = open_log(tmp_path, segment_bytes=2 * size)
    batches = fill(log, 1, 1, 1, 2)
    last_two = batch(8, 2, 2, size=4) + batch(10, 2, 2, size=4)
    log.append(last_two)
    assert names(tmp_path) == [f"{base:020d}.log" for base in (0, 4, 8)]
    assert log.read(Offset(0), 1 << 20) == batches[0] + batches[1], "within one segment"
    assert log.read(Offset(5), 1 << 20) == batches[2] + batches[3]
    log.flush()
    again = open_log(tmp_path, segment_bytes=2 * size)
    assert again.end() == position(2, 12)
    assert again.read(Offset(8), 1 << 20) == last_two


@pytest.mark.parametrize("end", [0, 2, 4, 6, 8, 10])
def test_truncation_leaves_a_log_that_ends_there(tmp_path: Path, end: int) -> None:
    size = len(batch(0, 1, 2, size=4))
    log = open_log(tmp_path, segment_bytes=2 * size)
    batches = fill(log, 1, 1, 2, 3, 3)
    log.truncate(Offset(end))
    epoch = {0: 0, 2: 1, 4: 1, 6: 2, 8: 3, 10: 3}[end]
    assert log.end() == position(epoch, end)
    for reopened in (log, open_log(tmp_path, segment_bytes=2 * size)):
        assert reopened.end() == position(epoch, end)
        kept = b"".join(reopened.read(Offset(at), 1) for at in range(0, end, 2))
        assert kept == b"".join(batches[: end // 2])
    fill(log, 9)
    assert open_log(tmp_path, segment_bytes=2 * size).end() == position(9, end + 2)


def test_a_batch_that_does_not_continue_the_log_breaks_an_invariant(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 3)
    with pytest.raises(AssertionError, match="offset 5 at log end 2"):
        log.append(batch(5, 3))
    with pytest.raises(AssertionError, match="epoch 2 after 3"):
        log.append(batch(2, 2))
    with pytest.raises(AssertionError, match="inside a batch"):
        log.truncate(Offset(1))


def test_damaged_bytes_are_not_appended_not_even_in_part(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    (one,) = fill(log, 1)
    with pytest.raises(DamagedBatch, match="CRC-32C"):
        log.append(batch(2, 2) + batch(3, 2)[:-1] + b"!")
    assert log.end() == position(1, 2)
    assert log.read(Offset(0), 1 << 20) == one
    assert open_log(tmp_path).end() == position(1, 2)
