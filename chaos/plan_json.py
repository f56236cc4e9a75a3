"""A plan to and from `run.json`, for replays, shrinking and comparisons."""

from collections.abc import Mapping
from typing import Any

from chaos.conditions import conditions_from
from chaos.controls import CONTROLS
from chaos.nemesis.recorded import schedule_from, windows_as_json
from chaos.plan import RunPlan
from chaos.scenario import Scenario
from chaos.scenarios import SCENARIOS
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
    }


def plan_from(content: Mapping[str, Any]) -> RunPlan:
    """The inverse of `plan_as_json`. Raises NotAPlanError."""
    if not content:
        raise NotAPlanError("its run.json has no plan: it was recorded by an older version")
    if content.get("format") != FORMAT:
        raise NotAPlanError(f"its plan has the format {content.get('format')}, not {FORMAT}")
    try:
        return _plan(content)
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise NotAPlanError(f"its plan cannot be read: {_in_words(error)}") from error


def _plan(content: Mapping[str, Any]) -> RunPlan:
    schedule = content["schedule"]
    return RunPlan(
        scenario=_scenario(content["scenario"]),
        settings=dict(content["settings"]),
        load=load_from(content["load"]),
        conditions=conditions_from(content["conditions"]),
        schedule=None if schedule is None else schedule_from(schedule),
        **{name: read(content[name]) for name, read in _PLAIN.items()},
    )


def _scenario(name: str) -> Scenario:
    known = SCENARIOS | CONTROLS
    if name not in known:
        raise ValueError(f"this version has no scenario {name!r}")
    return known[name]


def _in_words(error: Exception) -> str:
    return f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
