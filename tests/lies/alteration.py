"""What is done to which run, and what the judge has to say of it."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

from checkers.verdict import Verdict
from tests.lies import themes
from tests.lies.altered import Altered, Collected

AlterRows = Callable[[Altered, random.Random], None]
AlterFiles = Callable[[Collected, random.Random], None]
A = TypeVar("A", AlterRows, AlterFiles)


class Target(Enum):
    """As what a run is judged."""

    TRACED = "traced"  # as our node left it
    UNTRACED = "untraced"  # as Apache Kafka would have left it


TRACED = (Target.TRACED,)
UNTRACED = (Target.UNTRACED,)
BOTH = (Target.TRACED, Target.UNTRACED)

INVALID = (Verdict.INVALID,)
# Nobody can tell any more, or there was nothing to tell: what is missing accuses no node.
NOT_GREEN = (Verdict.VOID, Verdict.UNKNOWN, Verdict.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """One way to alter one base: which checks have to see it, or must not mind it. `want` is empty
    where it breaks nothing."""

    checks: tuple[str, ...]
    name: str
    what: str  # in a sentence
    base: str
    target: Target
    want: tuple[Verdict, ...]
    on_disk: bool
    alter: AlterRows | AlterFiles

    @property
    def is_lie(self) -> bool:
        return bool(self.want)

    @property
    def id(self) -> str:
        return f"{self.name}/{self.base}/{self.target.value}"


_TOLD: dict[str, Alteration] = {}


def lie(
    *checks: str,
    of: str | Sequence[str],
    target: Sequence[Target] = TRACED,
    want: tuple[Verdict, ...] = INVALID,
    on_disk: bool = False,
) -> Callable[[A], A]:
    """Registers what breaks the promise of each of these checks."""
    assert want, "a lie is seen"
    return _registered(checks, of, target, want, on_disk=on_disk)


def legal(
    *checks: str,
    of: str | Sequence[str],
    target: Sequence[Target] = TRACED,
    on_disk: bool = False,
) -> Callable[[A], A]:
    """Registers what is near to the promise of each of these checks, and breaks none."""
    return _registered(checks, of, target, (), on_disk=on_disk)


def _registered(
    checks: tuple[str, ...],
    of: str | Sequence[str],
    target: Sequence[Target],
    want: tuple[Verdict, ...],
    *,
    on_disk: bool,
) -> Callable[[A], A]:
    assert checks, "an alteration is about a check"

    def register(alter: A) -> A:
        bases = [of] if isinstance(of, str) else of
        for base in bases:
            for each in target:
                _tell(
                    Alteration(
                        checks=checks,
                        name=alter.__name__,
                        what=" ".join((alter.__doc__ or "").split()),
                        base=base,
                        target=each,
                        want=want,
                        on_disk=on_disk,
                        alter=alter,
                    )
                )
        return alter

    return register


def _tell(alteration: Alteration) -> None:
    """One that is registered twice is about the checks of both."""
    known = _TOLD.get(alteration.id)
    if known is not None:
        same = known.alter is alteration.alter and known.want == alteration.want
        assert same, f"two alterations are called {alteration.name}"
        checks = tuple(dict.fromkeys((*known.checks, *alteration.checks)))
        alteration = replace(alteration, checks=checks)
    _TOLD[alteration.id] = alteration


def alterations() -> tuple[Alteration, ...]:
    """All that the themes tell, in their order."""
    for module in iter_modules(themes.__path__):
        import_module(f"{themes.__name__}.{module.name}")
    return tuple(_TOLD.values())
