"""Parts of segments that are sent later: whatever becomes of their files, never other bytes."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.cluster.sim.disk.disk import SimDisk
from chaos.cluster.sim.disk.filesystem import FileSystem
from node.effects import SegmentLimits
from node.ids import Offset
from node.storage.partition_log import PartitionLog
from node.storage.partition_segment import MAX_HELD, FileSlice, HeldFile
from tests.support.batches import batch

TOPIC = UUID(int=7)
LIMITS = SegmentLimits(size=300, ms=1 << 40, index_interval=4096)


def new_log(disk: SimDisk | None = None, batches: int = 8) -> PartitionLog:
    """In segments of a few batches each, a record each."""
    disk = disk or SimDisk(FileSystem())
    disk.make_directory("t-0")
    log = PartitionLog.create(disk, "t-0", TOPIC, LIMITS, [])
    for _ in range(batches):
        append(log)
    return log


def append(log: PartitionLog, epoch: int = 0) -> None:
    log.append(batch(log.next_offset, epoch))


def sliced(log: PartitionLog, offset: int) -> tuple[FileSlice, bytes]:
    """And what is in it now."""
    what = Offset(offset), 1000, log.next_offset
    return log.slice_below(*what), log.read_below(*what)


def test_it_is_what_is_read() -> None:
    log = new_log()
    for offset in range(8):
        piece, data = sliced(log, offset)
        assert len(piece) == len(data) > 0
        assert piece.read(0, len(data)) == data
        assert piece.read(10, 20) == data[10:30]


def test_appending_and_rolling_change_nothing() -> None:
    log = new_log()
    piece, data = sliced(log, 7)
    for _ in range(20):
        append(log)
    assert len(log.segments) > 3
    assert piece.read(0, len(data)) == data


def test_what_is_deleted_is_read_until_it_is_sent() -> None:
    log = new_log(batches=12)
    pieces = [sliced(log, offset) for offset in (0, 1, 11)]
    log.raise_start(Offset(12))
    assert len(log.segments) == 1
    assert HeldFile.count == 2  # both slices of the first segment share a file
    log.restart(Offset(0))  # under the same names
    for _ in range(12):
        append(log, epoch=5)
    for piece, data in pieces:
        assert piece.read(0, len(data)) == data
    del piece, pieces
    assert HeldFile.count == 0


def test_of_more_deleted_files_than_are_held_nothing_is_sent() -> None:
    logs = [new_log() for _ in range(MAX_HELD + 1)]
    pieces = [sliced(log, 0) for log in logs]
    for log in logs:
        log.remove()
    assert HeldFile.count == MAX_HELD
    assert [piece.read(0, len(data)) for piece, data in pieces] == [
        *[data for _, data in pieces[:-1]],
        None,
    ]
    del pieces
    assert HeldFile.count == 0


@pytest.mark.parametrize("end", [6, 7])
def test_what_is_cut_off_is_never_sent_with_what_follows(end: int) -> None:
    log = new_log()
    kept, data = sliced(log, 0)
    cut, _ = sliced(log, 7)
    log.truncate(Offset(end))
    later, _ = sliced(log, end - 1)
    for _ in range(8):
        append(log, epoch=3)
    assert cut.read(0, 1) is None
    assert kept.read(0, len(data)) == data
    assert later.read(0, len(later)) is not None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "slice", "cut", "delete", "anew"]), st.integers(0, 30)
        ),
        max_size=40,
    )
)
def test_whatever_is_done_a_slice_is_what_it_was_or_nothing(steps: list[tuple[str, int]]) -> None:
    log = new_log(batches=1)
    taken: list[tuple[FileSlice, bytes]] = []
    epoch = 0
    for what, number in steps:
        at = Offset(log.start + number % (log.next_offset - log.start + 1))
        match what:
            case "append":
                append(log, epoch)
            case "slice" if at < log.next_offset:
                taken.append(sliced(log, at))
            case "cut":
                log.truncate(at)
                epoch += 1
            case "delete":
                log.raise_start(at)
            case "anew":
                log.restart(at)
                epoch += 1
            case _:
                pass
        assert HeldFile.count <= MAX_HELD
        for piece, data in taken:
            assert piece.read(0, len(data)) in (data, None)
    del taken[:]
