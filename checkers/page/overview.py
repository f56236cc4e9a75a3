"""Many scenarios on one page: each with its sides, what was expected of them, and what was seen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from checkers.counted import counted
from checkers.page.comparison import ComparedSide
from checkers.page.document import document, section
from checkers.page.markup import Child, tag
from checkers.page.page_tables import table

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
        section("Side by side", table(_COLUMNS, [row for each in told for row in _rows(each)])),
    )
    return document(f"{counted(len(told), 'scenario')}", body)


def _rows(told: Compared) -> Iterator[tuple[str, Sequence[Child]]]:
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
