"""Acknowledged writes that are taken away must turn any run red: a real one, and copies of it."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.cli import main
from chaos.run.installation import prepare
from checkers.history.store import read_run
from tests.support.damage import (
    Write,
    acknowledged_writes,
    close_gap,
    cut_tail,
    drop_from_disks,
    drop_from_history,
    leave_gap,
)
from tests.support.load import GENTLY

ALL, MAJORITY = (1, 2, 3), (1, 2)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short real run, valid as it is."""
    prepare(print)
    out = tmp_path_factory.mktemp("recorded")
    words = ["run", "baseline", *GENTLY, "--duration", "3", "--seed", "5", "--out", str(out)]
    assert main(words) == 0
    return (out / "latest").resolve()


@pytest.fixture
def copy(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / recorded.name))


def accused(directory: Path) -> set[str]:
    """The checks that find a violation in it; the exit code says the same."""
    code = main(["check", str(directory)])
    verdict = json.loads((directory / "verdict.json").read_text())
    invalid = {row["check"] for row in verdict["results"] if row["verdict"] == "invalid"}
    assert (code == 1) is bool(invalid)
    return invalid


def the_write(directory: Path, *, read: bool) -> Write:
    """One from the middle of the run."""
    writes = [write for write in acknowledged_writes(read_run(directory)) if write.read is read]
    return writes[len(writes) // 2]


def test_nothing_is_found_in_an_untouched_copy(copy: Path) -> None:
    drop_from_history(copy, [])
    assert accused(copy) == set()


def test_a_write_that_was_read_is_missed_in_the_history(copy: Path) -> None:
    drop_from_history(copy, [the_write(copy, read=True)])
    assert accused(copy) == {"linearizable", "records-explained"}


def test_a_write_that_nobody_read_is_missed_in_the_history(copy: Path) -> None:
    """No read can tell: only the disks know of it."""
    drop_from_history(copy, [the_write(copy, read=False)])
    assert accused(copy) == {"records-explained"}


def test_every_tenth_write_is_missed_in_the_history(copy: Path) -> None:
    drop_from_history(copy, acknowledged_writes(read_run(copy))[::10])
    assert accused(copy) == {"linearizable", "records-explained"}


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(ALL, id="all", marks=pytest.mark.night),
        pytest.param(MAJORITY, id="majority"),
    ],
)
@pytest.mark.parametrize(
    ("change", "check"),
    [(cut_tail, "durability"), (close_gap, "durability"), (leave_gap, "log-contiguous")],
)
@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
def test_a_write_is_missed_on_the_disks(
    copy: Path,
    nodes: tuple[int, ...],
    change: Callable[[Path, int], None],
    check: str,
    read: bool,
) -> None:
    drop_from_disks(copy, the_write(copy, read=read), nodes, change)
    assert check in accused(copy)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (cut_tail, "Q18-durable-before-counted"),
        (close_gap, "Q5-log-matching"),
        (leave_gap, "log-contiguous"),
    ],
)
def test_a_write_is_missed_on_one_disk(
    copy: Path, change: Callable[[Path, int], None], check: str
) -> None:
    """A minority loses nothing that was acknowledged, but what its node vouched for."""
    drop_from_disks(copy, the_write(copy, read=True), (2,), change)
    found = accused(copy)
    assert check in found
    assert "durability" not in found
