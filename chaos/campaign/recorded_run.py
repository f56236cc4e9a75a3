"""A recorded run as a plan, from its `run.json`; and what two runs' directories have unlike."""

import json
from dataclasses import replace
from pathlib import Path

from chaos.campaign.narrative import NARRATIVE
from chaos.nemesis.recorded import schedule_from
from chaos.operator_errors import OperatorError
from chaos.plan import RunPlan
from chaos.plan_json import plan_from
from chaos.rundir import is_run
from checkers.history.sealed_run import read_run_info


def run_directory(named: Path) -> Path:
    """The run that a directory, or the `schedule.json` in it, belongs to. Raises OperatorError."""
    directory = named if named.is_dir() else named.parent
    if not is_run(directory):
        raise OperatorError(
            f"{named}: neither a run nor the schedule.json of one (no run.json)\n"
            "  try: kraft-chaos replay runs/latest"
        )
    return directory


def plan_of_run(named: Path) -> RunPlan:
    """What a run did, to be done again: the plan in its run.json. Of a `schedule.json` that is
    named, its windows, which may have been edited. Raises OperatorError naming what cannot be
    read."""
    directory = run_directory(named)
    try:
        plan = plan_from(read_run_info(directory).plan)
        return _with_windows(plan, named) if named.is_file() and plan.schedule else plan
    except (OSError, ValueError) as error:
        raise OperatorError(
            f"{directory} cannot be replayed: {error}\n  try: {_again_by(directory)}"
        ) from error


def _with_windows(plan: RunPlan, file: Path) -> RunPlan:
    schedule = schedule_from(json.loads(file.read_bytes()))
    return replace(plan, schedule=schedule, duration_s=schedule.duration_s)


def _again_by(directory: Path) -> str:
    """The line by which it was recorded, for a person to judge."""
    try:
        return read_run_info(directory).command or "kraft-chaos list"
    except (OSError, ValueError):
        return "kraft-chaos list"


def differences(one: Path, other: Path) -> list[str]:
    """The files, by their paths within, that two runs' directories do not have alike.

    Of a shrunk run the narrative stands beside it.
    """
    names = sorted({*_files(one), *_files(other)} - {NARRATIVE})
    return [name for name in names if _content(one / name) != _content(other / name)]


def _files(directory: Path) -> set[str]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)) for path in found}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
