"""Is this checkout's simulator quicker than another's? They take turns: a busy machine hurts both.

    python -m tests.bench.paired OTHER [--pairs 5]

OTHER is the root of a checkout, as `git worktree add` makes one. In each of the two a process of
its own runs `power-off` and some seeds of the swarm, from launch to verdict, and the two change
places after every run, for a machine's pace changes from minute to minute. Measured are virtual
seconds a second of CPU time, user and system, of the process and of those that it ended. What is
imported and compiled once does not count: both begin with runs that nobody measures. A seed may
draw another run in the other checkout, so runs are not compared one by one, but all of a scenario
together: that ratio is told of each pair, and their median.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.launch import launch
from chaos.planning import Choices, plan_of, sparing_load
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM

HERE = Path(__file__).parents[2]
SEEDS = {"power-off": range(1, 3), "swarm": range(1, 9)}
DURATION_S = {"power-off": 30.0, "swarm": 8.0}


@dataclass(slots=True)
class Spent:
    virtual_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def pace(self) -> float:
        return self.virtual_s / self.cpu_s


def serve() -> None:
    """Of the checkout that this process imported: a run for each line of scenario and seed."""
    for line in sys.stdin:
        scenario, seed = line.split()
        print(json.dumps(_run(scenario, int(seed), DURATION_S[scenario])), flush=True)


def _run(scenario: str, seed: int, duration_s: float) -> tuple[float, float]:
    """Virtual seconds, and seconds of CPU time."""
    concurrency, rate = sparing_load(scenario)
    chosen = Choices(
        scenario=scenario,
        seed=seed,
        duration_s=duration_s,
        concurrency=concurrency,
        rate=rate,
        runtime=SIM,
    )
    began = _cpu_s()
    with tempfile.TemporaryDirectory() as out:
        ran = launch(plan_of(chosen), Path(out), ConsoleProgress(quiet=True), page=False)
    return ran.duration_s, _cpu_s() - began


def _cpu_s() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


class Lane:
    """A process in one of the checkouts. This file is run in both, so both do the same."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, scenario: str, seed: int) -> tuple[float, float]:
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        print(scenario, seed, file=asked, flush=True)
        virtual_s, cpu_s = json.loads(told.readline())
        return virtual_s, cpu_s


@contextmanager
def lane(checkout: Path) -> Iterator[Lane]:
    with subprocess.Popen(
        [sys.executable, "-P", __file__, "--serve"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Lane(process)


def pair(there: Lane, here: Lane, scenario: str) -> tuple[Spent, Spent]:
    """All seeds of a scenario, each in one checkout and then in the other, in turns who begins."""
    spent = (Spent(), Spent())
    for seed in SEEDS[scenario]:
        turns = list(zip((there, here), spent, strict=True))
        for each, sums in turns if seed % 2 else reversed(turns):
            virtual_s, cpu_s = each.run(scenario, seed)
            sums.virtual_s += virtual_s
            sums.cpu_s += cpu_s
    return spent


def compare(other: Path, pairs: int) -> None:
    ratios: dict[str, list[float]] = {name: [] for name in SEEDS}
    with lane(other) as there, lane(HERE) as here:
        for name, seeds in SEEDS.items():
            for each in (there, here):
                each.run(name, seeds[0])
        for number in range(1, pairs + 1):
            for name in SEEDS:
                before, now = pair(there, here, name)
                ratio = now.pace / before.pace
                ratios[name].append(ratio)
                told = f"{before.pace:.1f} there, {now.pace:.1f} here, {ratio:.2f} times"
                print(f"pair {number}  {name:<10} {told}", flush=True)
    for name, found in ratios.items():
        told = ", ".join(f"{ratio:.2f}" for ratio in sorted(found))
        print(f"{name}: {statistics.median(found):.2f} times the virtual s/CPU s  ({told})")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired")
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
    elif arguments.other is None:
        parser.error("name the root of another checkout")
    else:
        compare(arguments.other.absolute(), arguments.pairs)


if __name__ == "__main__":
    main()
