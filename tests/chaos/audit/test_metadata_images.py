"""Every committed metadata record is asked for once, and each that is another one is told."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from chaos.labs.audit.one_cut import NOTHING, committed_records
from tests.support.log_files import config_batch, leader_change_batch, log_directory

SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=6)  # records of each batch


def batches_of(sizes: list[int], *, epoch: int = 1, value: int = 0) -> list[bytes]:
    """Values are unique; another `value` makes every record another one."""
    found, base = [leader_change_batch(0, epoch, 1)], 1
    for size in sizes:
        pairs = [(f"key-{base + number}", value + base + number) for number in range(size)]
        found.append(config_batch(base, epoch, *pairs))
        base += size
    return found


@given(SIZES, st.data())
def test_records_that_went_missing_below_the_committed_end_are_told_one_by_one(
    sizes: list[int], data: st.DataObject
) -> None:
    end = 1 + sum(sizes)
    committed = data.draw(st.integers(1, end), label="committed")
    kept = data.draw(st.integers(0, len(sizes)), label="batches that are there")
    left = 1 + sum(sizes[:kept])
    with TemporaryDirectory() as name:
        said, now = Path(name, "said"), Path(name, "now")
        log_directory(said, 1, batches_of(sizes))
        log_directory(now, 1, batches_of(sizes[:kept]))
        count, *each = committed_records(said, now, committed)
    missing = range(min(left, committed), committed)
    assert count.broken == bool(missing)
    assert count.acknowledged == f"all {committed}"
    assert [one.question for one in each] == [f"metadata record {number}" for number in missing]
    assert all(one.broken and one.answered == NOTHING for one in each)


@given(SIZES, st.sampled_from(({"value": 1000}, {"epoch": 2})))
def test_other_records_at_the_same_offsets_are_others(
    sizes: list[int], other: dict[str, int]
) -> None:
    end = 1 + sum(sizes)
    with TemporaryDirectory() as name:
        said, now = Path(name, "said"), Path(name, "now")
        log_directory(said, 1, batches_of(sizes))
        log_directory(now, 1, batches_of(sizes, **other))
        told = [one for one in committed_records(said, now, end)[1:] if one.broken]
    first = 0 if "epoch" in other else 1  # the leader change has no value
    assert len(told) == end - first
    assert "Config key-1 interval.ms 1" in told[1 - first].acknowledged


def test_the_newest_log_is_asked_whoever_has_it(tmp_path: Path) -> None:
    said, now = tmp_path / "said", tmp_path / "now"
    for node in (1, 2, 3):
        log_directory(said, node, batches_of([1, 1]))
    log_directory(now, 1, batches_of([1, 1]))
    log_directory(now, 2, batches_of([1]))
    log_directory(now, 3, [*batches_of([1, 1]), leader_change_batch(3, 2, 3)])
    assert not any(answer.changed for answer in committed_records(said, now, 3))
    shutil.rmtree(now / "node-3")
    shutil.rmtree(now / "node-1")
    assert any(answer.broken for answer in committed_records(said, now, 3))


def test_a_disk_without_a_log_has_kept_nothing(tmp_path: Path) -> None:
    log_directory(tmp_path / "said", 1, batches_of([2]))
    (tmp_path / "now").mkdir()
    answers = committed_records(tmp_path / "said", tmp_path / "now", 3)
    assert [answer.broken for answer in answers] == [True] * 4


def test_what_nobody_has_is_not_there(tmp_path: Path) -> None:
    log_directory(tmp_path / "said", 1, batches_of([2]))
    log_directory(tmp_path / "now", 1, batches_of([2]))
    count, *each = committed_records(tmp_path / "said", tmp_path / "now", 5)
    assert (count.acknowledged, count.answered) == ("all 5", "3 of 5")
    assert [one.question for one in each] == ["metadata record 3", "metadata record 4"]


def test_where_nobody_led_nothing_was_promised(tmp_path: Path) -> None:
    log_directory(tmp_path / "said", 1, batches_of([2]))
    log_directory(tmp_path / "now", 1, batches_of([]))
    assert committed_records(tmp_path / "said", tmp_path / "now", 0) == []
