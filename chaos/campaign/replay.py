"""A recorded run as a plan: windows from its `schedule.json`, the rest from its `run.json`."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chaos.campaign.story import STORY
from chaos.cluster.targets.named import NODE
from chaos.commands.errors import OperatorError
from chaos.commands.parser import parser
from chaos.commands.run import plan_of, run_arguments, scenario_of
from chaos.conditions import conditions_from
from chaos.nemesis.recorded import NotAScheduleError, schedule_from
from chaos.plan import RunPlan
from chaos.rundir import is_run
from checkers.history.sealed_run import RunInfo, read_run_info
from workloads.register import RegisterOptions

SCHEDULE = "schedule.json"


def run_directory(named: Path) -> Path:
    """The run that a directory, or the `schedule.json` in it, belongs to. Raises OperatorError."""
    directory = named if named.is_dir() else named.parent
    if not is_run(directory):
        raise OperatorError(
            f"{named}: neither a run nor the schedule.json of one (no run.json)\n"
            "  try: kraft-chaos replay runs/latest"
        )
    return directory


def plan_from(directory: Path) -> RunPlan:
    """What a run did, to be done again. Raises OperatorError naming what cannot be read."""
    try:
        info = read_run_info(directory)
        content = json.loads((directory / SCHEDULE).read_bytes())
        return _plan(info, content)
    except (OSError, ValueError, TypeError, NotAScheduleError) as error:
        raise OperatorError(
            f"{directory} cannot be replayed: {error}\n  try: {_again_by(directory)}"
        ) from error


def _plan(info: RunInfo, content: Mapping[str, Any]) -> RunPlan:
    if not info.target.startswith(NODE):
        return _as_commanded(info, content)
    if not info.load:
        raise NotAScheduleError("run.json does not say what the load was: an older version's")
    schedule = schedule_from(content)
    return RunPlan(
        scenario=scenario_of(info.scenario),
        seed=info.seed,
        nodes=info.nodes,
        duration_s=schedule.duration_s,
        schedule=schedule,
        load=RegisterOptions(**info.load),
        conditions=conditions_from(info.conditions),
        runtime=info.runtime,
        mutation=info.mutation,
        command=info.command,
    )


def _as_commanded(info: RunInfo, content: Mapping[str, Any]) -> RunPlan:
    """Which settings of the target were asked for, and which clients, its command line says."""
    if not info.command:
        raise NotAScheduleError("run.json does not say by which command")
    _, *words = shlex.split(info.command)
    try:
        parsed = parser().parse_args([*words, "--runtime", info.runtime])
    except SystemExit as left:  # the parser has said why
        raise NotAScheduleError("its command is of another version") from left
    plan = plan_of(run_arguments(parsed))
    if plan.scenario.script is not None:
        return plan  # told by conditions, which hold when they hold
    schedule = schedule_from(content)
    return replace(plan, schedule=schedule, duration_s=schedule.duration_s)


def _again_by(directory: Path) -> str:
    try:
        return read_run_info(directory).command or "kraft-chaos list"
    except (OSError, ValueError):
        return "kraft-chaos list"


def differences(one: Path, other: Path) -> list[str]:
    """The files, by their paths within, that two runs' directories do not have alike.

    Of a shrunk run somebody wrote the story down beside it.
    """
    names = sorted({*_files(one), *_files(other)} - {STORY})
    return [name for name in names if _content(one / name) != _content(other / name)]


def _files(directory: Path) -> set[str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)) for path in found}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
