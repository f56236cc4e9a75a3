"""From a plan to a verdict: makes a directory, a world, a cluster in it, and a runner."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.cluster.interface import Cluster
from chaos.cluster.powers import Capturing
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.errors import OperatorError, UsageError
from chaos.interrupt import Interrupt, signals_to
from chaos.nemesis.abilities import lacking
from chaos.nemesis.fault import needs_of
from chaos.nemesis.script import Schedule, Window
from chaos.progress import ConsoleProgress
from chaos.run.plan import RunPlan
from chaos.run.planning import Choices, plan_of, require_reachable, runtime_of
from chaos.run.rundir import LATEST, new_run_directory, point_latest, run_name
from chaos.run.runner import Kept, Runner
from chaos.run.runtimes import World, let_go, why_lacking, world_of
from chaos.scenario import SIM, Scenario
from chaos.scenarios import SCENARIOS
from checkers.verdict import Judgement, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The results of a run."""

    judgement: Judgement
    directory: Path
    interrupted: bool
    kept: Kept | None = None  # the cluster of a failed run that stays as it was
    duration_s: float  # by the run's own clock


def perform(choices: Choices, out: Path, progress: ConsoleProgress) -> Ran:
    """Run the user's choices on a fresh cluster, to a verdict. Raises what runtimes and set-up
    raise."""
    runtime = runtime_of(
        choices.runtime, progress.tell, choices.target, falls_back=choices.falls_back
    )
    ran = launch(plan_of(replace(choices, runtime=runtime)), out, progress)
    _point_latest(ran.directory, progress)
    return ran


def _point_latest(directory: Path, progress: ConsoleProgress) -> None:
    """On a file system without links the run goes on without it."""
    try:
        point_latest(directory)
    except OSError as error:
        progress.tell(f"{directory.parent / LATEST} does not point at it: {error.strerror}")


def launch(plan: RunPlan, out: Path, progress: ConsoleProgress, *, page: bool = True) -> Ran:
    """Carry out a plan in a fresh directory under `out`. Raises what runtimes and set-up raise.

    Without `page` no HTML page is written.
    """
    require_reachable(plan.runtime, plan.client, plan.topic_client)  # of a replay too
    world = world_of(
        plan.runtime, seed=plan.seed, mutation=plan.mutation, conditions=plan.conditions
    )
    directory = _directory(out, plan.scenario, plan.seed)
    plan = replace(plan.settled(), cluster_name=f"{directory.name}-{os.getpid():x}")
    interrupt = Interrupt()
    progress.tell(
        f"{plan.scenario.name}, seed {plan.seed}, {counted(plan.nodes, 'node')}: "
        f"{plan.scenario.summary}"
    )
    progress.tell(f"  into {directory}")
    try:
        judgement, kept = world.run(_run(plan, directory, world, progress, interrupt, page=page))
    finally:
        progress.end()
        with suppress(OSError):
            directory.rmdir()  # nothing was started: it is still empty
    if account := world.account():
        progress.tell(account)
    return Ran(
        judgement=judgement,
        directory=directory,
        interrupted=interrupt.asked,
        kept=kept,
        duration_s=world.clock.now_ns() / 1e9,
    )


def name_of(plan: RunPlan) -> str:
    """The run id of a simulated run, which follows from its seed; the name under which a campaign
    keeps it."""
    world = world_of(SIM, seed=plan.seed, mutation="")
    return run_name(plan.scenario.name, plan.seed, world.clock.wall_ns())


async def _run(
    plan: RunPlan,
    directory: Path,
    world: World,
    progress: ConsoleProgress,
    interrupt: Interrupt,
    *,
    page: bool,
) -> tuple[Judgement, Kept | None]:
    with signals_to(interrupt, progress.tell):
        cluster = _cluster(plan, directory, world)
        plan = _possible(plan, cluster, progress)
        _require_powers(plan, cluster)
        if plan.pcap and isinstance(cluster, Capturing):
            cluster.require_capture()
        runner = Runner(
            plan=plan,
            cluster=cluster,
            directory=directory,
            clock=world.clock,
            syncs=world.syncs,
            progress=progress,
            interrupt=interrupt,
            page=page,
        )
        try:
            judgement = await runner.run()
        finally:
            if plan.may_stay:
                let_go(cluster)
        return judgement, runner.kept


def _cluster(plan: RunPlan, directory: Path, world: World) -> Cluster:
    try:
        return world.cluster(
            run_id=plan.cluster_name,
            nodes=plan.nodes,
            target=plan.target,
            settings=plan.target_settings,
            keep=plan.may_stay,
            directory=directory,
        )
    except SettingError as error:  # a value that no node accepts
        raise UsageError(f"{error}\n  try: kraft-node start --help") from error


def _directory(out: Path, scenario: Scenario, seed: int) -> Path:
    """By the wall clock of this machine, also for a simulated run: one seed is run every night."""
    try:
        return new_run_directory(out, scenario.name, seed, time.time_ns())
    except OSError as error:
        raise OperatorError(
            f"no run directory can be made in {out}: {error.strerror}\n"
            "  try: --out DIR, a directory that can be written to"
        ) from error


def _possible(plan: RunPlan, cluster: Cluster, progress: ConsoleProgress) -> RunPlan:
    """Drop drawn faults that this cluster cannot do, as long as some are left: the user did not ask
    for them by name."""
    drawn = plan.drawn()
    able = tuple(it for it in drawn.windows if not lacking(cluster, needs_of([it.fault])))
    if plan.scenario.trial is None or not able or len(able) == len(drawn.windows):
        return plan
    missing = " and ".join(lacking(cluster, plan.needs))
    progress.tell(f"  left out, since clusters here cannot {missing}: {_counted(drawn, able)}")
    return replace(plan, schedule=replace(drawn, windows=able))


def _counted(drawn: Schedule, able: Sequence[Window]) -> str:
    left = len(drawn.windows) - len(able)
    return f"{left} of {counted(len(drawn.windows), 'fault')}"


def _require_powers(plan: RunPlan, cluster: Cluster) -> None:
    """Refuse a scenario that cannot run here; it is never run as a weaker one."""
    missing = lacking(cluster, plan.needs)
    if missing and plan.file is not None:
        unable = [it.kind for it in plan.faults if lacking(cluster, needs_of([it]))]
        raise OperatorError(
            f"{', '.join(dict.fromkeys(unable))}: refused, since {plan.target} in {plan.runtime} "
            f"cannot {' or '.join(missing)}\n"
            f"  why not here: {why_lacking(cluster)}\n  try: kraft-chaos doctor\n"
            "  without it: other faults"
        )
    if missing:
        tellable = [name for name, each in SCENARIOS.items() if not lacking(cluster, each.needs)]
        raise OperatorError(
            f"{plan.scenario.name} is refused: it needs to {' and '.join(missing)}\n"
            f"  why not here: {why_lacking(cluster)}\n  try: kraft-chaos doctor\n"
            f"  without it: {', '.join(tellable)}"
        )
