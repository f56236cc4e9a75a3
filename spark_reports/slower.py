"""What became slower than on the nights before, from the rows of the ledger: pure.

One run says little about time, and a machine has good and bad nights. So each subject is compared
with its own earlier values, and what a night says is the median of these ratios over all subjects
of a target and runtime. It is told if it is far from 1, and clearly further than on each night
before: those show how far a night's median strays by itself.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from checkers.verdict import Verdict
from spark_reports.ledger import LedgerRow, Night

MEASURES: Mapping[str, str] = {
    "latency_p50_ms": "median latency",
    "latency_p99_ms": "99th percentile of latency",
    "longest_without_success_s": "longest time without a success",
}
_FACTOR = 1.4  # told from here on
_BEYOND = 1.1  # times the largest of the nights before
_LOOKS_BACK = 14  # nights
_NIGHTS, _SUBJECTS = 5, 6  # fewer are no basis

_Values = Mapping[tuple[str, ...], float]  # by subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """`factor`: the median, over `subjects`, of tonight's value by the median of earlier nights."""

    target: str
    runtime: str
    measure: str
    factor: float
    subjects: int

    @property
    def words(self) -> str:
        return (
            f"{self.target} ({self.runtime}): the {MEASURES[self.measure]} is {self.factor:.1f} "
            f"times what it was, over {self.subjects} subjects"
        )


def slower_than(night: Night, before: Sequence[Night]) -> list[Slower]:
    """`before` in order of their dates."""
    nights = [*before[-_LOOKS_BACK:], night]
    found = []
    places = sorted({(row.target, row.runtime) for row in night.rows if not row.is_canary})
    for target, runtime in places:
        for measure in MEASURES:
            values = [_values(each.rows, target, runtime, measure) for each in nights]
            values = [each for each in values if each]
            factors = _factors(values)
            if len(factors) < _NIGHTS + 1 or not _values(night.rows, target, runtime, measure):
                continue
            (now, subjects), earlier = factors[-1], [factor for factor, _ in factors[:-1]]
            if now >= max(_FACTOR, _BEYOND * max(earlier)):
                found.append(
                    Slower(
                        target=target,
                        runtime=runtime,
                        measure=measure,
                        factor=now,
                        subjects=subjects,
                    )
                )
    return found


def _values(rows: Sequence[LedgerRow], target: str, runtime: str, measure: str) -> _Values:
    """Of runs that are as they should be: a red one's times are what it is red for."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        value = row.statistics.get(measure, 0.0)
        is_good = row.counts_as is Verdict.VALID and not (row.is_canary or row.is_small)
        if is_good and (row.target, row.runtime) == (target, runtime) and value > 0:
            found[row.subject].append(value)
    return {subject: median(values) for subject, values in found.items()}


def _factors(values: Sequence[_Values]) -> list[tuple[float, int]]:
    """For each night but the first: the median ratio to the nights before it, and of how many
    subjects; nights with too few are left out."""
    found = []
    for place in range(1, len(values)):
        ratios = []
        for subject, now in values[place].items():
            earlier = [each[subject] for each in values[:place] if subject in each]
            if earlier:
                ratios.append(now / median(earlier))
        if len(ratios) >= _SUBJECTS:
            found.append((median(ratios), len(ratios)))
    return found
