"""The runs that lies are told about: simulated, a seed each, judged as they should be.

They are made once for a version of the program, and kept below a directory that its commit and the
seed name: making all takes a minute or two.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from chaos.progress import ConsoleProgress
from chaos.run.judging import judge_directory
from chaos.run.launch import launch
from chaos.run.planning import Choices, plan_of
from chaos.scenario import SIM
from checkers.history.store import read_run
from checkers.verdict import Verdict
from tests.lies.altered import Altered
from tests.lies.derived import DERIVED


class UnfitError(Exception):
    """A run of which lies are told is sound before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A run of a scenario in virtual time."""

    scenario: str
    seed: int = 3
    duration_s: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    nodes: int | None = None


BASES: Mapping[str, Base] = {
    # quorums
    "baseline": Base(scenario="baseline", duration_s=6),
    "partition-leader": Base(scenario="partition-leader", seed=1, duration_s=8),
    "kill-leader": Base(scenario="kill-leader", duration_s=15),
    "power-off": Base(scenario="power-off", duration_s=10),
    "returning-minority": Base(scenario="returning-minority"),
    "flapping-follower": Base(scenario="flapping-follower"),
    "flapping-follower-4": Base(scenario="flapping-follower", seed=4),
    "snapshot-catch-up": Base(scenario="snapshot-catch-up"),
    "disk-loss": Base(scenario="disk-loss"),
    "disk-loss-majority": Base(scenario="disk-loss-majority"),
    "membership-churn": Base(scenario="membership-churn", duration_s=40),
    "changing-voters": Base(scenario="changing-voters"),
    "remove-leader": Base(scenario="remove-leader", seed=4),
    "swarm": Base(scenario="swarm", seed=11),
    "swarm-4146": Base(scenario="swarm", seed=4146, duration_s=4),  # snapshots hide voters
    "minority-of-two": Base(scenario="minority-of-two"),
    "estranged-follower": Base(scenario="estranged-follower"),
    "baseline-5": Base(scenario="baseline", seed=5, duration_s=6, nodes=5),
    "snapshot-catch-up-4": Base(scenario="snapshot-catch-up", seed=4),
    "membership-churn-4": Base(scenario="membership-churn", seed=4, duration_s=40),
    "remove-leader-5": Base(scenario="remove-leader", seed=5),
    # brokers
    "held-up-controller": Base(scenario="held-up-controller"),
    "held-up-controller-4": Base(scenario="held-up-controller", seed=4),
    "last-replica-standing": Base(scenario="last-replica-standing", seed=2, settings={"elr": "on"}),
    "power-off-brokers": Base(scenario="power-off-brokers"),
    "partition-brokers": Base(scenario="partition-brokers"),
    "isr-shrink-storm": Base(scenario="isr-shrink-storm"),
    "controlled-shutdown-roll": Base(scenario="controlled-shutdown-roll"),
    "stranded-leader": Base(scenario="stranded-leader"),
    "stranded-coordinator": Base(scenario="stranded-coordinator"),
    "undeleted-records": Base(scenario="undeleted-records"),
    "ghost-topic": Base(scenario="ghost-topic"),
    "slow-roll": Base(scenario="slow-roll"),
    "fenced-rejoin": Base(scenario="fenced-rejoin"),
    "fenced-last-leader": Base(scenario="fenced-last-leader"),
    "hwm-under-min-isr": Base(scenario="hwm-under-min-isr"),
    "hwm-under-min-isr-4": Base(scenario="hwm-under-min-isr", seed=4),
    "unclean-leader": Base(scenario="unclean-leader"),
    "unclean-leader-registered": Base(scenario="unclean-leader-registered"),
    "all-unclean": Base(scenario="all-unclean"),
    "unclean-recovery": Base(scenario="unclean-recovery"),
    "blackout-brokers": Base(scenario="blackout-brokers", seed=2),  # an ELR of two
    "lost-together": Base(scenario="lost-together"),
    "lost-together-4": Base(scenario="lost-together", seed=4),
    "swarm-brokers": Base(scenario="swarm-brokers", seed=5),
    # A snapshot hides the first states of partitions.
    "swarm-brokers-2246": Base(scenario="swarm-brokers", seed=2246, duration_s=12),
}


def recorded(place: Path, names: Sequence[str], jobs: int, tell: Callable[[str], None]) -> None:
    """Makes those of the bases that are not below `place` yet. Raises UnfitError."""
    needed = dict.fromkeys(DERIVED[name].of if name in DERIVED else name for name in names)
    missing = [name for name in needed if not (place / name).is_dir()]
    if missing:
        tell(f"recording {len(missing)} runs to tell lies of")
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            problems = list(pool.map(partial(_record, place), missing))
        for name, problem in zip(missing, problems, strict=True):
            if problem:
                raise UnfitError(f"{name}: {problem}")
    for name in names:
        if name in DERIVED and not (place / name).is_dir():
            _derive(place, name)


def _record(place: Path, name: str) -> str:
    """Why it is unfit; "" where it is sound."""
    base = BASES[name]
    plan = plan_of(
        Choices(
            scenario=base.scenario,
            seed=base.seed,
            nodes=base.nodes,
            duration_s=base.duration_s,
            settings=base.settings,
            runtime=SIM,
        )
    )
    ran = launch(plan, place / f".{name}", ConsoleProgress(quiet=True), page=False)
    if ran.judgement.verdict is not Verdict.VALID:
        return ran.judgement.sentence
    ran.directory.rename(place / name)
    return ""


def _derive(place: Path, name: str) -> None:
    derived = DERIVED[name]
    run = Altered(read_run(place / derived.of))
    derived.change(run)
    run.write(place / name)
    judgement = judge_directory(place / name, page=False)
    if judgement.verdict is not Verdict.VALID:
        raise UnfitError(f"{name}: {judgement.sentence}")
