"""What one night says beside the nights before it: pure, from the rows of the ledger.

A group of red runs has one scenario and one fingerprint. It is *new* if no earlier night has it,
*still* red if the last night that tried its subject has it, and *back* if an older one has; it is
*mended* if the night before has it, and this night tried its subject and did not see it. A subject
that an earlier night tried, and this one did not, is *not covered*. *Flaky*: the same plan, tried
more than once in the night, with different verdicts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from checkers.verdict import Verdict, in_words
from spark_reports.ledger import LedgerRow, Night, red_rows
from spark_reports.trends import MoreOften, Slower, more_often, slower_than


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
