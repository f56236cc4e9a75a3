"""Whole runs, as a user makes them, each in a process of its own."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.row import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a run left: `info` is run.json, `statistics` those of verdict.json."""

    wall_s: float
    verdict: str
    info: Any
    statistics: Any


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as out:
        yield from _baseline(Path(out))
        yield from _partition(Path(out))
    yield Row(name="make chaos", value=_make_chaos(), unit="s", bar=60, note="all is there")


def _baseline(out: Path) -> Iterator[Row]:
    told = _run(out, "baseline", "--duration", "15")
    timings = told.info["timings_s"]
    yield Row(name="3 nodes: all processes answer", value=timings["create"], unit="s", bar=3)
    yield Row(
        name="3 nodes: first acknowledged write",
        value=timings["create"] + timings["first_write"],
        unit="s",
        bar=6,
    )
    yield Row(
        name="register: 20 processes, recorded",
        value=told.statistics["ok_per_s"],
        unit="ops/s",
        bar=1000,
        better="more",
        note=f"{told.verdict}, p99 {told.statistics['latency_p99_ms']:.1f} ms",
    )


def _partition(out: Path) -> Iterator[Row]:
    told = _run(out, "partition-leader", "--duration", "30")
    yield Row(
        name="partition-leader, 30 s of faults, in all",
        value=told.wall_s,
        unit="s",
        bar=45,
        note=told.verdict,
    )


def _run(out: Path, scenario: str, *flags: str) -> Told:
    directory = out / scenario
    command = [sys.executable, "-m", "chaos.cli", "run", scenario, "--out", str(directory)]
    began = time.monotonic()
    subprocess.run([*command, *flags, "--json"], capture_output=True, check=False)
    wall_s = time.monotonic() - began
    run = directory / "latest"
    verdict = json.loads((run / "verdict.json").read_text())
    return Told(
        wall_s=wall_s,
        verdict=verdict["verdict"],
        info=json.loads((run / "run.json").read_text()),
        statistics=verdict["statistics"],
    )


def _make_chaos() -> float:
    began = time.monotonic()
    subprocess.run(["make", "chaos"], capture_output=True, check=True)
    return time.monotonic() - began
