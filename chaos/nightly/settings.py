"""A team's defaults for its nights, from the table `[nightly]` of `kraft-chaos.toml`.

    [nightly]
    budget = "2h"
    targets = ["node", "kafka"]
    settings = ["", "elr=off"]      # tried with every scenario that takes them
    without = ["bootstrap-race"]    # scenarios
    files = ["chaos.toml"]          # that have scenarios of the team's own
    notify = "./tell-the-team"       # gets the night as JSON on stdin

Options of the command line come before the file's.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from chaos.cluster.targets.named import NODE
from chaos.errors import UsageError
from chaos.run.scenario_file import ScenarioFile, read_scenario_file, scenarios_in
from chaos.scenarios import SCENARIOS

FILE = "kraft-chaos.toml"
_TABLE = "nightly"
_UNITS = {"h": 3600, "m": 60, "s": 1}
_BUDGET = re.compile(r"(?:\d+[hms])+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSettings:
    """What a night is made of. `budget_s` is its working time; `runs` ends it earlier, and 0 does
    not. `runtime`: sim for virtual time alone; else our own node runs in both, others in
    containers. `scenarios`: these only; none: all that the targets take."""

    budget_s: int = 7200
    runs: int = 0
    targets: tuple[str, ...] = (NODE,)
    runtime: str = ""
    scenarios: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # scenario files, by path; all that they have is tried too
    without: tuple[str, ...] = ()
    settings: tuple[str, ...] = ("", "elr=off")  # `a=b c=d`
    roles: tuple[str, ...] = ("", "combined")
    canaries: int = 4
    duration_s: float | None = None  # of the fault phase of simulated runs that draw their faults
    jobs: int = 0  # simulated runs at a time; 0: the machine's processors
    keep_nights: int = 14  # whose green runs are kept too; red ones always are
    notify: str = ""  # a shell's command, which gets the night as JSON on stdin when it has ended

    def as_json(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


def settings_from(content: Mapping[str, Any]) -> NightSettings:
    """From `as_json`, or a table of the file. Raises UsageError that names the entry."""
    values: dict[str, Any] = {}
    known = {each.name: each for each in fields(NightSettings)}
    for name, value in content.items():
        if name == "budget":
            values["budget_s"] = budget_s(value) if isinstance(value, str) else _refuse(name, value)
        elif name not in known:
            raise UsageError(
                f"[{_TABLE}] has no entry {name!r}; it takes budget, {', '.join(sorted(known))}"
            )
        else:
            default = known[name].default
            values[name] = _like(name, value, default)
    found = NightSettings(**values)
    known_names = {*SCENARIOS, *own_scenarios(found.files)}
    for name in (*found.scenarios, *found.without):
        if name not in known_names:
            raise UsageError(f"[{_TABLE}] names the scenario {name!r}\n  try: kraft-chaos list")
    return found


@cache
def own_scenarios(files: tuple[str, ...]) -> Mapping[str, ScenarioFile]:
    """The scenarios of these files, by name, each with its file as it is now. Raises UsageError."""
    read = [read_scenario_file(Path(each)) for each in files]
    try:
        return {name: file for file in read for name in scenarios_in(file)}
    except ValueError as error:
        raise UsageError(f"files: {error}") from error


def _like(name: str, value: Any, default: object) -> Any:
    if isinstance(default, tuple):
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(each if isinstance(each, str) else _refuse(name, each) for each in value)
        return _refuse(name, value)
    if isinstance(default, str):
        return value if isinstance(value, str) else _refuse(name, value)
    if value is None and default is None:
        return None
    kinds = int if isinstance(default, int) else (int, float)
    is_number = isinstance(value, kinds) and not isinstance(value, bool) and value >= 0
    return value if is_number else _refuse(name, value)


def _refuse(name: str, value: object) -> Any:
    raise UsageError(f"[{_TABLE}] {name} cannot be {value!r}")


def budget_s(text: str) -> int:
    """`2h`, `90m`, `1h30m`, `45s`. Raises UsageError."""
    if not _BUDGET.fullmatch(text) or not (
        found := sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(\w)", text))
    ):
        raise UsageError(f"the budget {text!r} is not a time such as 2h, 30m or 1h30m")
    return found


def read_settings(path: Path | None, chosen: Mapping[str, Any]) -> NightSettings:
    """The file's (by default `kraft-chaos.toml` here, if there is one) and the chosen ones instead.
    Raises UsageError."""
    where = path or Path(FILE)
    found = NightSettings()
    if path is not None or where.exists():
        try:
            content = tomllib.loads(where.read_text(encoding="utf-8"))
            found = settings_from(content.get(_TABLE, {}))
        except (OSError, ValueError) as error:
            raise UsageError(f"{where}: {error}") from error
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error
    return replace(found, **{name: value for name, value in chosen.items() if value is not None})
