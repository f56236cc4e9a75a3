"""Is this checkout's simulator quicker than another's? They take turns: a busy machine hurts both.

    python -m tests.bench.paired OTHER [SCENARIO ...] [--pairs 5]

OTHER is the root of an older checkout, as `git worktree add` makes one. In each of the two a
process of its own runs some seeds of each scenario, from launch to verdict, and they change
places after every run, for a machine's pace changes from minute to minute. Measured are
virtual seconds a second of CPU time, user and system, of the process and of those that it ended.
What is imported and compiled once does not count: both begin with runs that nobody measures.

Runs leave their files in memory: a file system that looks for a free inode among thousands that
were just deleted takes twenty times as long to make a file, and a tenth of such a run is files.

Both do the same: what the older one draws from a seed (cluster, load, conditions, faults) is handed
to both as a plan, since the newer one would draw more. From there on each goes its own way, and
judges by its own checks, so runs are not compared one by one, but all of a scenario together: that
ratio is told of each pair, and their median.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.progress import ConsoleProgress
from chaos.run.launch import launch
from chaos.run.plan_files import plan_as_json, plan_from
from chaos.run.planning import Choices, plan_of, sparing_load
from chaos.scenario import SIM

HERE = Path(__file__).parents[2]
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # None: wherever others go
SEEDS = {
    "power-off": range(1, 3),
    "swarm": range(1, 9),
    "swarm-brokers": range(1, 5),
    "isr-shrink-storm": range(1, 3),
}
DURATION_S = {"power-off": 30.0, "swarm": 8.0, "swarm-brokers": 10.0, "isr-shrink-storm": 20.0}

Plan = dict[str, Any]  # as JSON


@dataclass(slots=True)
class Spent:
    virtual_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def pace(self) -> float:
        return self.virtual_s / self.cpu_s


def serve() -> None:
    """Of the checkout that this process imported: a plan for each line of scenario and seed, and
    for each plan its run."""
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(_draw(*asked) if isinstance(asked, list) else _run(asked)), flush=True)


def _draw(scenario: str, seed: int) -> Plan:
    concurrency, rate = sparing_load(scenario)
    chosen = Choices(
        scenario=scenario,
        seed=seed,
        duration_s=DURATION_S[scenario],
        concurrency=concurrency,
        rate=rate,
        runtime=SIM,
    )
    return plan_as_json(plan_of(chosen).settled())


def _run(plan: Plan) -> tuple[float, float]:
    """Virtual seconds, and seconds of CPU time."""
    began = _cpu_s()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as out:
        ran = launch(plan_from(plan), Path(out), ConsoleProgress(quiet=True), page=False)
    return ran.duration_s, _cpu_s() - began


def _cpu_s() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


class Lane:
    """A process in one of the checkouts. This file is run in both, so both do the same."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def draw(self, scenario: str, seed: int) -> Plan:
        plan: Plan = self._ask([scenario, seed])
        return plan

    def run(self, plan: Plan) -> tuple[float, float]:
        virtual_s, cpu_s = self._ask(plan)
        return virtual_s, cpu_s

    def _ask(self, what: object) -> Any:
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        print(json.dumps(what), file=asked, flush=True)
        return json.loads(told.readline())


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


def as_here(plan: Plan) -> Plan:
    """An older checkout's plan as this one says the same: what that one did not know of is off."""
    windows = [{"victim": row.get("target"), **row} for row in plan["schedule"]["windows"]]
    return {
        **plan,
        "conditions": {"late_flushes": 0.0, **plan["conditions"]},
        "schedule": {**plan["schedule"], "windows": windows},
    }


def pair(there: Lane, here: Lane, plans: Sequence[Plan]) -> tuple[Spent, Spent]:
    """Each plan in one checkout and then in the other, in turns who begins."""
    spent = (Spent(), Spent())
    for number, plan in enumerate(plans):
        turns = list(zip((there, here), (plan, as_here(plan)), spent, strict=True))
        for each, its_plan, sums in reversed(turns) if number % 2 else turns:
            virtual_s, cpu_s = each.run(its_plan)
            sums.virtual_s += virtual_s
            sums.cpu_s += cpu_s
    return spent


def compare(other: Path, scenarios: Sequence[str], pairs: int) -> None:
    ratios: dict[str, list[float]] = {name: [] for name in scenarios}
    with lane(other) as there, lane(HERE) as here:
        plans = {name: [there.draw(name, seed) for seed in SEEDS[name]] for name in scenarios}
        for drawn in plans.values():
            pair(there, here, drawn[:1])
        for number in range(1, pairs + 1):
            for name, drawn in plans.items():
                before, now = pair(there, here, drawn)
                ratio = now.pace / before.pace
                ratios[name].append(ratio)
                told = f"{before.pace:.1f} there, {now.pace:.1f} here, {ratio:.2f} times"
                print(f"pair {number}  {name:<16} {told}", flush=True)
    print(
        "both ran the plans that the one there drew; late flushes, which it may not know, are off"
    )
    for name, found in ratios.items():
        told = ", ".join(f"{ratio:.2f}" for ratio in sorted(found))
        print(f"{name}: {statistics.median(found):.2f} times the virtual s/CPU s  ({told})")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.paired")
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="SCENARIO",
        default=["power-off", "swarm"],
        help=f"of {', '.join(SEEDS)}; at first those without brokers",
    )
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
    elif arguments.other is None:
        parser.error("name the root of another checkout")
    elif unknown := set(arguments.scenarios) - set(SEEDS):
        parser.error(f"no seeds for {', '.join(sorted(unknown))}; there are {', '.join(SEEDS)}")
    else:
        compare(arguments.other.absolute(), arguments.scenarios, arguments.pairs)


if __name__ == "__main__":
    main()
