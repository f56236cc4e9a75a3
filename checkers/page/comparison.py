"""The sides of one scenario beside each other, one side on two targets, and many scenarios on one
page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from statistics import median, quantiles

import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER
from checkers.page import units
from checkers.page.document import Child, Markup, document, section, tag
from checkers.page.page_tables import table
from checkers.page.partition_drawing import PartitionSpan, partition_lanes
from checkers.run.expectation import Expectation
from checkers.verdict import EventValue, Judgement, Verdict, counted, in_words

# One side of a scenario on two targets: the verdicts, and the changes of each partition, beside
# each other.


Changes = Mapping[str, Sequence[str]]  # by partition: its states, one after the other
Aligned = tuple[str, str]  # the state on each target; "" if only the other one had it
_NOTHING = "-"


def partition_changes(evidence: Evidence) -> Changes:
    """For the partitions that clients used: leader, ISR and ELR after each change of one of these,
    until the last answer to a client: some nodes are stopped in good order afterwards."""
    end_ns = pc.max(evidence.tables["ops"]["t1"]).as_py() or 0
    told = {
        lane.key: [_side_in_words(span) for span in lane.spans if span.from_ns < end_ns]
        for lane in partition_lanes(evidence, end_ns)
    }
    return {key: [state for state, _ in groupby(found)] for key, found in sorted(told.items())}


def _side_in_words(span: PartitionSpan) -> str:
    leader = "no node" if span.leader == NO_LEADER else f"node {span.leader}"
    elr = f", ELR {sorted(span.elr)}" if span.elr else ""
    return f"{leader} leads, ISR {sorted(span.isr)}{elr}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTarget:
    """The results of all runs of a side on one target; the first run is shown."""

    target: str
    verdicts: Sequence[str]
    changes: Sequence[Changes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A side on both targets."""

    side: str
    one: OnTarget
    other: OnTarget

    @property
    def differs_in_verdict(self) -> bool:
        """Whether some run of one had a verdict that none of the other had."""
        return set(self.one.verdicts) != set(self.other.verdicts)

    @property
    def partitions(self) -> Sequence[str]:
        return sorted({key for on in (self.one, self.other) for each in on.changes for key in each})

    def rows(self, partition: str) -> Sequence[Aligned]:
        """The changes of the first run of each, aligned; no run is the same twice, so a run of the
        other one with the same changes is shown instead, if there is one."""
        first = list(self.one.changes[0].get(partition, ()))
        others = [list(each.get(partition, ())) for each in self.other.changes]
        return list(_aligned(first, first if first in others else others[0]))

    def differs_in(self, partition: str) -> bool:
        return any(one != other for one, other in self.rows(partition))


def _aligned(one: Sequence[str], other: Sequence[str]) -> Iterator[Aligned]:
    for _, low, high, low_other, high_other in SequenceMatcher(
        None, one, other, autojunk=False
    ).get_opcodes():
        yield from zip_longest(one[low:high], other[low_other:high_other], fillvalue="")


def as_lines(found: Beside) -> Iterator[str]:
    """For a terminal."""
    names = f"{found.one.target} and {found.other.target}"
    yield f"{found.side}, {names} beside each other"
    told = [f"{on.target} {', '.join(sorted(set(on.verdicts)))}" for on in (found.one, found.other)]
    yield f"  verdicts {'differ' if found.differs_in_verdict else 'agree'}: {'; '.join(told)}"
    for partition in found.partitions:
        rows = found.rows(partition)
        if not found.differs_in(partition):
            yield f"  {partition}: the same {counted(len(rows), 'state')} of leader, ISR and ELR"
            continue
        yield f"  {partition}: states of leader, ISR and ELR differ"
        width = max(len(one) for one, _ in rows)
        for one, other in rows:
            mark = " " if one == other else "!"
            yield f"  {mark} {one or _NOTHING:<{width}}  {other or _NOTHING}"


def beside_section(found: Beside) -> Markup:
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if found.differs_in_verdict else "",
            ["verdict", *(", ".join(on.verdicts) for on in (found.one, found.other))],
        )
    ]
    for partition in found.partitions:
        for number, (one, other) in enumerate(found.rows(partition)):
            name = partition if number == 0 else ""
            rows.append(("" if one == other else "bad", [name, one or _NOTHING, other or _NOTHING]))
    columns = [("", "fixed"), (found.one.target, "wide"), (found.other.target, "wide")]
    return section(
        f"{found.side}: {found.one.target} and {found.other.target}", table(columns, rows)
    )


GAPS = "longest_without_"  # so many seconds: the beginning of a statistic's name


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRun:
    """`doubt`: why it proves nothing about its side; "" if it counts."""

    judgement: Judgement
    href: str  # of its page, from where the comparison is
    command: str
    took_s: float  # from its plan to its page
    doubt: str = ""
    changes: Changes = field(default_factory=dict)  # of partitions, if targets are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSide:
    """One side of the scenario, and all runs of it."""

    name: str
    promise: str
    expected: Expectation
    runs: tuple[SideRun, ...]
    target: str = ""  # if the same side exists on several

    @property
    def column(self) -> str:
        return f"{self.name}, {self.target}" if self.target else self.name

    @property
    def as_expected(self) -> int:
        return sum(self.expects(run) for run in self.runs)

    @property
    def counted(self) -> int:
        """Runs that are not in doubt."""
        return sum(not run.doubt for run in self.runs)

    def in_words(self, of_them: str = "") -> str:
        """How many of those that count came out as expected, and how many were set aside."""
        aside = len(self.runs) - self.counted
        told = f"{in_words(self.as_expected, self.counted)}{of_them}"
        return f"{told}, {aside} set aside" if aside else told

    def keeps(self, least: int, times: int) -> bool:
        """Whether this many runs count, and all of them were as expected; for a side that is to be
        accused, `least` of them."""
        most_amiss = times - least if self.expected.verdict is Verdict.INVALID else 0
        return self.counted >= times and self.counted - self.as_expected <= most_amiss

    @property
    def took(self) -> "Gap":
        """A run in seconds."""
        return _gap([run.took_s for run in self.runs])

    def expects(self, run: SideRun) -> bool:
        return self.expected.holds(run.judgement)


_FOR_P99 = 100  # runs: with fewer, the 99th percentile is the most of all


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """In seconds: median, least, most and 99th percentile of all runs (None: too few of them)."""

    median: float
    least: float
    most: float
    p99: float | None = None

    def in_words(self) -> str:
        if self.least == self.most:
            return f"{self.median:.1f} s"
        tail = "" if self.p99 is None else f", p99 {self.p99:.1f} s"
        return f"{self.median:.1f} s ({self.least:.1f}-{self.most:.1f}){tail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsLost:
    """Records that were acknowledged or polled and are gone, allowed, not, or undecided, of all
    runs that count; and of how many runs they are. Within a run losses are of one cause, so the
    bounds are those of the runs."""

    records: int
    runs: int
    of_runs: int

    def in_words(self) -> str:
        return f"{self.records:,}, in {in_words(self.runs, self.of_runs)} runs"


_LOST = ("lost", "allowed_loss", "lost_undecided")


def records_lost(side: ComparedSide, check: str) -> RecordsLost | None:
    """By the facts of that check; None if no run has them."""
    found = [
        sum(each for name in _LOST if isinstance(each := result.facts.get(name), int))
        for run in side.runs
        if not run.doubt
        for result in run.judgement.results
        if result.check == check and result.facts
    ]
    if not found:
        return None
    return RecordsLost(records=sum(found), runs=sum(map(bool, found)), of_runs=len(found))


def gaps(side: ComparedSide, name: str) -> Gap | None:
    """None if no run of the side has the number."""
    found = [run.judgement.statistics.get(name) for run in side.runs]
    known = [float(value) for value in found if isinstance(value, int | float)]
    return _gap(known) if known else None


def _gap(seconds: Sequence[float]) -> Gap:
    is_enough = len(seconds) >= _FOR_P99
    return Gap(
        median=median(seconds),
        least=min(seconds),
        most=max(seconds),
        p99=quantiles(seconds, n=100, method="inclusive")[-1] if is_enough else None,
    )


def beside(sides: Sequence[ComparedSide]) -> list[Beside]:
    """Sides of two targets, beside each other; empty if there is one target."""
    found: list[Beside] = []
    for name in dict.fromkeys(side.name for side in sides):
        on = [_on_target(side) for side in sides if side.name == name]
        if len(on) == 2:
            found.append(Beside(side=name, one=on[0], other=on[1]))
    return found


def _on_target(side: ComparedSide) -> OnTarget:
    return OnTarget(
        target=side.target,
        verdicts=[run.judgement.verdict.word for run in side.runs],
        changes=[run.changes for run in side.runs],
    )


def render_comparison(
    name: str, description: str, sides: Sequence[ComparedSide], facts_of: str
) -> str:
    """A self-contained page. `facts_of`: the facts of this check are shown for every run."""
    body = (
        tag(
            "header",
            tag("h1", tag("span", name, class_="what")),
            tag("p", description, class_="sentence"),
        ),
        section("Side by side", table(_columns(sides), _rows(sides, facts_of))),
        *(beside_section(each) for each in beside(sides)),
        *(section(side.column, _runs(side)) for side in sides),
    )
    return document(f"{name}: {' and '.join(side.column for side in sides)}", body)


def _columns(sides: Sequence[ComparedSide]) -> list[tuple[str, str]]:
    return [("", "fixed"), *((side.column, "wide") for side in sides)]


def _rows(sides: Sequence[ComparedSide], facts_of: str) -> list[tuple[str, Sequence[Child]]]:
    first = [side.runs[0].judgement for side in sides]
    rows: list[tuple[str, Sequence[Child]]] = [
        ("", ["promised", *(side.promise for side in sides)]),
        ("", ["expected", *(str(side.expected) for side in sides)]),
        ("", ["as expected", *(side.in_words() for side in sides)]),
        ("", ["a run took", *(side.took.in_words() for side in sides)]),
        ("", ["first run", *(judgement.sentence for judgement in first)]),
    ]
    lost = [records_lost(side, facts_of) for side in sides]
    if any(lost):
        cells = (each.in_words() if each is not None else units.NOTHING for each in lost)
        rows.append(("", ["acknowledged or polled records lost", *cells]))
    rows += [("", [label, *cells]) for label, cells in _numbers(sides)]
    facts = [_facts(judgement, facts_of) for judgement in first]
    for fact in dict.fromkeys(fact for known in facts for fact in known):
        if all(known.get(fact) == "0" for known in facts):
            continue  # no difference if it happened nowhere
        values = (known.get(fact, units.NOTHING) for known in facts)
        rows.append(("", [f"{fact.replace('_', ' ')}, first run", *values]))
    return rows


def _numbers(sides: Sequence[ComparedSide]) -> Iterator[tuple[str, Sequence[str]]]:
    """How long nothing went on, over all runs of each side."""
    names = dict.fromkeys(
        name
        for side in sides
        for run in side.runs
        for name in run.judgement.statistics
        if name.startswith(GAPS)
    )
    for name in names:
        found = [gaps(side, name) for side in sides]
        yield (
            units.label(name),
            [gap.in_words() if gap is not None else units.NOTHING for gap in found],
        )


def _word(verdict: Verdict) -> Markup:
    return tag("span", verdict.word, class_=f"word {verdict.word}")


def _facts(judgement: Judgement, check: str) -> Mapping[str, str]:
    rows = (result.facts for result in judgement.results if result.check == check)
    return {name: _shown(value) for name, value in next(rows, {}).items()}


def _shown(value: EventValue) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _in_words(side: ComparedSide, run: SideRun) -> str:
    """What was seen, and what of it was unexpected."""
    mismatch = side.expected.mismatch(run.judgement)
    sentence = run.judgement.sentence
    if run.doubt:
        return f"{sentence} (set aside: {run.doubt})"
    return f"{sentence} (not as expected: {mismatch})" if mismatch else sentence


def _runs(side: ComparedSide) -> Markup:
    columns = (("run", "fixed"), ("verdict", "fixed"), ("in words", "wide"), ("again", "wide"))
    rows = [
        (
            "" if side.expects(run) else "bad",
            (
                tag("a", run.judgement.run_id, href=run.href),
                _word(run.judgement.verdict),
                _in_words(side, run),
                tag("code", run.command),
            ),
        )
        for run in side.runs
    ]
    return table(columns, rows)


# Many scenarios on one page: each with its sides, their expectations, and their results.


_COLUMNS = (
    ("scenario", "fixed"),
    ("side", "fixed"),
    ("expected", "fixed"),
    ("as expected", "fixed"),
    ("promised", "wide"),
    ("first run", "wide"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One scenario; `href` is its own page, relative to the overview."""

    name: str
    description: str
    sides: tuple[ComparedSide, ...]
    href: str

    @property
    def is_as_expected(self) -> bool:
        return all(side.as_expected == len(side.runs) for side in self.sides)

    def keeps(self, least: int, times: int) -> bool:
        """Whether every side is as expected."""
        return all(side.keeps(least, times) for side in self.sides)


def render_overview(told: Sequence[Compared]) -> str:
    """A self-contained page."""
    runs = sum(len(side.runs) for each in told for side in each.sides)
    good = sum(side.as_expected for each in told for side in each.sides)
    body = (
        tag(
            "header",
            tag("h1", tag("span", "Scenarios", class_="what")),
            tag("p", f"{good:,} of {runs:,} runs were as expected", class_="sentence"),
        ),
        section(
            "Side by side", table(_COLUMNS, [row for each in told for row in _overview_rows(each)])
        ),
    )
    return document(f"{counted(len(told), 'scenario')}", body)


def _overview_rows(told: Compared) -> Iterator[tuple[str, Sequence[Child]]]:
    for number, side in enumerate(told.sides):
        yield (
            "" if side.as_expected == len(side.runs) else "bad",
            (
                tag("a", told.name, href=told.href) if number == 0 else "",
                side.column,
                tag("span", str(side.expected), class_=f"word {side.expected.verdict.word}"),
                side.in_words(),
                side.promise,
                side.runs[0].judgement.sentence,
            ),
        )
