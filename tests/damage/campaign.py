"""Many damages and planted losses, and what the judge made of each."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from checkers.suite import judge
from checkers.verdict import Verdict
from tests.damage.bases import copy_of
from tests.damage.files import damage_file, damage_nodes
from tests.damage.outcome import Outcome, judged, outcome_of
from tests.damage.planted import planted
from tests.damage.run_description import damage_description
from tests.damage.tables import cut_table_file, damage_table, spoil_seal

KEPT = Path("runs/damage.json")  # the figures of the last `python -m tests.damage`

Damage = Callable[[Path, random.Random], str]

# As often as they are listed.
_DAMAGES: Sequence[Damage] = (
    *[damage_file] * 9,
    *[damage_nodes] * 2,
    *[damage_table] * 7,
    cut_table_file,
    *[spoil_seal] * 2,
    damage_description,
)


@dataclass(slots=True)
class Figures:
    """How many became which verdict, and those that became a wrong one."""

    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[Outcome] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.verdicts.total()

    def as_json(self) -> dict[str, int | dict[str, int]]:
        return {"count": self.count, "wrong": len(self.wrong), "verdicts": dict(self.verdicts)}

    def add(self, outcome: Outcome, *, right: bool) -> None:
        self.verdicts[outcome.verdict] += 1
        if not right:
            self.wrong.append(outcome)


def damages(place: Path, bases: list[Path], *, count: int, seed: int) -> Figures:
    """Damage runs in turn; each damage to a fresh copy in `place`."""
    figures = Figures()
    for number in range(count):
        outcome = one_damage(place, bases[number % len(bases)], seed, number)
        figures.add(outcome, right=outcome.is_honest)
    return figures


def one_damage(place: Path, base: Path, seed: int, number: int) -> Outcome:
    rng = random.Random(f"{seed}:damage:{number}")
    directory = copy_of(base, place / "damaged")
    what = rng.choice(_DAMAGES)(directory, rng)
    return judged(directory, f"{number} ({base.name}): {what}")


def losses(bases: list[Path], *, seed: int, each: int) -> Figures:
    """Plant losses in runs that tell of none; each has to be held against the cluster."""
    figures = Figures()
    for what, run in planted(bases, random.Random(f"{seed}:losses"), each):
        outcome = outcome_of(partial(judge, run), what)
        figures.add(outcome, right=outcome.verdict == Verdict.INVALID.word)
    return figures
