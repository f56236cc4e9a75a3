"""Valid runs to damage: simulated ones made on the spot, and given ones of containers."""

import shutil
from pathlib import Path

from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import launch
from chaos.run.plan import RunPlan
from chaos.scenario import SIM
from chaos.scenarios import CONTROLLER_SCENARIOS
from checkers.verdict import Verdict
from workloads.workload import RegisterOptions

_SIMULATED = ("kill-leader", "partition-leader", "power-off", "blackout")
_LOAD = RegisterOptions(concurrency=5, rate=120)


class UnfitError(Exception):
    """A run that is to be damaged has to be valid before."""


def simulated(out: Path, count: int) -> list[Path]:
    """Small valid runs of our node, of several scenarios and as many seeds."""
    found: list[Path] = []
    seed = 0
    while len(found) < count:
        seed += 1
        if seed > 10 * count:
            raise UnfitError(f"{len(found)} of {seed} simulated runs are valid")
        scenario = CONTROLLER_SCENARIOS[_SIMULATED[seed % len(_SIMULATED)]]
        plan = RunPlan(
            scenario=scenario, seed=seed, nodes=3, duration_s=2.5, load=_LOAD, runtime=SIM
        )
        ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
        if ran.judgement.verdict is Verdict.VALID:
            found.append(ran.directory)
    return found


def required_valid(directory: Path) -> Path:
    """A run that somebody else made, of containers for instance. Raises UnfitError."""
    verdict = judge_directory(directory, page=False).verdict
    if verdict is not Verdict.VALID:
        raise UnfitError(f"{directory} is {verdict.word}: damage a valid run")
    return directory


def copy_of(base: Path, to: Path) -> Path:
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(base, to)
    return to
