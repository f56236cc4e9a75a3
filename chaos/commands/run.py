"""`kraft-chaos run`: one scenario, from nothing to a verdict."""

import argparse
import random
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.canaries import CANARIES
from chaos.cluster.targets.kafka_settings import SettingError
from chaos.cluster.targets.named import KAFKA, NODE, layout
from chaos.commands.errors import OperatorError, UsageError
from chaos.commands.show import judgement_json, judgement_text
from chaos.launch import Ran, launch
from chaos.plan import RunPlan
from chaos.progress import ConsoleProgress
from chaos.rundir import LATEST, point_latest
from chaos.runtimes import DOCKER, RUNTIMES
from chaos.scenario import SIM, Scenario
from chaos.scenarios import BROKER_STORIES, STORIES
from chaos.trial import Trial
from workloads.append import AppendOptions
from workloads.library_clients import RAW
from workloads.register import RegisterOptions

_NODES = 3
_OWN_NODES = (3, 5)  # in containers; what a failure was shrunk to may be replayed with any number
_CONCURRENCY = 20
# Clients without a limit are as quick as the cluster; a simulated one is quick in its own time,
# and each of its operations costs ours.
_UNASKED_RATES = {SIM: 100.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """The command line of `run`, checked."""

    scenario: str
    seed: int | None
    nodes: int | None
    duration_s: float | None
    concurrency: int | None
    rate: float
    out: Path
    keep: bool
    as_json: bool
    target: str
    runtime: str  # "": whichever there is
    settings: Mapping[str, str] = field(default_factory=dict)
    mutation: str = ""
    client: str = "raw"  # of stories of brokers
    topic_client: str = "raw"


def run_arguments(parsed: argparse.Namespace) -> RunArguments:
    """The command line of `run` as its parser leaves it."""
    return RunArguments(
        scenario=parsed.scenario,
        seed=parsed.seed,
        nodes=parsed.nodes,
        duration_s=parsed.duration,
        concurrency=parsed.concurrency,
        rate=parsed.rate,
        out=parsed.out,
        keep=parsed.keep,
        as_json=parsed.json,
        target=parsed.target,
        runtime=parsed.runtime,
        settings=dict(parsed.settings),
        mutation=parsed.mutation,
        client=parsed.client,
        topic_client=parsed.topic_client,
    )


def run(arguments: RunArguments) -> int:
    """Run it; the exit code is the verdict's."""
    ran = perform(arguments, ConsoleProgress())
    show = judgement_json if arguments.as_json else judgement_text
    sys.stdout.write(show(ran.judgement, ran.directory) + "\n")
    return ran.judgement.verdict.exit_code


def perform(arguments: RunArguments, progress: ConsoleProgress) -> Ran:
    """One scenario on a fresh cluster, to its verdict. Raises what runtimes and set-up raise."""
    runtime = runtime_of(arguments.runtime, progress.tell, arguments.target)
    plan = plan_of(replace(arguments, runtime=runtime))
    ran = launch(plan, arguments.out, progress)
    _point_latest(ran.directory, progress)
    return ran


def plan_of(arguments: RunArguments) -> RunPlan:
    """What the command line asks for, the runtime decided; a swarm's seed decides the rest."""
    scenario = scenario_of(arguments.scenario)
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    if scenario.append is not None and arguments.target == NODE:
        raise UsageError(
            f"{scenario.name} is a story of brokers, and our own node is none yet\n"
            f"  try: --target {KAFKA}"
        )
    for flag, client in (("client", arguments.client), ("topic-client", arguments.topic_client)):
        if scenario.append is None and client != RAW:
            raise UsageError(
                f"--{flag} {client}: registers are written and read by {RAW} alone\n"
                f"  try: one of {', '.join(BROKER_STORIES)}"
            )
    plan = RunPlan(
        scenario=scenario,
        seed=seed,
        nodes=arguments.nodes or _NODES,
        duration_s=arguments.duration_s or scenario.default_duration_s,
        load=_load(scenario, arguments),
        target=arguments.target,
        settings={**scenario.settings, **arguments.settings},
        client=arguments.client,
        topic_client=arguments.topic_client,
        runtime=arguments.runtime,
        keep=arguments.keep,
        mutation=arguments.mutation,
    )
    if scenario.trial is not None:
        trial = scenario.trial(seed, arguments.duration_s, arguments.nodes)
        plan = _of_trial(plan, trial, arguments)
    if plan.runtime != SIM:
        require_layout(plan.target, plan.nodes, plan.settings, mutation=plan.mutation)
    return replace(plan, command=_again(plan, arguments))


def _load(scenario: Scenario, arguments: RunArguments) -> RegisterOptions | AppendOptions:
    """The scenario's, or the user's instead of it."""
    if scenario.append is None:
        return RegisterOptions(
            concurrency=arguments.concurrency or _CONCURRENCY,
            rate=arguments.rate or scenario.rate or _UNASKED_RATES.get(arguments.runtime, 0.0),
            live_keys=scenario.live_keys,
        )
    settings = {**scenario.settings, **arguments.settings}
    promised = {"min.insync.replicas": settings["min_isr"]} if "min_isr" in settings else {}
    return replace(
        scenario.append,
        producers=arguments.concurrency or scenario.append.producers,
        rate=arguments.rate or scenario.append.rate,
        configs={**scenario.append.configs, **promised},
    )


def require_layout(
    target: str, nodes: int, settings: Mapping[str, str], *, mutation: str = ""
) -> None:
    """Raises UsageError where no such cluster can be made, or none that anybody would ask for."""
    if target == NODE and nodes not in _OWN_NODES:
        raise UsageError(f"--nodes {nodes}: a quorum of our own nodes has 3 or 5\n  try: --nodes 3")
    try:
        layout(target, nodes, settings, mutation=mutation)
    except SettingError as error:
        raise UsageError(f"{error}\n  try: kraft-chaos run --help") from error


def _of_trial(plan: RunPlan, trial: Trial, arguments: RunArguments) -> RunPlan:
    """Whatever the seed says, or the user instead of it."""
    load = replace(
        trial.load,
        concurrency=arguments.concurrency or trial.load.concurrency,
        rate=arguments.rate or trial.load.rate,
    )
    return replace(
        plan,
        nodes=trial.nodes,
        duration_s=trial.schedule.duration_s,
        schedule=trial.schedule,
        load=load,
        conditions=trial.conditions,
    )


def runtime_of(asked: str, tell: Callable[[str], None], target: str = NODE) -> str:
    """What was asked for; else containers, or with a word of it the simulator where none can be."""
    if asked == SIM and target != NODE:
        raise UsageError(
            f"--runtime {SIM} --target {target}: only our own node can be simulated\n"
            f"  try: --runtime {DOCKER}"
        )
    if asked:
        return asked
    why = RUNTIMES[DOCKER].why_not()
    if not why:
        return DOCKER
    if target != NODE:
        raise OperatorError(
            f"no containers here ({why}), and {target} runs in nothing else\n"
            "  try: kraft-chaos doctor\n  without it: --target node"
        )
    tell(f"no containers here ({why}): it runs in virtual time, as with --runtime {SIM}")
    return SIM


def scenario_of(name: str) -> Scenario:
    """Raises UsageError naming those that there are."""
    if name in CANARIES:  # not among the stories: most of them accuse whoever runs
        return CANARIES[name]
    if name not in STORIES:
        raise UsageError(
            f"no scenario {name!r}; there are {', '.join(STORIES)}\n  try: kraft-chaos list"
        )
    return STORIES[name]


def sparing_load(scenario: str) -> tuple[int | None, float]:
    """Clients and their rate in simulated runs of which there are many, where each operation costs
    our time: enough to judge. (None, 0.0) where the seed draws the load. Raises UsageError."""
    return (5, 50.0) if scenario_of(scenario).trial is None else (None, 0.0)


def _point_latest(directory: Path, progress: ConsoleProgress) -> None:
    """A file system without links takes nothing away from the run."""
    try:
        point_latest(directory)
    except OSError as error:
        progress.tell(f"{directory.parent / LATEST} does not point at it: {error.strerror}")


def _again(plan: RunPlan, arguments: RunArguments) -> str:
    """The one line that runs it again; it says what the seed does not."""
    words = ["kraft-chaos", "run", plan.scenario.name, "--seed", str(plan.seed)]
    drawn = plan.scenario.trial is not None
    if arguments.nodes or not drawn:
        words += ["--nodes", str(plan.nodes)]
    if arguments.duration_s is not None or not drawn:
        words += ["--duration", f"{plan.duration_s:g}"]
    if arguments.concurrency or not drawn:
        words += ["--concurrency", str(plan.load.concurrency)]
    if arguments.rate:
        words += ["--rate", f"{arguments.rate:g}"]
    if plan.client != RAW:
        words += ["--client", plan.client]
    if plan.topic_client != RAW:
        words += ["--topic-client", plan.topic_client]
    if plan.target != NODE:
        words += ["--target", plan.target]
    for name, value in plan.settings.items():
        words += ["--set", shlex.quote(f"{name}={value}")]
    if plan.runtime == SIM:
        words += ["--runtime", SIM]
    if plan.mutation:
        words += ["--mutation", plan.mutation]
    return " ".join(words)
