"""What changed over the nights, from the rows of the ledger: times that grew, and runs that are red
or void more often. Pure.

**Times.** One run says little about time, and a machine has good and bad nights. So each subject is
compared with its own median, and the level of a night is the median of these ratios over all
subjects of a target and runtime. The nights are split in two where the levels are most alike on
either side (least squares); the split is a change if every level after it is above every level
before it and nearer to those after it, and the median by a factor of 1.4. So it is told on the
first morning, with the night and the commits that began it, and on the mornings after it.

**Rates.** Fisher's exact test compares the share of red runs tonight with that of the nights
before, and likewise the share of void ones; runs that were chosen because of a red one do not
count. With many subjects some share rises by chance: of what
is told, one in a hundred at most is expected to be chance (Benjamini and Hochberg, 1995).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import fmean, median

from checkers.verdict import Verdict, in_words
from spark_reports.ledger import LedgerRow, Night

MEASURES: Mapping[str, str] = {
    "latency_p50_ms": "median latency",
    "latency_p99_ms": "99th percentile of latency",
    "longest_without_success_s": "longest time without a success",
}
_FACTOR = 1.4  # told from here on
_BEYOND = 1.1  # times the largest level before, where one night is all that there is after it
_LOOKS_BACK = 14  # nights
_NIGHTS, _SUBJECTS = 5, 6  # fewer are no basis
_CHANCE = 0.01  # the share of what is told that may be chance

_Values = Mapping[tuple[str, ...], float]  # by subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """`factor`: the median level from the night `since` on by the median level before it;
    `subjects` that tonight has. `commits`: the last before, and the first of `since`."""

    target: str
    runtime: str
    measure: str
    factor: float
    subjects: int
    since: str
    commits: str

    @property
    def words(self) -> str:
        between = f", {self.commits}" if self.commits else ""
        return (
            f"{self.target} ({self.runtime}): the {MEASURES[self.measure]} is {self.factor:.1f} "
            f"times what it was, over {self.subjects} subjects, since {self.since}{between}"
        )


def slower_than(night: Night, before: Sequence[Night]) -> list[Slower]:
    """`before` in order of their dates."""
    nights = [*before[-_LOOKS_BACK:], night]
    places = sorted({(row.target, row.runtime) for row in night.rows if not row.is_canary})
    found = [
        _slower(nights, target, runtime, measure)
        for target, runtime in places
        for measure in MEASURES
    ]
    return [each for each in found if each is not None]


def _slower(nights: Sequence[Night], target: str, runtime: str, measure: str) -> Slower | None:
    values = [_values(night.rows, target, runtime, measure) for night in nights]
    kept = [(night, level) for night, level in zip(nights, _levels(values), strict=True) if level]
    if len(kept) < _NIGHTS + 1 or kept[-1][0] is not nights[-1]:
        return None
    logs = [log(level) for _, level in kept]
    change = min(range(_NIGHTS, len(logs)), key=lambda at: _unlike(logs[:at]) + _unlike(logs[at:]))
    before, after = logs[:change], logs[change:]
    rise = median(after) - median(before)
    clear = max(before) + (log(_BEYOND) if len(after) == 1 else 0.0)
    if rise < log(_FACTOR) or min(after) < max(clear, median(before) + rise / 2):
        return None
    return Slower(
        target=target,
        runtime=runtime,
        measure=measure,
        factor=exp(rise),
        subjects=len(values[-1]),
        since=kept[change][0].date,
        commits=commits_between(kept[change - 1][0], kept[change][0]),
    )


def _unlike(levels: Sequence[float]) -> float:
    """The sum of squares about their mean."""
    mean = fmean(levels)
    return sum((level - mean) ** 2 for level in levels)


def _values(rows: Sequence[LedgerRow], target: str, runtime: str, measure: str) -> _Values:
    """Of runs that are as they should be: a red one's times are what it is red for."""
    found: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        value = row.statistics.get(measure, 0.0)
        is_good = row.counts_as is Verdict.VALID and not (row.is_canary or row.is_small)
        if is_good and (row.target, row.runtime) == (target, runtime) and 0 < value < inf:
            found[row.subject].append(value)
    return {subject: median(values) for subject, values in found.items()}


def _levels(values: Sequence[_Values]) -> list[float]:
    """For each night the median of its values, each by the median of its subject over all nights
    that have it; 0 for a night with too few subjects that another night has too."""
    of_subject: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for night in values:
        for subject, value in night.items():
            of_subject[subject].append(value)
    usual = {subject: median(found) for subject, found in of_subject.items() if len(found) > 1}
    ratios = [[night[one] / usual[one] for one in night if one in usual] for night in values]
    return [median(each) if len(each) >= _SUBJECTS else 0.0 for each in ratios]


def commits_between(before: Night, after: Night) -> str:
    """`0123456789..89abcdef01`, the commits that a change may come from; "" if it is the same or
    if a night does not say."""
    old, new = (
        sorted((row.began, row.commit) for row in night.rows if row.commit and row.is_drawn)
        for night in (before, after)
    )
    if not old or not new or old[-1][1] == new[0][1]:
        return ""
    return f"commits {old[-1][1][:10]}..{new[0][1][:10]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreOften:
    """A subject of which `count` of `runs` are `what` tonight, and fewer were before."""

    subject: str
    what: str
    count: int
    runs: int
    count_before: int
    runs_before: int

    @property
    def words(self) -> str:
        return (
            f"{self.subject}: {in_words(self.count, self.runs)} {self.what} tonight, "
            f"{in_words(self.count_before, self.runs_before)} on the nights before"
        )


_WHAT: Mapping[str, Callable[[LedgerRow], bool]] = {
    "red": lambda row: row.is_red,
    "void": lambda row: row.counts_as is Verdict.VOID,
}


def more_often(night: Night, before: Sequence[Night]) -> list[MoreOften]:
    """`before` in order of their dates."""
    from scipy.stats import false_discovery_control, fisher_exact  # half a second

    tried = list(_rates(night, before[-_LOOKS_BACK:]))
    if not tried:
        return []
    chances = [
        fisher_exact(
            [
                [each.count, each.runs - each.count],
                [each.count_before, each.runs_before - each.count_before],
            ],
            alternative="greater",
        ).pvalue
        for each in tried
    ]
    adjusted = false_discovery_control(chances)
    return [each for each, chance in zip(tried, adjusted, strict=True) if chance <= _CHANCE]


def _rates(night: Night, before: Sequence[Night]) -> Iterator[MoreOften]:
    """Of the subjects that both have; each is tested, whether its share has risen or not."""
    rows_before = [row for each in before for row in each.rows]
    names = {row.subject: row.subject_words for row in night.rows}
    for what, is_so in _WHAT.items():
        runs, count = _count(night.rows, is_so)
        runs_before, count_before = _count(rows_before, is_so)
        for subject in sorted(runs.keys() & runs_before.keys()):
            yield MoreOften(
                subject=names[subject],
                what=what,
                count=count[subject],
                runs=runs[subject],
                count_before=count_before[subject],
                runs_before=runs_before[subject],
            )


def _count(
    rows: Sequence[LedgerRow], is_so: Callable[[LedgerRow], bool]
) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """Runs by subject, and those of them that are so."""
    drawn = [row for row in rows if row.is_drawn]
    return (
        Counter(row.subject for row in drawn),
        Counter(row.subject for row in drawn if is_so(row)),
    )
