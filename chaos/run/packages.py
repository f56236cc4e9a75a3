"""What installed packages add, by entry points: scenarios, kinds of faults and checks. A package's
code is run as the harness' own.
"""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from chaos.errors import UsageError
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds import add
from checkers.all_checks import CHECKS
from checkers.check import Check

SCENARIOS = "kraft_chaos.scenarios"  # NAME = "MODULE"
OWN_FAULTS = "kraft_chaos.faults"  # KIND = "MODULE:CLASS"
OWN_CHECKS = "kraft_chaos.checks"  # ID = "MODULE:NAME", of a value that `check` made


@cache
def offered(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group, by name. Raises UsageError for a name that two packages have."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            what = group.rpartition(".")[2].removesuffix("s")
            raise UsageError(
                f"two packages have a {what} {entry.name!r}: {package_of(other)} and "
                f"{package_of(entry)}\n  try: pip uninstall one of them"
            )
    return found


def package_of(entry: EntryPoint) -> str:
    """`NAME VERSION`."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


@cache
def own_checks() -> tuple[Check, ...]:
    """The checks of installed packages, after ours. Raises UsageError for one that clashes with
    ours, cannot be imported, or is none."""
    return tuple(_loaded(entry) for _, entry in sorted(offered(OWN_CHECKS).items()))


def _loaded(entry: EntryPoint) -> Check:
    where = f"check {entry.name!r} of {package_of(entry)}"
    if entry.name in {each.id for each in CHECKS}:
        raise UsageError(f"{where}: one of ours has that name\n  try: another name in that package")
    found = _imported(entry, where)
    if not isinstance(found, Check) or found.id != entry.name:
        raise UsageError(
            f"{where}: {entry.value} is no check of that name\n"
            f"  try: @check({entry.name!r}, ...) above the function that judges"
        )
    checked: Check = found
    return checked


@cache
def own_faults() -> tuple[type[Fault], ...]:
    """The kinds of faults of installed packages; they can be named from then on. Raises UsageError
    for one that clashes, cannot be imported, or is none."""
    return tuple(_added(entry) for _, entry in sorted(offered(OWN_FAULTS).items()))


def _added(entry: EntryPoint) -> type[Fault]:
    where = f"fault {entry.name!r} of {package_of(entry)}"
    found = _imported(entry, where)
    parts = ("kinds", "kind", "aspect", "needs", "harm", "inject", "cure")
    is_kind = is_dataclass(found) and all(hasattr(found, part) for part in parts)
    if not is_kind or entry.name not in found.kinds:
        raise UsageError(
            f"{where}: {entry.value} is no kind of that name\n  try: docs/how-to/write-a-fault.md"
        )
    try:
        add(found)
    except ValueError as error:
        raise UsageError(f"{where}: {error}\n  try: another name in that package") from error
    kind: type[Fault] = found
    return kind


def _imported(entry: EntryPoint, where: str) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise UsageError(
            f"{where}: {entry.value} cannot be imported: {type(error).__name__}: {error}\n"
            f"  try: python -c 'import {entry.module}', or pip uninstall that package"
        ) from error
