"""Scenarios of a user's own file: Python for whatever a scenario can be, TOML where no code is
needed. A run records the whole file, so that `replay` and `shrink` have it.
"""

import hashlib
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from chaos.cluster.interface import NodeId
from chaos.errors import UsageError, explained
from chaos.nemesis.recorded import FAULTS, aimed_at
from chaos.nemesis.script import Schedule, Window
from chaos.scenario import Scenario
from workloads.workload import Load
from workloads.workload_kinds import KINDS

_TOML = ".toml"
_KEYS = {"name", "summary", "description", "duration_s", "workload", "load", "settings", "faults"}
_FAULT_KEYS = {"fault", "at_s", "hold_s", "node"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """The name of a file, without its directory, and its text."""

    name: str
    text: str

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def read_scenario_file(path: Path) -> ScenarioFile:
    """Raises UsageError."""
    try:
        return ScenarioFile(name=path.name, text=path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--scenario-file: {explained(error)}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--scenario-file: {path} is no text: {error}") from error


def scenarios_in(file: ScenarioFile) -> Mapping[str, Scenario]:
    """The scenarios of a file, by name. Raises ValueError that names the file and what is wrong."""
    try:
        found = [_of_toml(file)] if file.name.endswith(_TOML) else _of_python(file)
    except Exception as error:
        what = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ValueError(f"{file.name}: {what}{error}") from error
    if not found:
        raise ValueError(f"{file.name}: it has no scenario (a `Scenario` at the top of a module)")
    return {each.name: each for each in found}


def _of_python(file: ScenarioFile) -> list[Scenario]:
    """A module of its own: what a dataclass or a pickle looks up by its name is there."""
    module = ModuleType(f"scenario_file_{hashlib.sha256(file.text.encode()).hexdigest()[:12]}")
    sys.modules[module.__name__] = module
    exec(compile(file.text, file.name, "exec"), vars(module))
    return [each for each in vars(module).values() if isinstance(each, Scenario)]


def _of_toml(file: ScenarioFile) -> Scenario:
    content = tomllib.loads(file.text)
    _require_known("the scenario", content, _KEYS)
    schedule = _schedule(content)
    return Scenario(
        name=str(content["name"]),
        summary=str(content.get("summary", f"faults as {file.name} has them")),
        description=str(content.get("description", f"As {file.name} has it.")),
        faults=tuple(window.fault for window in schedule.windows),
        draw=lambda _rng, _nodes, duration_s: _lasting(schedule, duration_s),  # no seed moves it
        default_duration_s=schedule.duration_s,
        load=_load(str(content.get("workload", "register")), content.get("load", {})),
        settings={name: str(value) for name, value in content.get("settings", {}).items()},
    )


def _schedule(content: Mapping[str, Any]) -> Schedule:
    """Faults in order of time. Several may last at once."""
    windows = tuple(
        sorted((_window(row) for row in content.get("faults", ())), key=lambda it: it.at_s)
    )
    ends = [window.end_s for window in windows]
    last_s = max(ends, default=0.0)
    duration_s = float(content.get("duration_s", last_s + 5.0))
    if duration_s < last_s:
        raise ValueError(f"duration_s is {duration_s:g}, and a fault lasts until {last_s:g} s")
    overlap = any(later.at_s < end for end, later in zip(ends, windows[1:], strict=False))
    return Schedule(duration_s=duration_s, windows=windows, side_by_side=overlap)


def _lasting(schedule: Schedule, duration_s: float) -> Schedule:
    last_s = max((window.end_s for window in schedule.windows), default=0.0)
    return replace(schedule, duration_s=max(duration_s, last_s))


def _window(row: Mapping[str, Any]) -> Window:
    _require_known("a fault", row, _FAULT_KEYS)
    name = str(row["fault"])
    if name not in FAULTS:
        raise ValueError(f"unknown fault {name!r}; see kraft-chaos inject --help")
    fault = FAULTS[name]
    if "node" in row:
        fault = aimed_at(fault, NodeId(int(row["node"])))
    return Window(at_s=float(row["at_s"]), hold_s=float(row["hold_s"]), fault=fault)


def _load(workload: str, options: Mapping[str, Any]) -> Load:
    if workload not in KINDS:
        raise ValueError(f"unknown workload {workload!r}; known: {', '.join(KINDS)}")
    usual: Load = KINDS[workload].options()
    _require_known(f"the load {workload}", options, set(asdict(usual)))
    made: Load = KINDS[workload].options(**{**asdict(usual), **options})
    return made


def _require_known(what: str, content: Mapping[str, Any], known: set[str]) -> None:
    if odd := sorted(content.keys() - known):
        raise ValueError(f"{what} has no {odd[0]!r}; known: {', '.join(sorted(known))}")
