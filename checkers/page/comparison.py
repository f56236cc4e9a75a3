"""The sides of one scenario, beside each other: what each promised, and what was seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from checkers.interval import in_words
from checkers.page import units
from checkers.page.document import document, section
from checkers.page.markup import Child, Markup, tag
from checkers.page.page_tables import table
from checkers.page.two_targets import Beside, Changes, OnTarget, beside_section
from checkers.run.expectation import Expectation
from checkers.verdict import EventValue, Judgement, Verdict

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """In seconds: median, least and most of all runs."""

    median: float
    least: float
    most: float

    def in_words(self) -> str:
        if self.least == self.most:
            return f"{self.median:.1f} s"
        return f"{self.median:.1f} s ({self.least:.1f}-{self.most:.1f})"


def gaps(side: ComparedSide, name: str) -> Gap | None:
    """None if no run of the side has the number."""
    found = [run.judgement.statistics.get(name) for run in side.runs]
    known = [float(value) for value in found if isinstance(value, int | float)]
    return _gap(known) if known else None


def _gap(seconds: Sequence[float]) -> Gap:
    return Gap(median=median(seconds), least=min(seconds), most=max(seconds))


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
    rows += [("", [label, *cells]) for label, cells in _numbers(sides)]
    facts = [_facts(judgement, facts_of) for judgement in first]
    for fact in dict.fromkeys(fact for known in facts for fact in known):
        if all(known.get(fact) == "0" for known in facts):
            continue  # no difference if it happened nowhere
        cells = (known.get(fact, units.NOTHING) for known in facts)
        rows.append(("", [fact.replace("_", " "), *cells]))
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
    unlike = side.expected.unlike(run.judgement)
    sentence = run.judgement.sentence
    if run.doubt:
        return f"{sentence} (set aside: {run.doubt})"
    return f"{sentence} (not as expected: {unlike})" if unlike else sentence


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
