"""Scenarios of a user's own file, or of an installed package: Python for whatever a scenario can
be, TOML where no code is needed. A run records the whole file, so that `replay` and `shrink` have
it.
"""

import hashlib
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from chaos.cluster.interface import NodeId
from chaos.errors import UsageError, explained
from chaos.nemesis.recorded import fault_named, victim_told
from chaos.nemesis.script import Schedule, Window
from chaos.nemesis.victims import OneNode, Victim
from chaos.run.packages import SCENARIOS, offered, package_of
from chaos.run.random_faults import (
    OF_PARTITIONS,
    OF_QUORUMS,
    RandomFaults,
    usual_hold,
)
from chaos.scenario import Scenario
from workloads.workload import Load
from workloads.workload_kinds import KINDS

_TOML = ".toml"
_KEYS = {
    "name",
    "summary",
    "description",
    "duration_s",
    "workload",
    "load",
    "settings",
    "faults",
    "random",
}
_RANDOM_KEYS = {"faults", "victims", "every_s", "hold_s", "overlap"}
_RANDOM_S = 60.0  # how long faults come at random, unless the file says it
_LONGEST = 1e6  # of seconds, rates and counts
_FAULT_KEYS = {"fault", "at_s", "hold_s", "node", "victim"}  # others are its parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """The name of a file, without its directory, and its text."""

    name: str
    text: str

    def line_of(self, victim: Victim) -> str:
        """`:7`, where a TOML file names that victim; "" where it does not, or is not TOML."""
        named = re.compile(rf"\b(node\s*=\s*|victim\s*=\s*[\"']){re.escape(str(victim))}\b")
        lines = self.text.splitlines() if self.name.endswith(_TOML) else []
        found = (number for number, line in enumerate(lines, 1) if named.search(line))
        return next((f":{number}" for number in found), "")

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


def installed_file(name: str) -> ScenarioFile | None:
    """The module of an installed package that has this scenario, as a user's own file; None if no
    package has it. Raises UsageError for a module that cannot be found or read."""
    entry = offered(SCENARIOS).get(name)
    if entry is None:
        return None
    try:
        spec = find_spec(entry.module)  # imports the packages above it
        text = Path(str(spec.origin if spec else None)).read_text(encoding="utf-8")
    except Exception as error:
        raise UsageError(
            f"scenario {name!r} of {package_of(entry)}: {entry.module} cannot be read: "
            f"{type(error).__name__}: {error}\n  try: python -c 'import {entry.module}'"
        ) from error
    return ScenarioFile(name=f"{entry.module}.py", text=text)


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
    if {"faults", "random"} <= content.keys():
        raise ValueError("it has faults at their times or at random, and not both")
    load = _load(
        _text("workload", content.get("workload", "register")),
        _table("load", content.get("load", {})),
    )
    settings = _table("settings", content.get("settings", {}))
    scenario = Scenario(
        name=_text("name", content["name"]),
        summary=_text("summary", content.get("summary", f"faults as {file.name} has them")),
        description=_text("description", content.get("description", f"As {file.name} has it.")),
        faults=(),
        load=load,
        settings={name: str(value) for name, value in settings.items()},
    )
    if "random" in content:
        drawn = _random(_table("random", content["random"]), scenario)
        return replace(
            scenario,
            faults=drawn.one_of_each,
            draw=drawn.schedule,
            default_duration_s=_number("duration_s", content.get("duration_s", _RANDOM_S)),
        )
    schedule = _schedule(content)
    return replace(
        scenario,
        faults=tuple(window.fault for window in schedule.windows),
        draw=lambda _rng, _nodes, duration_s: _lasting(schedule, duration_s),  # no seed moves it
        default_duration_s=schedule.duration_s,
    )


def _random(content: Mapping[str, Any], scenario: Scenario) -> RandomFaults:
    _require_known("random", content, _RANDOM_KEYS)
    victims = OF_PARTITIONS if scenario.is_of_brokers else OF_QUORUMS
    every_s = _number("every_s", content.get("every_s", 10.0))
    hold_s = _list("hold_s", content.get("hold_s", list(usual_hold(every_s))))
    if len(hold_s) != 2:
        raise ValueError(f"hold_s: expected the least and the most, found {hold_s!r}")
    least_s, most_s = (_number("hold_s", each) for each in hold_s)
    overlap = content.get("overlap", False)
    if not isinstance(overlap, bool):
        raise ValueError(f"overlap: expected true or false, found {overlap!r}")
    return RandomFaults(
        faults=_words("faults", content.get("faults", [])),
        victims=_words("victims", content.get("victims", list(victims))),
        every_s=every_s,
        hold_s=(least_s, most_s),
        overlap=overlap,
    )


def _schedule(content: Mapping[str, Any]) -> Schedule:
    """Faults in order of time. Several may last at once."""
    rows = content.get("faults", [])
    if not isinstance(rows, list):
        raise ValueError(f"faults: expected tables `[[faults]]`, found {rows!r}")
    windows = tuple(sorted(map(_window, rows), key=lambda it: it.at_s))
    ends = [window.end_s for window in windows]
    last_s = max(ends, default=0.0)
    duration_s = _number("duration_s", content.get("duration_s", last_s + 5.0))
    if duration_s < last_s:
        raise ValueError(f"duration_s is {duration_s:g}, and a fault lasts until {last_s:g} s")
    overlap = any(later.at_s < end for end, later in zip(ends, windows[1:], strict=False))
    return Schedule(duration_s=duration_s, windows=windows, side_by_side=overlap)


def _lasting(schedule: Schedule, duration_s: float) -> Schedule:
    last_s = max((window.end_s for window in schedule.windows), default=0.0)
    return replace(schedule, duration_s=max(duration_s, last_s))


def _window(row: object) -> Window:
    row = _table("faults", row)
    if lacking := sorted({"fault", "at_s", "hold_s"} - row.keys()):
        raise ValueError(f"a fault lacks {lacking[0]!r}")
    if "node" in row and "victim" in row:
        raise ValueError("a fault has a node or a victim, and not both")
    victim: Victim | None = None
    if "node" in row:
        victim = OneNode(NodeId(_whole("node", row["node"], least=1)))
    if "victim" in row:
        victim = victim_told(_text("victim", row["victim"]))
    parameters = {name: _parameter(name, row[name]) for name in sorted(row.keys() - _FAULT_KEYS)}
    fault = fault_named(_text("fault", row["fault"]), victim, parameters)
    return Window(
        at_s=_number("at_s", row["at_s"]), hold_s=_number("hold_s", row["hold_s"]), fault=fault
    )


def _parameter(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(_whole(name, value))
    return value if isinstance(value, str) else repr(_number(name, value))


def _load(workload: str, options: Mapping[str, Any]) -> Load:
    """Each option is of the kind that the usual one has."""
    if workload not in KINDS:
        raise ValueError(f"unknown workload {workload!r}; known: {', '.join(KINDS)}")
    usual: Load = KINDS[workload].options()
    _require_known(f"the load {workload}", options, set(asdict(usual)))
    chosen = {name: _like(name, options[name], getattr(usual, name)) for name in options}
    made: Load = KINDS[workload].options(**{**asdict(usual), **chosen})
    return made


def _require_known(what: str, content: Mapping[str, Any], known: set[str]) -> None:
    if odd := sorted(content.keys() - known):
        raise ValueError(f"{what} has no {odd[0]!r}; known: {', '.join(sorted(known))}")


def _like(name: str, value: object, usual: object) -> object:
    match usual:
        case bool():
            if not isinstance(value, bool):
                raise ValueError(f"{name}: expected true or false, found {value!r}")
            return value
        case int():
            return _whole(name, value)
        case float():
            most = 1.0 if name.endswith("_share") else _LONGEST
            return _number(name, value, most)
        case tuple():
            return _words(name, value)
        case Mapping():
            return {key: _text(key, each) for key, each in _table(name, value).items()}
    return _text(name, value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected text, found {value!r}")
    return value


def _words(name: str, value: object) -> tuple[str, ...]:
    return tuple(_text(name, each) for each in _list(name, value))


def _list(name: str, value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"{name}: expected a list, found {value!r}")
    return value


def _table(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected a table, found {value!r}")
    return value


def _number(name: str, value: object, most: float = _LONGEST) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= float(value) <= most:  # type: ignore[arg-type]
        raise ValueError(f"{name}: expected a number from 0 to {most:,g}, found {value!r}")
    return float(value)  # type: ignore[arg-type]


def _whole(name: str, value: object, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _LONGEST:
        raise ValueError(
            f"{name}: expected a whole number from {least} to {_LONGEST:,g}, found {value!r}"
        )
    return value
