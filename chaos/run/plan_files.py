"""A plan to and from `run.json`, for replays, shrinking and comparisons; and as a command line."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chaos.cluster.targets.named import NODE
from chaos.conditions import conditions_from
from chaos.errors import UsageError
from chaos.nemesis.recorded import schedule_from, windows_as_json
from chaos.run.packages import own_faults
from chaos.run.plan import RunPlan
from chaos.run.planning import Choices, plan_of
from chaos.run.scenario_file import ScenarioFile, scenarios_in
from chaos.scenario import SIM, Scenario
from chaos.scenarios import SCENARIOS
from chaos.scenarios.controls import CONTROLS
from workloads.clients.library_clients import RAW
from workloads.workload_kinds import load_as_json, load_from

FORMAT = 1  # version of the format; others are refused

_PLAIN = {
    "seed": int,
    "nodes": int,
    "duration_s": float,
    "target": str,
    "client": str,
    "topic_client": str,
    "side": str,
    "runtime": str,
    "mutation": str,
}


class NotAPlanError(ValueError):
    """The JSON is not a plan of this version; the message says why."""


def plan_as_json(plan: RunPlan) -> dict[str, Any]:
    """All of a plan but the fate of its cluster."""
    return {
        "format": FORMAT,
        "scenario": plan.scenario.name,
        **{name: getattr(plan, name) for name in _PLAIN},
        "settings": dict(plan.settings),
        "load": load_as_json(plan.load),
        "conditions": plan.conditions.as_json(),
        "schedule": None if plan.schedule is None else windows_as_json(plan.schedule),
        **({"app": plan.app} if plan.app else {}),
        **({} if plan.file is None else {"scenario_file": plan.file.as_json()}),
    }


def plan_from(content: Mapping[str, Any]) -> RunPlan:
    """The inverse of `plan_as_json`. Raises NotAPlanError, and UsageError for an installed kind of
    fault that cannot be had."""
    if not content:
        raise NotAPlanError("its run.json has no plan: it was recorded by an older version")
    if content.get("format") != FORMAT:
        raise NotAPlanError(f"its plan has the format {content.get('format')}, not {FORMAT}")
    own_faults()
    try:
        return _plan(content)
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise NotAPlanError(f"its plan cannot be read: {_in_words(error)}") from error


def _plan(content: Mapping[str, Any]) -> RunPlan:
    schedule = content["schedule"]
    file = ScenarioFile(**content["scenario_file"]) if "scenario_file" in content else None
    return RunPlan(
        scenario=_scenario(content["scenario"], file),
        file=file,
        app=str(content.get("app", "")),
        settings=dict(content["settings"]),
        load=load_from(content["load"]),
        conditions=conditions_from(content["conditions"]),
        schedule=None if schedule is None else schedule_from(schedule),
        **{name: read(content[name]) for name, read in _PLAIN.items()},
    )


def _scenario(name: str, file: ScenarioFile | None) -> Scenario:
    known = SCENARIOS | CONTROLS if file is None else scenarios_in(file)
    if name not in known:
        where = "this version" if file is None else f"the recorded {file.name}"
        raise ValueError(f"{where} has no scenario {name!r}")
    return known[name]


def _in_words(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)


# The command line of a plan, for people only.


def command_of(plan: RunPlan, run_id: str) -> str:
    """The command that runs it again. `run` has no option for some parts of a plan, such as a
    shrunk schedule; the command then names the run: its run.json has everything."""
    if plan.file is not None:
        return replay_line(run_id)  # of the file only the text is known
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
    told = replace(plan.settled(), side="", cluster_name="")
    return replace(told, keep=False, keep_on_failure=False, stop_at_first=False, pcap=False)


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
        app=plan.app,
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
    if choices.app:
        yield "--app", choices.app
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
