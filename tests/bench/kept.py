"""What longer commands left behind: the last soak, the last test run."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.bench.row import Row
from tests.soak import KEPT

TEST_SECONDS = Path("runs/test-seconds.json")


def measure() -> Iterator[Row]:
    yield from soak()
    yield from test_run()


def soak() -> Iterator[Row]:
    if not KEPT.exists():
        yield Row(name="soak: runs not valid", value=None, unit="runs", bar=0, note="run make soak")
        return
    runs = json.loads(KEPT.read_text())
    bad = [run for run in runs if run["verdict"] != "valid"]
    yield Row(
        name="soak: runs not valid", value=len(bad), unit="runs", bar=0, note=f"of {len(runs)}"
    )


def test_run() -> Iterator[Row]:
    if not TEST_SECONDS.exists():
        yield Row(name="make test", value=None, unit="s", bar=600, note="run make test")
        return
    kept = json.loads(TEST_SECONDS.read_text())
    yield Row(name="make test", value=kept["all"], unit="s", bar=600, note="the last run of it")
    yield Row(name="make test: unit and core", value=kept["unit"], unit="s", bar=60)
