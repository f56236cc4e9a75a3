"""The kill table: which planted bug was found by which check, after how many runs. Pure.

A bug may need several tries, each of which is shown. A try that failed, by a failure of the harness
or a fault without effect, is not made up for by another: its suspect does not hold. A correct node
has to be valid each time. Where seeds draw the faults, now and then one takes no effect: that
counts as a try that found nothing.

Checks accuse from outside, by recorded events. In virtual time invariants are judged inside the
nodes as well; a bug found only that way counts as found, and the table says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from checkers.conclusion import STARVED
from checkers.verdict import Judgement, Verdict, counted

_INSIDE = "invariant:"  # prefix of rows about the inside of nodes


class SuspectKind(StrEnum):
    MUTATION = "mutation"
    CONTROL = "control"  # any harness must find it
    CORRECT = "correct"  # unmodified: no check may accuse it


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectTry:
    """One judged run."""

    seed: int
    verdict: Verdict
    accusers: tuple[str, ...]  # the checks that found it invalid, from outside
    inside: tuple[str, ...] = ()  # the invariants that were seen broken in a simulated node
    sentence: str
    seconds: float
    directory: str
    starved: bool = False  # the machine had no time for the nodes: it shows nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectRow:
    """All trials of one suspect. `named` are the checks of which one must be among the accusers;
    a correct node has none, and comes out as `expected`."""

    kind: SuspectKind
    id: str
    scenario: str
    named: tuple[str, ...]
    trials: tuple[SuspectTry, ...]
    drawn: bool = False  # faults are drawn by the seed
    expected: Verdict = Verdict.VALID

    @property
    def last(self) -> SuspectTry:
        return self.trials[-1]

    @property
    def by_name(self) -> tuple[str, ...]:
        """The accusers that the catalogue names."""
        return tuple(check for check in self.last.accusers if check in self.named)

    @property
    def inside_by_name(self) -> tuple[str, ...]:
        """The broken invariants with the same names."""
        return tuple(check for check in self.last.inside if check in self.named)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(trial.seed for trial in self.trials)

    @property
    def seconds(self) -> float:
        """From the first run's start to the last one's verdict."""
        return sum(trial.seconds for trial in self.trials)

    @property
    def tries(self) -> str:
        """Their number by verdict, in order: `2 valid, 1 invalid`."""
        alike = groupby(trial.verdict.word for trial in self.trials)
        return ", ".join(f"{len(list(each))} {word}" for word, each in alike)

    @property
    def holds(self) -> bool:
        """Found by a check that is named for it, or the invariant with its name, and no try failed;
        a correct node: as expected each time."""
        if self.kind is SuspectKind.CORRECT:
            return all(trial.verdict is self.expected for trial in self.trials)
        found = bool(self.by_name or self.inside_by_name)
        return found and not any(_came_to_nothing(trial, self.drawn) for trial in self.trials)


def trial_of(judgement: Judgement, *, seed: int, seconds: float, directory: str) -> SuspectTry:
    found = [row.check for row in judgement.results if row.verdict is Verdict.INVALID]
    inside = [check.removeprefix(_INSIDE) for check in found if check.startswith(_INSIDE)]
    return SuspectTry(
        seed=seed,
        verdict=judgement.verdict,
        accusers=tuple(check for check in found if not check.startswith(_INSIDE)),
        inside=tuple(inside),
        sentence=judgement.sentence,
        seconds=round(seconds, 1),
        directory=directory,
        starved=any(STARVED in row.facts for row in judgement.results),
    )


def is_decided(
    kind: SuspectKind,
    named: Sequence[str],
    trial: SuspectTry,
    *,
    drawn: bool = False,
    expected: Verdict = Verdict.VALID,
) -> bool:
    """Whether another run would not change the result: a bug is found, a correct node is not as
    expected, or a try failed."""
    if kind is SuspectKind.CORRECT:
        return trial.verdict is not expected
    return _came_to_nothing(trial, drawn) or any(
        check in named for check in (*trial.accusers, *trial.inside)
    )


def _came_to_nothing(trial: SuspectTry, drawn: bool) -> bool:
    failed = trial.verdict is Verdict.ERROR and not trial.starved
    return failed or (trial.verdict is Verdict.VOID and not drawn)


def as_text(rows: Sequence[SuspectRow]) -> str:
    """The table, one line a suspect, and what is wrong with it."""
    head = ("", "suspect", "scenario", "accused by", "inside", "named", "tries", "seed", "seconds")
    lines = [head, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    wrong = [f"  {row.id}: {_complaint(row)}" for row in rows if not row.holds]
    return "\n".join([*table, "", *(wrong or ["every planted bug was found, and nothing else"])])


def as_json(rows: Sequence[SuspectRow]) -> dict[str, object]:
    """One object for scripts."""
    return {
        "holds": all(row.holds for row in rows),
        "seconds": round(sum(row.seconds for row in rows), 1),
        "rows": [
            {
                "kind": row.kind.value,
                "id": row.id,
                "scenario": row.scenario,
                "named": list(row.named),
                "accused_by": list(row.last.accusers),
                "accused_by_named": list(row.by_name),
                "inside": list(row.last.inside),
                "inside_named": list(row.inside_by_name),
                "verdict": row.last.verdict.word,
                "tries": len(row.trials),
                "verdicts": [trial.verdict.word for trial in row.trials],
                "seeds": list(row.seeds),
                "seconds": round(row.seconds, 1),
                "holds": row.holds,
                "directories": [trial.directory for trial in row.trials],
            }
            for row in rows
        ],
    }


def _cells(row: SuspectRow) -> tuple[str, ...]:
    accused = ", ".join(row.by_name or row.last.accusers) or row.last.verdict.word
    named = "-" if row.kind is SuspectKind.CORRECT else _named(row)
    mark = "ok" if row.holds else "WRONG"
    return (
        mark,
        row.id,
        row.scenario,
        accused,
        ", ".join(row.inside_by_name or row.last.inside) or "-",
        named,
        row.tries,
        str(row.last.seed),
        f"{row.seconds:.1f}",
    )


def _named(row: SuspectRow) -> str:
    return "yes" if row.by_name else "inside" if row.inside_by_name else "no"


def _complaint(row: SuspectRow) -> str:
    last = row.last
    if row.kind is SuspectKind.CORRECT:
        bad = next(trial for trial in row.trials if trial.verdict is not row.expected)
        return f"no bug is planted in it, and yet: {bad.sentence}  ({bad.directory})"
    for trial in row.trials:
        if _came_to_nothing(trial, row.drawn):
            return f"a try failed: {trial.sentence}  ({trial.directory})"
    if accusers := (*last.accusers, *last.inside):
        return f"accused by {', '.join(accusers)}, and by none of {', '.join(row.named)}"
    tries = counted(len(row.trials), "try", "tries")
    return f"unseen in {tries}; the last: {last.sentence}  ({last.directory})"
