"""The expected result of a run, more exactly than by its verdict: by which check, and as what."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import inf
from typing import Any

from checkers.conclusion import STARVED
from checkers.verdict import CheckResult, Judgement, Verdict

_HARNESS = "run"  # the row about a failure of the harness


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """From `least` to `most` of a statistic of the run, such as `longest_without_topic_s`; or of a
    fact of `check`, such as its `allowed_loss`."""

    name: str
    check: str = ""
    least: float = -inf
    most: float = inf

    def __str__(self) -> str:
        bounds = [f"{self.least:g} at least"] if self.least > -inf else []
        bounds += [f"{self.most:g} at most"] if self.most < inf else []
        return f"{self.name.replace('_', ' ')} {' and '.join(bounds)}"

    def mismatch(self, judgement: Judgement) -> str:
        """The actual value; "" if it is within the bounds. A missing number is within none."""
        found = judgement.statistics.get(self.name)
        if self.check:
            rows = [row.facts for row in judgement.results if row.check == self.check]
            found = rows[0].get(self.name) if rows else None
        if isinstance(found, int | float) and self.least <= found <= self.most:
            return ""
        seen = f"{found:,}" if isinstance(found, int | float) else "unknown"
        return f"{self.name.replace('_', ' ')} is {seen}, expected {self}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A verdict, given by `check`, which names `anomaly` in its message and counts `least`
    violations; and numbers within bounds.

    The checks of `also` may accuse beside it, as they see the same from another side, or say why
    they do not (a starved machine); no others may: another accusation is news. So is a check that
    failed itself. If no check is named, any may accuse.
    """

    verdict: Verdict
    check: str = ""  # "": any
    anomaly: str = ""
    least: int = 1
    also: tuple[str, ...] = ()
    numbers: tuple[Bound, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """For `run.json`; `expectation_of` reads it back."""
        bounds = [
            {name: value for name, value in asdict(bound).items() if value not in (inf, -inf)}
            for bound in self.numbers
        ]
        return {**asdict(self), "verdict": self.verdict.word, "numbers": bounds}

    def __str__(self) -> str:
        by = f" by {self.check}" if self.check else ""
        anomaly = f", {self.anomaly}" if self.anomaly else ""
        times = f", {self.least:,} at least" if self.least > 1 else ""
        numbers = "".join(f"; {bound}" for bound in self.numbers)
        return f"{self.verdict.word}{by}{anomaly}{times}{numbers}"

    def holds(self, judgement: Judgement) -> bool:
        return not self.mismatch(judgement)

    def mismatch(self, judgement: Judgement) -> str:
        """How a run differs from the expectation, in words; "" if it does not."""
        return "; ".join(self._differences(judgement))

    def _differences(self, judgement: Judgement) -> Iterator[str]:
        if judgement.verdict is not self.verdict:
            yield f"{judgement.verdict.word}, expected {self}"
            return
        if self.check:
            yield from self._not_by_it(judgement)
            known = {self.check, *self.also}
            others = [
                row.check for row in _of(judgement, Verdict.INVALID) if row.check not in known
            ]
            if others:
                yield f"{', '.join(dict.fromkeys(others))} accused as well, which was not expected"
            # If the nodes are stuck, the harness may not come to its end either.
            failed = [
                row
                for row in _of(judgement, Verdict.ERROR)
                if row.check != _HARNESS and not (row.check in self.also and STARVED in row.facts)
            ]
            if failed:
                yield f"{failed[0].check} failed itself: {failed[0].message}"
        yield from filter(None, (bound.mismatch(judgement) for bound in self.numbers))

    def _not_by_it(self, judgement: Judgement) -> Iterator[str]:
        of_it = [row for row in judgement.results if row.check == self.check]
        rows = [row for row in of_it if row.verdict is self.verdict]
        if not rows:
            yield f"not by {self.check}, which is {_words(of_it)}"
        elif self.anomaly not in rows[0].message:
            yield f"{self.check} says no {self.anomaly}: {rows[0].message}"
        elif self.verdict is Verdict.INVALID and rows[0].count < self.least:
            yield f"{self.check} counts {rows[0].count:,}, expected {self.least:,} at least"


def expectation_of(row: Mapping[str, Any]) -> Expectation | None:
    """The expectation that `as_json` wrote; None for nothing. Raises ValueError."""
    if not row:
        return None
    try:
        known = {
            "verdict": Verdict[row["verdict"].upper()],
            "also": tuple(row["also"]),
            "numbers": tuple(Bound(**bound) for bound in row["numbers"]),
        }
        return Expectation(**{**row, **known})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an expectation: {error!r}") from error


def _of(judgement: Judgement, verdict: Verdict) -> list[CheckResult]:
    return [row for row in judgement.results if row.verdict is verdict]


def _words(rows: list[CheckResult]) -> str:
    return rows[0].verdict.word if rows else "not among the checks of this run"
