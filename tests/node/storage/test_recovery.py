"""What is cut, what is rebuilt and what is refused when a log is opened.

The last of four batches was never flushed.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from node.ids import Epoch, LogPosition, Offset
from node.server.real_disk import RealDisk
from node.storage.disk import CorruptFile, CorruptLog
from node.storage.log import Log
from node.storage.recovery import FLUSHES_A_RISE
from tests.support.batches import batch

DIRECTORY = "__cluster_metadata-0"
FIRST = "00000000000000000000.log"
BATCHES = [batch(0, 1, 2), batch(2, 1, 3), batch(5, 4, 1), batch(6, 4, 2)]
WHOLE = b"".join(BATCHES)
UP_TO_LAST = len(WHOLE) - len(BATCHES[-1])
MARK = "flushed-00000000000000000006"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    log = reopen(tmp_path)
    log.append(WHOLE[:UP_TO_LAST])
    log.flush()
    log.close()
    reopen(tmp_path).append(BATCHES[-1])  # what a start finds is vouched for
    return tmp_path


def reopen(root: Path, segment_bytes: int = 1 << 30) -> Log:
    return Log.open(RealDisk(root), DIRECTORY, segment_bytes)


def segment(root: Path, name: str = FIRST) -> Path:
    return root / DIRECTORY / name


def checkpoint(root: Path) -> Path:
    return root / DIRECTORY / "leader-epoch-checkpoint"


def marks(root: Path) -> list[str]:
    return sorted(path.name for path in (root / DIRECTORY).glob("flushed-*"))


def flip(data: bytes, position: int, bit: int = 0) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def test_a_sound_log_is_found_as_it_was(root: Path) -> None:
    log = reopen(root)
    assert log.end() == LogPosition(Epoch(4), Offset(8))
    assert log.cut is None
    assert marks(root) == ["flushed-00000000000000000008"]
    assert log.read(Offset(0), 1 << 20) == WHOLE


@pytest.mark.parametrize(
    ("damage", "kept"),
    [
        pytest.param(lambda data: data[:-1], UP_TO_LAST, id="a byte short"),
        pytest.param(lambda data: data[: UP_TO_LAST + 60], UP_TO_LAST, id="within a header"),
        pytest.param(lambda data: data[: UP_TO_LAST + 1], UP_TO_LAST, id="one byte of a batch"),
        pytest.param(lambda data: data + bytes(2192), len(WHOLE), id="NUL tail"),
        pytest.param(lambda data: data + bytes(7), len(WHOLE), id="short NUL tail"),
        pytest.param(
            lambda data: data[: UP_TO_LAST + 70].ljust(8192, b"\0"), UP_TO_LAST, id="torn, then NUL"
        ),
        pytest.param(lambda data: flip(data, len(data) - 3), UP_TO_LAST, id="last batch's CRC"),
        pytest.param(lambda data: data + b"\x7f" * 500, len(WHOLE), id="garbage after the end"),
        pytest.param(
            lambda data: data + bytes(4096) + batch(8, 4), len(WHOLE), id="a hole, then a batch"
        ),
        pytest.param(
            lambda data: data[:UP_TO_LAST] + bytes(8) + data[UP_TO_LAST + 8 :],
            UP_TO_LAST,
            id="a hole that ends behind a base offset",
        ),
        pytest.param(lambda data: flip(data, UP_TO_LAST + 7), UP_TO_LAST, id="last base offset"),
        pytest.param(lambda data: flip(data, UP_TO_LAST + 15, 2), UP_TO_LAST, id="an older epoch"),
        pytest.param(lambda data: data + BATCHES[-1], len(WHOLE), id="the last batch twice"),
    ],
)
def test_a_torn_tail_is_cut(root: Path, damage: Callable[[bytes], bytes], kept: int) -> None:
    damaged = damage(WHOLE)
    segment(root).write_bytes(damaged)
    log = reopen(root)
    assert log.cut is not None
    assert (log.cut.size, log.cut.end) == (len(damaged) - kept, log.end().offset)
    assert (log.cut.segment, log.cut.flushed) == (f"{DIRECTORY}/{FIRST}", 6)
    assert segment(root).read_bytes() == WHOLE[:kept]
    log.append(batch(log.end().offset, 5))
    assert reopen(root).end() == LogPosition(Epoch(5), Offset(log.end().offset))


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: flip(data, len(BATCHES[0]) + 70), id="a record's bit"),
        pytest.param(lambda data: flip(data, len(BATCHES[0]) + 8, 6), id="a length's high bit"),
        pytest.param(lambda data: flip(data, len(BATCHES[0]) + 11), id="a length's low bit"),
        pytest.param(lambda data: flip(data, len(BATCHES[0]) + 16), id="the magic"),
        pytest.param(lambda data: bytes(100) + data[100:], id="zeros at the beginning"),
        pytest.param(lambda data: flip(data, 7), id="the first base offset"),
        pytest.param(lambda data: flip(data, len(BATCHES[0]) + 7), id="a base offset"),
        pytest.param(lambda data: flip(data, 15, 3), id="the first epoch, upwards"),
        pytest.param(lambda data: flip(data, UP_TO_LAST + 15, 3), id="the last epoch, upwards"),
        pytest.param(lambda data: flip(data, UP_TO_LAST - 3), id="the last that was flushed"),
        pytest.param(lambda data: data[: UP_TO_LAST - 1], id="a byte short of what was flushed"),
        pytest.param(lambda data: data[: len(BATCHES[0])], id="whole batches are missing"),
        pytest.param(lambda data: data[:0], id="all is missing"),
        pytest.param(lambda data: data[:UP_TO_LAST].replace(BATCHES[1], BATCHES[0]), id="twice"),
        pytest.param(lambda data: data[len(BATCHES[0]) :], id="without the first batch"),
    ],
)
def test_a_corrupt_middle_is_refused_and_left_as_it_is(
    root: Path, damage: Callable[[bytes], bytes]
) -> None:
    damaged = damage(WHOLE)
    segment(root).write_bytes(damaged)
    with pytest.raises(CorruptLog, match="try: kraft-node dump-log"):
        reopen(root)
    assert segment(root).read_bytes() == damaged


def test_a_refusal_says_where_and_what_follows(root: Path) -> None:
    segment(root).write_bytes(flip(WHOLE, len(BATCHES[0]) + 70))
    with pytest.raises(CorruptLog) as refusal:
        reopen(root)
    text = str(refusal.value)
    assert f"{DIRECTORY}/{FIRST} is damaged at byte {len(BATCHES[0])}: CRC-32C is" in text
    assert "records up to offset 2 are sound; the log was flushed up to offset 6" in text


def test_without_a_mark_only_a_sound_log_is_opened(root: Path) -> None:
    (root / DIRECTORY / MARK).unlink()
    segment(root).write_bytes(WHOLE[:-1])
    with pytest.raises(CorruptLog, match="there is no flushed-00000000000000000006 to tell"):
        reopen(root)
    assert marks(root) == [], "nothing was changed"
    segment(root).write_bytes(WHOLE)
    log = reopen(root)
    assert (log.end().offset, log.was_unmarked) == (8, True)
    assert marks(root) == ["flushed-00000000000000000008"]
    assert not reopen(root).was_unmarked


def test_of_several_marks_the_highest_counts_and_stays_alone(root: Path) -> None:
    """As two copies of one directory leave them."""
    for offset in (0, 2, 7):
        (root / DIRECTORY / f"flushed-{offset:020d}").touch()
    segment(root).write_bytes(WHOLE[:-1])
    with pytest.raises(CorruptLog, match="flushed up to offset 7"):
        reopen(root)
    segment(root).write_bytes(WHOLE)
    reopen(root)
    assert marks(root) == ["flushed-00000000000000000008"]


@pytest.mark.parametrize("end", [0, 2, 5, 6])
def test_a_mark_falls_with_the_log_and_rises_again(root: Path, end: int) -> None:
    log = reopen(root)
    log.truncate(Offset(end))
    at = [f"flushed-{end:020d}"]
    assert marks(root) == at
    for offset in range(end, end + FLUSHES_A_RISE - 1):
        log.append(batch(offset, 9))
        assert marks(root) == at, "not ahead of the flush"
        log.flush()
    risen = [f"flushed-{log.end().offset:020d}"]
    assert marks(root) in (at, risen), "the cut was a flush as well"
    log.append(batch(log.end().offset, 9))
    log.flush()
    assert marks(root) in (risen, [f"flushed-{log.end().offset:020d}"])
    assert reopen(root).end().offset == end + FLUSHES_A_RISE


def test_a_mark_rises_once_in_so_many_flushes(root: Path) -> None:
    log = reopen(root)
    found = []
    for offset in range(8, 8 + 2 * FLUSHES_A_RISE):
        log.append(batch(offset, 9))
        log.flush()
        found += marks(root)
    assert found == [
        f"flushed-{end:020d}"
        for end, times in (
            (8, FLUSHES_A_RISE - 1),
            (8 + FLUSHES_A_RISE, FLUSHES_A_RISE),
            (8 + 2 * FLUSHES_A_RISE, 1),
        )
        for _ in range(times)
    ]


@pytest.mark.parametrize(
    ("kept", "offset"), [(0, 0), (len(BATCHES[0]), 2), (len(BATCHES[0]) + len(BATCHES[1]), 5)]
)
def test_an_older_mark_vouches_for_less(root: Path, kept: int, offset: int) -> None:
    """The newest was not durable yet: what it vouched for cannot be told from a torn tail."""
    (root / DIRECTORY / MARK).rename(root / DIRECTORY / f"flushed-{offset:020d}")
    segment(root).write_bytes(WHOLE[:kept] + bytes(100) + WHOLE[kept + 100 :])
    assert reopen(root).end().offset == offset


@pytest.mark.parametrize("content", [None, b"", b"0\n", b"garbage", b"0\n5\n1 0\n", b"\xff\xfe"])
def test_an_unreadable_epoch_checkpoint_is_rebuilt(root: Path, content: bytes | None) -> None:
    if content is None:
        checkpoint(root).unlink()
    else:
        checkpoint(root).write_bytes(content)
    assert reopen(root).end_of_epoch(Epoch(3)) == LogPosition(Epoch(1), Offset(5))
    assert checkpoint(root).read_bytes() == b"0\n2\n1 0\n4 5\n"


def test_epochs_above_the_end_are_dropped(root: Path) -> None:
    checkpoint(root).write_bytes(b"0\n3\n1 0\n4 5\n7 8\n")
    assert reopen(root).end() == LogPosition(Epoch(4), Offset(8))
    assert checkpoint(root).read_bytes() == b"0\n2\n1 0\n4 5\n"


def test_an_epoch_whose_only_batch_was_torn_off_is_dropped(root: Path) -> None:
    log = reopen(root)
    log.append(batch(8, 6))
    segment(root).write_bytes(WHOLE + batch(8, 6)[:10])
    assert reopen(root).end() == LogPosition(Epoch(4), Offset(8))
    assert checkpoint(root).read_bytes() == b"0\n2\n1 0\n4 5\n"


def test_epochs_that_contradict_the_batches_are_refused(root: Path) -> None:
    checkpoint(root).write_bytes(b"0\n2\n1 0\n3 5\n")
    with pytest.raises(CorruptLog, match=r"checkpoint: 1 from 0, 3 from 5\n  batches: 1 from 0, 4"):
        reopen(root)


def test_a_log_whose_segments_were_removed_is_refused(root: Path) -> None:
    segment(root).unlink()
    with pytest.raises(CorruptLog, match=r"knows of epoch 4, .* to offset 6: the log was removed"):
        reopen(root)


def test_a_foreign_topic_id_is_refused(root: Path) -> None:
    (root / DIRECTORY / "partition.metadata").write_text("version: 0\ntopic_id: other\n")
    with pytest.raises(CorruptFile, match=r"partition\.metadata does not hold"):
        reopen(root)


class TestSegments:
    """Damage in a log of four segments of one batch each."""

    NAMES = tuple(f"{base:020d}.log" for base in (0, 2, 5, 6))

    @pytest.fixture
    def rolled(self, tmp_path: Path) -> Path:
        log = reopen(tmp_path, segment_bytes=1)
        log.append(WHOLE[:UP_TO_LAST])
        log.flush()
        log.append(BATCHES[-1])
        assert len(log.segments) == 4
        return tmp_path

    def test_only_the_last_may_be_torn(self, rolled: Path) -> None:
        segment(rolled, self.NAMES[2]).write_bytes(BATCHES[2][:-1])
        with pytest.raises(CorruptLog, match="later segments follow"):
            reopen(rolled)

    def test_the_last_may_be_torn(self, rolled: Path) -> None:
        segment(rolled, self.NAMES[3]).write_bytes(BATCHES[3][:-1])
        log = reopen(rolled)
        assert log.end() == LogPosition(Epoch(4), Offset(6))
        assert log.cut is not None
        assert log.cut.size == len(BATCHES[3]) - 1

    def test_a_missing_one_is_refused(self, rolled: Path) -> None:
        segment(rolled, self.NAMES[1]).unlink()
        with pytest.raises(CorruptLog, match="ends at offset 2 before it: a segment is missing"):
            reopen(rolled)

    def test_swapped_ones_are_refused(self, rolled: Path) -> None:
        segment(rolled, self.NAMES[1]).write_bytes(BATCHES[2])
        segment(rolled, self.NAMES[2]).write_bytes(BATCHES[1])
        with pytest.raises(CorruptLog, match="offset 5 stands where offset 2"):
            reopen(rolled)

    def test_other_files_are_none_of_its_business(self, rolled: Path) -> None:
        for name in ("0.log", "00000000000000000009.index", "00000000000000000002.log.deleted"):
            segment(rolled, name).write_bytes(b"?")
        assert reopen(rolled).end() == LogPosition(Epoch(4), Offset(8))
