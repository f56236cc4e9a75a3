"""Is this checkout's simulator quicker than another's? They take turns: a busy machine hurts both.

    python -m tests.bench.paired OTHER [--pairs 5]

OTHER is the root of a checkout, as `git worktree add` makes one. A lap is a process of its own in
one of the two: runs of `power-off` and of some seeds of the swarm, from launch to verdict. It is
measured in virtual seconds a second of the process's own CPU time, user and system. The ratio of
each pair is told, and their median.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from chaos.launch import launch
from chaos.planning import Choices, plan_of, sparing_load
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM

HERE = Path(__file__).parents[2]
SEEDS = {"power-off": range(1, 3), "swarm": range(1, 9)}
DURATION_S = {"power-off": 30.0, "swarm": 8.0}

Paces = dict[str, float]  # of each scenario: virtual seconds a CPU second, the judge included


def lap() -> Paces:
    """Of the checkout that this process imported."""
    _run("baseline", [1], 2.0)  # what is imported and compiled once does not count
    return {name: _run(name, seeds, DURATION_S[name]) for name, seeds in SEEDS.items()}


def _run(scenario: str, seeds: Iterable[int], duration_s: float) -> float:
    concurrency, rate = sparing_load(scenario)
    virtual_s, began = 0.0, time.process_time()
    for seed in seeds:
        chosen = Choices(
            scenario=scenario,
            seed=seed,
            duration_s=duration_s,
            concurrency=concurrency,
            rate=rate,
            runtime=SIM,
        )
        with tempfile.TemporaryDirectory() as out:
            ran = launch(plan_of(chosen), Path(out), ConsoleProgress(quiet=True), page=False)
        virtual_s += ran.duration_s
    return virtual_s / (time.process_time() - began)


def lap_of(checkout: Path) -> Paces:
    """In a process of its own. This file is run in both, so both do the same."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, "--lap"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        check=True,
    )
    paces: Paces = json.loads(done.stdout)
    return paces


def compare(other: Path, pairs: int) -> None:
    ratios: dict[str, list[float]] = {name: [] for name in SEEDS}
    for number in range(1, pairs + 1):
        before, now = lap_of(other), lap_of(HERE)
        for name in SEEDS:
            ratio = now[name] / before[name]
            ratios[name].append(ratio)
            told = f"{before[name]:.1f} there, {now[name]:.1f} here, {ratio:.2f} times"
            print(f"pair {number}  {name:<10} {told}", flush=True)
    for name, found in ratios.items():
        told = ", ".join(f"{ratio:.2f}" for ratio in sorted(found))
        print(f"{name}: {statistics.median(found):.2f} times the virtual s/CPU s  ({told})")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired")
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--lap", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lap:
        print(json.dumps(lap()))
    elif arguments.other is None:
        parser.error("name the root of another checkout")
    else:
        compare(arguments.other.absolute(), arguments.pairs)


if __name__ == "__main__":
    main()
