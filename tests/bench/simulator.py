"""The simulator: its pace, what a campaign keeps in memory, how soon a failure is small.

The load is that of 5 clients at 10 operations/s each on 3 nodes, in runs as long as a campaign's.
Seconds are those of the process (CPU time), so a machine that others use too is not counted; that
it is slower then is. How fast its interpreter was meanwhile is a row of its own.
"""

import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from chaos.campaign.coverage import fingerprint
from chaos.campaign.shrinker import Shrinker
from chaos.progress import ConsoleProgress
from chaos.run import runner
from chaos.run.judging import judge_directory
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.run.planning import Choices, plan_of
from chaos.scenario import SIM
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.history.store import read_run
from checkers.verdict import Judgement, Verdict
from tests.bench.paired import SCRATCH
from tests.bench.row import Row
from tests.bench.shares import shares
from workloads.workload import RegisterOptions

LOAD = RegisterOptions(concurrency=5, rate=50.0)
DURATION_S = 60.0
PACED = 3
FASTER, GROWTH = 20.0, 1.1
RECORDS_A_SECOND, FASTER_WITH_BROKERS = 100.0, 10.0
SHRINK_S, FAULTS_LEFT, OPERATIONS_LEFT = 120.0, 3, 30
FEW_RUNS, MANY_RUNS = 5, 30
FAILURES = {"Q-ZOMBIE": "partition-leader", "Q-SAME-EPOCH": "kill-leader"}
SEEDS = range(20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What a run took, in CPU seconds."""

    virtual_s: float
    simulating_s: float
    judging_s: float

    @property
    def simulated(self) -> float:
        """Virtual seconds a second, without the judge."""
        return self.virtual_s / self.simulating_s

    @property
    def judged(self) -> float:
        return self.virtual_s / (self.simulating_s + self.judging_s)


def measure() -> Iterator[Row]:
    yield from paces()
    yield of_brokers()
    yield memory()
    for mutation, scenario in FAILURES.items():
        yield from shrinking(mutation, scenario)


def paces() -> Iterator[Row]:
    pace(plan("baseline", 5.0))  # what is imported and compiled once does not count
    found = {name: best_pace(plan(name)) for name in CONTROLLER_SCENARIOS}
    for name in ("partition-leader", "power-off"):
        yield _pace_row(name, found[name].simulated, FASTER, "not judged")
        yield _pace_row(name, found[name].judged, None, "judged")
    mean = sum(each.simulated for each in found.values()) / len(found)
    slowest = min(found, key=lambda name: found[name].simulated)
    note = f"not judged; slowest: {slowest}, {found[slowest].simulated:.1f}"
    yield _pace_row("mean over the catalogue", mean, FASTER, note)
    yield interpreter()
    yield from shares(lambda: pace(plan("power-off")), "simulator")


def of_brokers() -> Row:
    """Three brokers and a controller, two topics of three partitions."""
    storm = plan_of(
        Choices(
            scenario="isr-shrink-storm",
            seed=1,
            rate=RECORDS_A_SECOND,
            duration_s=DURATION_S,
            runtime=SIM,
            settings={"elr": "on"},
        )
    )
    pace(replace(storm, duration_s=5.0))
    return Row(
        name="simulator: 3 brokers and a controller",
        value=best_pace(storm).simulated,
        unit="virtual s/s",
        bar=FASTER_WITH_BROKERS,
        better="more",
        note=f"not judged; 6 partitions, {RECORDS_A_SECOND:g} records/s, faults; CPU seconds",
    )


def _pace_row(name: str, value: float, bar: float | None, note: str) -> Row:
    load = "3 nodes, 50 operations/s, faults; CPU seconds"
    return Row(
        name=f"simulator: {name}",
        value=value,
        unit="virtual s/s",
        bar=bar,
        better="more",
        note=f"{note}; {load}",
    )


def interpreter() -> Row:
    """What the machine allows: additions in a loop, the best of some tries."""
    return Row(
        name="simulator: the interpreter beside it",
        value=max(_additions_a_second() for _ in range(10)) / 1e6,
        unit="million/s",
        note="additions; CPU seconds",
    )


def _additions_a_second() -> float:
    turns, total = 1_000_000, 0
    began = time.process_time()
    for number in range(turns):
        total += number
    return turns / (time.process_time() - began)


def plan(scenario: str, duration_s: float = DURATION_S, *, seed: int = 1) -> RunPlan:
    return RunPlan(
        scenario=CONTROLLER_SCENARIOS[scenario],
        seed=seed,
        nodes=3,
        duration_s=duration_s,
        load=LOAD,
        runtime=SIM,
    )


def best_pace(plan: RunPlan) -> Pace:
    """Of some runs that are alike: what the others took longer is the machine's other work."""
    return max((pace(plan) for _ in range(PACED)), key=lambda each: each.simulated)


def pace(plan: RunPlan) -> Pace:
    began = time.process_time()
    with tempfile.TemporaryDirectory(dir=SCRATCH) as out, judging_clocked() as judging:
        ran = launch(plan, Path(out), ConsoleProgress(quiet=True), page=False)
        took = time.process_time() - began
    judged = sum(judging)
    return Pace(virtual_s=ran.duration_s, simulating_s=took - judged, judging_s=judged)


@contextmanager
def judging_clocked() -> Iterator[list[float]]:
    """Of each judgement within a run, its CPU seconds."""
    taken: list[float] = []

    def clocked(directory: Path, *, page: bool = True) -> Judgement:
        began = time.process_time()
        try:
            return judge_directory(directory, page=page)
        finally:
            taken.append(time.process_time() - began)

    with patch.object(runner, "judge_directory", clocked):
        yield taken


def memory() -> Row:
    """Runs in one process, as a campaign's worker makes them."""
    resident: dict[int, int] = {}
    names = ("partition-leader", "power-off", "kill-leader", "baseline")
    for number in range(1, MANY_RUNS + 1):
        pace(plan(names[number % len(names)], 5.0, seed=number))
        if number in (FEW_RUNS, MANY_RUNS):
            resident[number] = _resident_bytes()
    mib = {number: size / 2**20 for number, size in resident.items()}
    return Row(
        name="simulator: memory over a campaign",
        value=mib[MANY_RUNS] / mib[FEW_RUNS],
        unit="ratio",
        bar=GROWTH,
        note=f"{mib[FEW_RUNS]:.0f} MiB after {FEW_RUNS} runs, {mib[MANY_RUNS]:.0f} MiB after "
        f"{MANY_RUNS}",
    )


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def shrinking(mutation: str, scenario: str) -> Iterator[Row]:
    """From the first seed that shows the planted bug to the least that does."""
    name = f"shrink: {mutation}"
    with tempfile.TemporaryDirectory(dir=SCRATCH) as out:
        failing = _failing(mutation, scenario, Path(out))
        if failing is None:
            note = f"none of {len(SEEDS)} seeds shows it"
            yield Row(name=name, value=None, unit="s", bar=SHRINK_S, note=note)
            return
        plan, shrinker = failing
        began = time.process_time()
        assert shrinker.fails(plan), "a seed that failed fails again"
        was = shrinker.size
        shrinker.shrink()
        took, size = time.process_time() - began, shrinker.size
    note = f"CPU seconds; seed {plan.seed} of {scenario}, {shrinker.attempts} attempts; was {was}"
    yield Row(name=name, value=took, unit="s", bar=SHRINK_S, note=note)
    yield Row(name=name, value=size.faults, unit="faults", bar=FAULTS_LEFT, note=f"is {size}")
    yield Row(name=name, value=size.operations, unit="operations", bar=OPERATIONS_LEFT)


def _failing(mutation: str, scenario: str, out: Path) -> tuple[RunPlan, Shrinker] | None:
    """A run that fails, with who makes it smaller."""
    for seed in SEEDS:
        planted = replace(plan(scenario, seed=seed), mutation=mutation)
        ran = launch(planted, out, ConsoleProgress(quiet=True), page=False)
        wanted = fingerprint(ran.judgement, read_run(ran.directory))
        if wanted is not None and ran.judgement.verdict is Verdict.INVALID:
            shrinker = Shrinker(
                planted,
                wanted,
                within_s=SHRINK_S,
                tell=lambda _: None,
                scratch=out,
                clock=time.process_time,
            )
            return planted, shrinker
    return None
