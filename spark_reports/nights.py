"""What one night says beside the nights before it: pure, from the rows of the ledger.

A group of red runs has one scenario and one fingerprint. It is *new* if no earlier night has it,
*still* red if the last night that tried its subject has it, and *back* if an older one has; it is
*mended* if the night before has it, and this night tried its subject and did not see it. A subject
that an earlier night tried, and this one did not, is *not covered*. *Flaky*: the same plan, tried
more than once in the night, with different verdicts.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log
from statistics import fmean, median

from checkers.verdict import Verdict, in_words
from spark_reports.ledger import LedgerRow, Night, red_rows

# What changed over the nights, from the rows of the ledger: times that grew, and runs that are red
# or void more often. Pure.
#
# **Times.** One run says little about time, and a machine has good and bad nights. So each subject
# is compared with its own median, and the level of a night is the median of these ratios over all
# subjects of a target and runtime. The nights are split in two where the levels are most alike on
# either side (least squares); the split is a change if every level after it is above every level
# before it and nearer to those after it, and the median by a factor of 1.4. So it is told on the
# first morning, with the night and the commits that began it, and on the mornings after it.
#
# **Rates.** Fisher's exact test compares the share of red runs tonight with that of the nights
# before, and likewise the share of void ones; runs that were chosen because of a red one do not
# count. With many subjects some share rises by chance: of what
# is told, one in a hundred at most is expected to be chance (Benjamini and Hochberg, 1995).


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


class RedStanding(StrEnum):
    NEW = "new"
    BACK = "back"
    STILL = "still red"


GroupId = tuple[str, str]  # scenario, fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class RedGroup:
    """Red runs of a night that failed alike: these `rows` of `tried` runs of the same subjects are
    red with this fingerprint; `since` is the first night that has it. `green`: runs of the same
    scenario and settings, wherever they took place, that are decided and not red. `elsewhere`:
    other scenarios that have the fingerprint tonight. `small`: the smallest run that fails alike.
    """

    scenario: str
    fingerprint: str
    standing: RedStanding
    since: str
    rows: tuple[LedgerRow, ...]
    tried: int
    green: tuple[LedgerRow, ...] = ()
    elsewhere: tuple[str, ...] = ()
    small: LedgerRow | None = None

    @property
    def worst(self) -> LedgerRow:
        """The row to look at: with a kept run, if any has one."""
        return max(self.rows, key=lambda row: (row.counts_as.value, bool(row.directory), row.key))

    @property
    def rate(self) -> str:
        return in_words(len(self.rows), self.tried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One night beside those before it."""

    night: Night
    groups: tuple[RedGroup, ...]  # new, then back, then still red
    mended: tuple[tuple[GroupId, str], ...]  # with the night that has it
    flaky: tuple[tuple[LedgerRow, str], ...]  # a row of the plan, and how many are red
    uncovered: tuple[str, ...]
    missed: tuple[LedgerRow, ...]  # canaries that no check accused
    slower: tuple[Slower, ...] = ()
    more_often: tuple[MoreOften, ...] = ()

    @property
    def new(self) -> list[RedGroup]:
        return [group for group in self.groups if group.standing is not RedStanding.STILL]

    @property
    def doubts(self) -> list[str]:
        """Why the night cannot be trusted; empty if it can."""
        found = [
            f"{row.mutation} was planted, and no check named for it accused" for row in self.missed
        ]
        found += self.night.problems
        rows = [row for row in self.night.rows if not row.is_canary]
        if not any(row.is_canary for row in self.night.rows):
            found.append("no canary was run")
        if not rows:
            found.append("nothing was run")
        void = sum(row.counts_as is Verdict.VOID for row in rows)
        if void * _VOIDS > len(rows):
            found.append(f"{in_words(void, len(rows))} runs are void")
        if unknown := sum(row.counts_as is Verdict.UNKNOWN for row in rows):
            found.append(f"{in_words(unknown, len(rows))} runs are undecided")
        return found

    @property
    def verdict(self) -> Verdict:
        """Invalid with a red run of the nodes; else an error if a run is, or if the night cannot be
        trusted; else valid."""
        verdicts = {row.counts_as for group in self.groups for row in group.rows}
        if Verdict.INVALID in verdicts:
            return Verdict.INVALID
        return Verdict.ERROR if verdicts or self.doubts else Verdict.VALID


_VOIDS = 7  # one in so many: 15 %, as campaigns tolerate


def compare_nights(night: Night, before: Sequence[Night]) -> Comparison:
    """`before` in order of their dates."""
    earlier = [(each.date, _groups(each.rows), _subjects(each.rows)) for each in before]
    now = _groups(night.rows)
    covered = _subjects(night.rows)
    groups = [_group(group_id, now, night, earlier) for group_id in now]
    order = list(RedStanding)
    groups.sort(
        key=lambda each: (order.index(each.standing), -each.worst.counts_as.value, each.scenario)
    )
    mended = []
    if earlier:
        date, groups_before, _ = earlier[-1]
        for group_id, rows in groups_before.items():
            if group_id not in now and any(row.subject in covered for row in rows):
                mended.append((group_id, date))
    known = {subject: words for _, _, subjects in earlier for subject, words in subjects.items()}
    return Comparison(
        night=night,
        groups=tuple(groups),
        mended=tuple(sorted(mended)),
        flaky=tuple(_flaky(night.rows)),
        uncovered=tuple(sorted({words for key, words in known.items() if key not in covered})),
        missed=tuple(row for row in night.rows if row.is_missed),
        slower=tuple(slower_than(night, before)),
        more_often=tuple(more_often(night, before)),
    )


def _groups(rows: Iterable[LedgerRow]) -> dict[GroupId, list[LedgerRow]]:
    found: dict[GroupId, list[LedgerRow]] = defaultdict(list)
    for row in red_rows(rows):
        if not row.is_small:
            found[row.scenario, row.fingerprint].append(row)
    return dict(found)


def _subjects(rows: Iterable[LedgerRow]) -> dict[tuple[str, ...], str]:
    return {row.subject: row.subject_words for row in rows if not row.is_canary}


_Earlier = Sequence[
    tuple[str, Mapping[GroupId, Sequence[LedgerRow]], Mapping[tuple[str, ...], str]]
]


def _group(
    group_id: GroupId, now: Mapping[GroupId, Sequence[LedgerRow]], night: Night, earlier: _Earlier
) -> RedGroup:
    rows = now[group_id]
    subjects = {row.subject for row in rows}
    seen = [date for date, groups, _ in earlier if group_id in groups]
    tried = [date for date, _, covered in earlier if subjects & covered.keys()]
    standing = RedStanding.NEW
    if seen:
        standing = RedStanding.STILL if seen[-1] == tried[-1] else RedStanding.BACK
    return RedGroup(
        scenario=group_id[0],
        fingerprint=group_id[1],
        standing=standing,
        since=seen[0] if seen else night.date,
        rows=tuple(rows),
        tried=sum(row.subject in subjects and not row.is_small for row in night.rows),
        green=tuple(row for row in night.rows if _is_green_like(row, rows)),
        elsewhere=tuple(
            sorted(name for name, what in now if what == group_id[1] and name != group_id[0])
        ),
        small=_small_of(group_id, night.rows),
    )


def _is_green_like(row: LedgerRow, reds: Sequence[LedgerRow]) -> bool:
    alike = {(red.scenario, red.settings, red.mutation) for red in reds}
    is_green = row.counts_as is Verdict.VALID and not (row.is_small or row.is_canary)
    return is_green and (row.scenario, row.settings, row.mutation) in alike


def _small_of(group_id: GroupId, rows: Iterable[LedgerRow]) -> LedgerRow | None:
    small = [row for row in rows if row.is_small and row.is_red]
    return next((row for row in small if (row.scenario, row.fingerprint) == group_id), None)


def _flaky(rows: Iterable[LedgerRow]) -> list[tuple[LedgerRow, str]]:
    """The plans that were tried more than once, and were red only sometimes."""
    by_plan: dict[tuple[object, ...], list[LedgerRow]] = defaultdict(list)
    for row in rows:
        if not (row.is_canary or row.is_small):
            by_plan[(*row.subject, row.seed)].append(row)
    found = []
    for same in by_plan.values():
        red = [row for row in same if row.is_red]
        if red and len(red) < len(same):
            found.append((red[0], in_words(len(red), len(same))))
    return found
