"""Snapshots on a disk, and a log that begins with one."""

from itertools import pairwise

import pytest

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import DamagedBatch
from node.records.metadata import decode_metadata
from node.records.snapshot import SnapshotReader
from node.storage.disk import METADATA_DIRECTORY, CorruptLog, Disk
from node.storage.log import Log
from node.storage.snapshots import parse_snapshot_name, snapshot_name
from tests.support.batches import batch, snapshot
from tests.support.power import new_disk

ID = LogPosition(Epoch(2), Offset(4))
PATH = f"{METADATA_DIRECTORY}/00000000000000000004-0000000002.checkpoint"
SEGMENT_BYTES = 200  # two batches


def open_log(disk: Disk) -> Log:
    return Log.open(disk, METADATA_DIRECTORY, SEGMENT_BYTES)


def log_of(disk: Disk, *epochs: int) -> Log:
    """A batch of one record for each of `epochs`, flushed."""
    log = open_log(disk)
    for base, epoch in enumerate(epochs):
        log.append(batch(base, epoch))
    log.flush()
    return log


def keep(log: Log, id_: LogPosition, values: int = 3) -> None:
    log.write_snapshot(id_, 0, snapshot(id_, values))
    log.finish_snapshot(id_)


def names(disk: Disk) -> list[str]:
    return [name for name in disk.names(METADATA_DIRECTORY) if "." in name and "meta" not in name]


@pytest.mark.parametrize("pieces", [1, 7, 61, 100_000])
def test_its_bytes_may_come_in_pieces_cut_anywhere(pieces: int) -> None:
    whole = snapshot(ID, 4, size=200)
    reader = SnapshotReader(ID.epoch)
    found = []
    for start in range(0, len(whole), pieces):
        assert not reader.is_complete
        found += reader.feed(whole[start : start + pieces])
    assert reader.is_complete
    values = [decode_metadata(each.value) for it in found for each in it.records()]
    assert [int(getattr(it, "value", "")) for it in values] == [0, 1, 2, 3]
    assert reader.timestamp_ms == 1_700_000_000_004


def test_no_byte_may_be_another_and_no_piece_missing() -> None:
    whole = snapshot(ID, 2)
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        for bad in (bytes(damaged), whole[:at], whole[:at] + whole[at + 1 :]):
            reader = SnapshotReader(ID.epoch)
            try:
                reader.feed(bad)
            except ValueError:
                continue
            assert not reader.is_complete, at


def test_what_follows_a_footer_or_precedes_a_header_is_damage() -> None:
    whole = snapshot(ID, 1)
    for bad in (whole + whole, batch(0, 2) + whole):
        with pytest.raises(DamagedBatch):
            SnapshotReader(ID.epoch).feed(bad)
    with pytest.raises(DamagedBatch, match="epoch 2 stands where offset 0 of epoch 3"):
        SnapshotReader(Epoch(3)).feed(whole)


def test_its_name_tells_offset_and_epoch() -> None:
    assert snapshot_name(ID) == PATH.rpartition("/")[2]
    assert parse_snapshot_name(snapshot_name(ID)) == ID
    for name in ("4-2.checkpoint", snapshot_name(ID) + ".part", "bootstrap.checkpoint"):
        assert parse_snapshot_name(name) is None


def test_it_is_there_once_it_is_finished_and_what_was_begun_is_swept_away() -> None:
    disk = new_disk()
    log = log_of(disk, 1, 1, 2, 2)
    whole = snapshot(ID)
    log.write_snapshot(ID, 0, whole[:50])
    log.write_snapshot(ID, 50, whole[50:])
    assert not log.snapshots()
    assert open_log(disk).snapshots() == []
    assert not any(name.endswith(".part") for name in names(disk))
    log = open_log(disk)
    keep(log, ID)
    (found,) = log.snapshots()
    assert (found.id, found.size) == (ID, len(snapshot(ID, 3)))
    assert log.read_snapshot(ID, 10, 1 << 20) == snapshot(ID, 3)[10:]
    assert list(open_log(disk).snapshots()) == [found]


def test_a_log_is_cut_behind_one_in_whole_segments() -> None:
    disk = new_disk()
    log = log_of(disk, 1, 1, 1, 2, 2, 3)  # two in a segment
    older, newer = LogPosition(Epoch(1), Offset(1)), LogPosition(Epoch(2), Offset(5))
    keep(log, older)
    log.delete_before_snapshot(older)
    assert log.start() == 0  # its segment goes on
    keep(log, newer)
    log.delete_before_snapshot(newer)
    for each in (log, open_log(disk)):
        assert [it.base for it in each.segments] == [4]
        assert (each.start(), each.end()) == (5, LogPosition(Epoch(3), Offset(6)))
        assert [it.id for it in each.snapshots()] == [newer]
        assert each.end_of_epoch(Epoch(1)) == newer
        assert each.end_of_epoch(Epoch(2)) == newer
        assert each.end_of_epoch(Epoch(3)) == each.end()
    checkpoint = disk.read_all(f"{METADATA_DIRECTORY}/leader-epoch-checkpoint")
    assert checkpoint == b"0\n1\n3 5\n"


def test_one_that_is_newer_than_the_log_replaces_it() -> None:
    disk = new_disk()
    log = log_of(disk, 1, 1, 1, 1, 1)
    keep(log, ID)  # of epoch 2, which ends within ours of epoch 1; and the power goes
    again = open_log(disk)
    assert (again.start(), again.end()) == (4, ID)
    assert again.read(Offset(4), 100) == b""
    again.append(batch(4, 3))
    assert again.end() == LogPosition(Epoch(3), Offset(5))
    again.flush()
    assert open_log(disk).end() == LogPosition(Epoch(3), Offset(5))


def test_what_was_flushed_beyond_one_does_not_go_missing_in_silence() -> None:
    disk = new_disk()
    log_of(disk, 2, 2, 2, 2, 2, 2)
    log = open_log(disk)
    keep(log, ID)
    for segment in log.segments:
        disk.remove(segment.path)
    with pytest.raises(CorruptLog, match="flushed up to offset 6"):
        open_log(disk)


def test_a_damaged_one_is_told_of_and_not_loaded() -> None:
    disk = new_disk()
    log = log_of(disk, 1, 1, 2, 2)
    keep(log, LogPosition(Epoch(1), Offset(2)))
    keep(log, ID)
    sound = disk.read_all(PATH)
    for bad in (b"", sound[:-1], sound[:100] + b"x" + sound[101:]):
        disk.replace(PATH, bad)
        again = open_log(disk)
        assert [it.id.offset for it in again.snapshots()] == [2]
        assert [it.path for it in again.kept.damaged] == [PATH]
    keep(again, ID)  # in its place
    assert not open_log(disk).kept.damaged


def test_a_log_without_the_one_that_it_starts_at_is_refused() -> None:
    disk = new_disk()
    log = log_of(disk, 2, 2, 2, 2, 2, 2)
    keep(log, ID)
    log.delete_before_snapshot(ID)
    assert log.start() == 4
    before = disk.read_all(PATH)
    disk.replace(PATH, before[:-1])
    with pytest.raises(CorruptLog, match="begins at offset 4, and no sound snapshot"):
        open_log(disk)
    disk.remove(PATH)
    with pytest.raises(CorruptLog, match="no sound snapshot"):
        open_log(disk)


def test_older_ones_go_first() -> None:
    disk = new_disk()
    log = log_of(disk, *[1] * 9)
    ids = [LogPosition(Epoch(1), Offset(end)) for end in (2, 4, 6)]
    for id_ in ids:
        keep(log, id_)
    for older, newer in pairwise(ids):
        log.delete_before_snapshot(newer)
        assert older not in [it.id for it in log.snapshots()]
        assert log.start() == newer.offset
