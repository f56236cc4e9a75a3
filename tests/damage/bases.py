"""Valid runs to damage: simulated ones made on the spot, and recorded ones of containers."""

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

from chaos.launch import launch
from chaos.plan import RunPlan
from chaos.progress import ConsoleProgress
from chaos.scenario import SIM
from chaos.scenarios import CATALOGUE
from checkers.verdict import Verdict
from workloads.register_options import RegisterOptions

RECORDED = Path(__file__).parent / "recorded"  # packed directories of runs in containers
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
        scenario = CATALOGUE[_SIMULATED[seed % len(_SIMULATED)]]
        plan = RunPlan(
            scenario=scenario, seed=seed, nodes=3, duration_s=2.5, load=_LOAD, runtime=SIM
        )
        ran = launch(plan, out, ConsoleProgress(quiet=True), page=False)
        if ran.judgement.verdict is Verdict.VALID:
            found.append(ran.directory)
    return found


def recorded(out: Path) -> Iterator[Path]:
    """The runs of containers that lie beside this module, unpacked."""
    for path in sorted(RECORDED.glob("*.tar.xz")):
        directory = out / path.name.removesuffix(".tar.xz")
        with tarfile.open(path) as tar:
            tar.extractall(directory, filter="data")
        yield directory


def copy_of(base: Path, to: Path) -> Path:
    if to.exists():
        shutil.rmtree(to)
    shutil.copytree(base, to)
    return to
