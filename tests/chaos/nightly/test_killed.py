"""Whole nights in virtual time, killed and ended by signals; every run counts once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.nightly.night import LEDGER, last_night
from spark_reports.ledger import Night, read_nights

pytestmark = [pytest.mark.slow]

RUNS = 6  # the canary and each scenario: no fresh seed, of which some are void
DATE = "2026-01-06"
_WITHIN_S = 200
_CONFIG = """
[nightly]
runtime = "sim"
budget = "1h"
scenarios = ["baseline", "kill-leader", "partition-leader", "leader-relay", "flapping-follower"]
settings = [""]
canaries = 1
jobs = 2
duration_s = 4
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "kraft-chaos.toml"
    path.write_text(f"{_CONFIG}runs = {RUNS}\n")
    return path


def begun(out: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "chaos.cli", "nightly", "--out", str(out), *options]
    if "--resume" not in options:
        command += ["--date", DATE]  # it draws the seeds
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def wait_until(holds: Callable[[], bool]) -> None:
    late = time.monotonic() + _WITHIN_S
    while not holds():
        assert time.monotonic() < late
        time.sleep(0.05)  # between looks at the condition


def landed(out: Path) -> list[Path]:
    return sorted(out.glob("night-*/rows/*.json"))


def children_of(process: int) -> Iterator[int]:
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(words[1]) == process:
            yield int(status.parent.name)


def is_running(process: int) -> bool:
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return words[0] != "Z"


def the_night(out: Path) -> Night:
    (found,) = read_nights(out / LEDGER)
    assert found.problems == ()
    return found


def test_a_night_that_is_killed_goes_on_and_counts_each_run_once(
    tmp_path: Path, config: Path
) -> None:
    out = tmp_path / "nights ü"
    night = begun(out, "--config", str(config))
    wait_until(lambda: len(landed(out)) >= 2)
    workers = list(children_of(night.pid))
    night.kill()
    night.communicate()
    wait_until(lambda: not any(map(is_running, workers)))
    before = {path.name: path.read_bytes() for path in landed(out)}
    assert read_nights(out / LEDGER) == []
    resumed = begun(out, "--resume", "--json")
    said, complained = resumed.communicate(timeout=_WITHIN_S)
    assert resumed.returncode == 0, complained
    assert {path.name: path.read_bytes() for path in landed(out)}.items() >= before.items()
    rows = the_night(out).rows
    assert len(rows) == RUNS
    assert {row.key for row in rows} == {row["key"] for row in json.loads(said)}
    plans = last_night(out)
    expected = [slot.key(plans.name, plans.commit) for slot in plans.slots]
    assert {row.key for row in rows} >= set(expected[:RUNS])
    assert sum(row.is_canary for row in rows) == 1
    assert (out / f"night-{plans.name}" / "morning.html").exists()
    assert "the night can be trusted" in (out / f"night-{plans.name}" / "summary.md").read_text()


def test_a_night_that_is_asked_to_end_publishes_what_it_has(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "nights"
    night = begun(out, "--config", str(config))
    wait_until(lambda: len(landed(out)) >= 1)
    night.send_signal(signal.SIGTERM)
    said, complained = night.communicate(timeout=_WITHIN_S)
    assert "to go on: kraft-chaos nightly --resume --out" in complained
    first = the_night(out).rows
    assert 1 <= len(first) < RUNS
    assert f"{len(first)} run" in said
    resumed = begun(out, "--resume")
    _, complained = resumed.communicate(timeout=_WITHIN_S)
    assert resumed.returncode == 0, complained
    keys = [row.key for row in the_night(out).rows]
    assert len(set(keys)) == len(keys) == RUNS
    assert {row.key for row in first} <= set(keys)
