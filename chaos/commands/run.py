"""`kraft-chaos run`: one scenario, from nothing to a verdict."""

import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.canaries import LYING_FSYNC
from chaos.cluster.interface import Cluster
from chaos.commands.errors import OperatorError, UsageError
from chaos.commands.show import judgement_json, judgement_text
from chaos.interrupt import Interrupt, signals_to
from chaos.nemesis.faults import lacking
from chaos.progress import ConsoleProgress
from chaos.rundir import LATEST, new_run_directory, point_latest
from chaos.runner import Runner, RunPlan
from chaos.runtimes import DOCKER, RUNTIMES, SIM, World, let_go, why_lacking, world_of
from chaos.scenario import Scenario
from chaos.scenarios import CATALOGUE
from checkers.verdict import Judgement
from workloads.register import RegisterOptions

# Clients without a limit are as quick as the cluster; a simulated one is quick in its own time,
# and each of its operations costs ours.
_UNASKED_RATES = {SIM: 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """The command line of `run`, checked."""

    scenario: str
    seed: int | None
    nodes: int
    duration_s: float | None
    concurrency: int
    rate: float
    out: Path
    keep: bool
    as_json: bool
    target: str
    runtime: str  # "": whichever there is
    mutation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a run left."""

    judgement: Judgement
    directory: Path
    interrupted: bool


def run(arguments: RunArguments) -> int:
    """Run it; the exit code is the verdict's."""
    ran = perform(arguments, ConsoleProgress())
    show = judgement_json if arguments.as_json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    return ran.judgement.verdict.exit_code


def perform(arguments: RunArguments, progress: ConsoleProgress) -> Ran:
    """One scenario on a fresh cluster, to its verdict. Raises what runtimes and set-up raise."""
    scenario = scenario_of(arguments.scenario)
    arguments = replace(arguments, runtime=runtime_of(arguments.runtime, progress.tell))
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    duration_s = arguments.duration_s or scenario.default_duration_s
    world = world_of(arguments.runtime, seed=seed, mutation=arguments.mutation)
    directory = _directory(arguments.out, scenario, seed, world)
    plan = RunPlan(
        scenario=scenario,
        seed=seed,
        nodes=arguments.nodes,
        duration_s=duration_s,
        load=RegisterOptions(
            concurrency=arguments.concurrency,
            rate=arguments.rate or scenario.rate or _UNASKED_RATES.get(arguments.runtime, 0.0),
            live_keys=scenario.live_keys,
        ),
        target=arguments.target,
        runtime=arguments.runtime,
        keep=arguments.keep,
        mutation=arguments.mutation,
        cluster_name=f"{directory.name}-{os.getpid():x}",
        command=_again(arguments, scenario, seed, duration_s),
    )
    interrupt = Interrupt()
    progress.tell(f"{scenario.name}, seed {seed}, {plan.nodes} nodes: {scenario.story}")
    progress.tell(f"  into {directory}")
    try:
        judgement = world.run(_run(plan, directory, world, progress, interrupt))
    finally:
        progress.end()
        with suppress(OSError):
            directory.rmdir()  # nothing was begun: it is still empty
    if account := world.account():
        progress.tell(account)
    _point_latest(directory, progress)
    return Ran(judgement=judgement, directory=directory, interrupted=interrupt.asked)


def runtime_of(asked: str, tell: Callable[[str], None]) -> str:
    """What was asked for; else containers, or with a word of it the simulator where none can be."""
    if asked:
        return asked
    why = RUNTIMES[DOCKER].why_not()
    if not why:
        return DOCKER
    tell(f"no containers here ({why}): it runs in virtual time, as with --runtime {SIM}")
    return SIM


def scenario_of(name: str) -> Scenario:
    """Raises UsageError naming those that there are."""
    if name == LYING_FSYNC.name:
        return LYING_FSYNC  # not among the stories: it accuses every node
    if name not in CATALOGUE:
        raise UsageError(
            f"no scenario {name!r}; there are {', '.join(CATALOGUE)}\n  try: kraft-chaos list"
        )
    return CATALOGUE[name]


async def _run(
    plan: RunPlan,
    directory: Path,
    world: World,
    progress: ConsoleProgress,
    interrupt: Interrupt,
) -> Judgement:
    with signals_to(interrupt, progress.tell):
        cluster = world.cluster(
            run_id=plan.cluster_name,
            nodes=plan.nodes,
            target=plan.target,
            keep=plan.keep,
            directory=directory,
        )
        _require_powers(plan, cluster)
        runner = Runner(
            plan=plan,
            cluster=cluster,
            directory=directory,
            clock=world.clock,
            syncs=world.syncs,
            progress=progress,
            interrupt=interrupt,
        )
        try:
            return await runner.run()
        finally:
            if plan.keep:
                let_go(cluster)


def _directory(out: Path, scenario: Scenario, seed: int, world: World) -> Path:
    try:
        return new_run_directory(out, scenario.name, seed, world.clock.wall_ns())
    except OSError as error:
        raise OperatorError(
            f"no run directory can be made in {out}: {error.strerror}\n"
            "  try: --out DIR, a directory that can be written to"
        ) from error


def _point_latest(directory: Path, progress: ConsoleProgress) -> None:
    """A file system without links takes nothing away from the run."""
    try:
        point_latest(directory)
    except OSError as error:
        progress.tell(f"{directory.parent / LATEST} does not point at it: {error.strerror}")


def _require_powers(plan: RunPlan, cluster: Cluster) -> None:
    """A story that cannot be told here is refused, never told as something weaker."""
    missing = lacking(cluster, plan.scenario.needs)
    if missing:
        tellable = [name for name, each in CATALOGUE.items() if not lacking(cluster, each.needs)]
        raise OperatorError(
            f"{plan.scenario.name} is refused: it has to {' and '.join(missing)}\n"
            f"  why not here: {why_lacking(cluster)}\n  try: kraft-chaos doctor\n"
            f"  without it: {', '.join(tellable)}"
        )


def _again(arguments: RunArguments, scenario: Scenario, seed: int, duration_s: float) -> str:
    """The one line that runs it again."""
    words = ["kraft-chaos", "run", scenario.name, "--seed", str(seed)]
    words += ["--nodes", str(arguments.nodes), "--duration", f"{duration_s:g}"]
    words += ["--concurrency", str(arguments.concurrency)]
    if arguments.rate:
        words += ["--rate", f"{arguments.rate:g}"]
    if arguments.runtime == SIM:
        words += ["--runtime", SIM]
    if arguments.mutation:
        words += ["--mutation", arguments.mutation]
    return " ".join(words)
