"""How alike containers and virtual time are: one schedule in both, some times, by medians.

A candidacy that fails costs some 1.3 s and an epoch; one run in five has one, in both runtimes.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from tests.bench.row import Row
from tests.support.load import GENTLY
from tests.support.shape import Shape, recorded_shape, replayed_shape

SCENARIOS = ("partition-leader", "kill-leader")
RUNS = 3
REPLAYS = 9
TIMES = 2.0  # as long, or as short
EPOCHS = 1.0  # a failed candidacy, more or less
SHARE = 0.05
HICCUP_S = 0.5  # what a machine adds that is not ours alone


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as out:
        for scenario in SCENARIOS:
            recorded = [_run(scenario, Path(out) / f"{scenario}-{n}") for n in range(RUNS)]
            real = [recorded_shape(run) for run in recorded]
            replays = Path(out) / f"{scenario}-replayed"
            simulated = [replayed_shape(recorded[0], replays, seed=seed) for seed in range(REPLAYS)]
            yield from _compared(scenario, real, simulated)


def _run(scenario: str, out: Path) -> Path:
    line = ["run", scenario, "--seed", "11", "--duration", "12", *GENTLY, "--out", str(out)]
    subprocess.run([sys.executable, "-m", "chaos.cli", *line], capture_output=True, check=True)
    return out / "latest"


def _compared(scenario: str, real: Sequence[Shape], simulated: Sequence[Shape]) -> Iterator[Row]:
    for number, kind in enumerate(real[0].kinds):
        lives, plays = (
            median(shape.faults[number].unavailable_s for shape in side)
            for side in (real, simulated)
        )
        yield Row(
            name=f"{scenario}, {kind}: s without a success, containers and simulated",
            value=max(plays / (lives + HICCUP_S), (lives - HICCUP_S) / plays),
            unit="times apart",
            bar=TIMES,
            note=f"{lives:.2f} and {plays:.2f}",
        )
    for what, bar in (("epochs", EPOCHS), ("acknowledged_share", SHARE)):
        lives, plays = (
            median(getattr(shape, what) for shape in side) for side in (real, simulated)
        )
        yield Row(
            name=f"{scenario}: {what}, containers and simulated",
            value=abs(lives - plays),
            unit="apart",
            bar=bar,
            note=f"{lives:.2f} and {plays:.2f}",
        )
