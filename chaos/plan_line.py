"""From a plan to its command line, for people only."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace

from chaos.cluster.targets.named import NODE
from chaos.operator_errors import UsageError
from chaos.plan import RunPlan
from chaos.planning import Choices, plan_of
from chaos.scenario import SIM
from workloads.library_clients import RAW


def command_of(plan: RunPlan, run_id: str) -> str:
    """The command that runs it again. `run` has no option for some parts of a plan, such as a
    shrunk schedule; the command then names the run: its run.json has everything."""
    try:
        choices = _choices(plan)
        if _comparable(plan_of(choices)) == _comparable(plan):
            return _line(choices)
    except UsageError:
        pass  # a cluster that `run` does not accept, such as one shrunk to a single node
    return replay_line(run_id)


def replay_line(run: str) -> str:
    """The command that repeats a recorded run, by the path of its directory."""
    return f"kraft-chaos replay {shlex.quote(run)}"


def _comparable(plan: RunPlan) -> RunPlan:
    return replace(plan.settled(), keep=False, cluster_name="", side="")


def _choices(plan: RunPlan) -> Choices:
    """The arguments from which `plan_of` makes this plan, if there are any: everything but what the
    seed draws, and unchanged rates."""
    bare = Choices(
        scenario=plan.scenario.name,
        seed=plan.seed,
        target=plan.target,
        settings=_settings_told(plan),
        runtime=plan.runtime,
        mutation=plan.mutation,
        client=plan.client,
        topic_client=plan.topic_client,
    )
    usual = plan_of(bare)
    told = plan.scenario.trial is None
    load = plan.load
    return replace(
        bare,
        nodes=plan.nodes if told or plan.nodes != usual.nodes else None,
        duration_s=plan.duration_s if told or plan.duration_s != usual.duration_s else None,
        concurrency=(
            load.concurrency if told or load.concurrency != usual.load.concurrency else None
        ),
        rate=load.rate if load.rate != usual.load.rate else 0.0,
    )


def _settings_told(plan: RunPlan) -> Mapping[str, str]:
    """None where the seed draws them."""
    trial = plan.scenario.trial
    if trial is None:
        return plan.settings
    drawn = trial(plan.seed, None, plan.nodes, {}).settings
    return {} if plan.settings == drawn else plan.settings


def _line(choices: Choices) -> str:
    flags = [word for flag in _flags(choices) for word in flag]
    return shlex.join(["kraft-chaos", "run", choices.scenario, *flags])


def _flags(choices: Choices) -> Iterator[tuple[str, str]]:
    yield "--seed", str(choices.seed)
    if choices.nodes is not None:
        yield "--nodes", str(choices.nodes)
    if choices.duration_s is not None:
        yield "--duration", _number(choices.duration_s)
    if choices.concurrency is not None:
        yield "--concurrency", str(choices.concurrency)
    if choices.rate:
        yield "--rate", _number(choices.rate)
    if choices.client != RAW:
        yield "--client", choices.client
    if choices.topic_client != RAW:
        yield "--topic-client", choices.topic_client
    if choices.target != NODE:
        yield "--target", choices.target
    for name, value in choices.settings.items():
        yield "--set", f"{name}={value}"
    if choices.runtime == SIM:
        yield "--runtime", SIM
    if choices.mutation:
        yield "--mutation", choices.mutation


def _number(value: float) -> str:
    """The shortest form of the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
