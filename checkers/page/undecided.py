"""What was not judged, to be read first: a verdict is worth as much as the evidence behind it."""

from collections.abc import Sequence

from checkers.page.document import section
from checkers.page.markup import Markup, tag
from checkers.page.page_tables import table, verdict_word
from checkers.verdict import CheckResult, Verdict

EVIDENCE = "evidence-complete"
_DECIDES_NOTHING = (Verdict.ERROR, Verdict.VOID, Verdict.UNKNOWN)
_COLUMNS = (("verdict", "fixed"), ("check", "fixed"), ("why", "wide"), ("promised", "wide"))


def undecided_section(results: Sequence[CheckResult]) -> Markup | None:
    """Every check that decided nothing, and why; missing evidence first, for it explains others.

    None if all was judged.
    """
    undecided = [result for result in results if result.verdict in _DECIDES_NOTHING]
    if not undecided:
        return None
    undecided.sort(key=lambda result: (result.check != EVIDENCE, -result.verdict.value))
    words = (
        f"{len(undecided):,} of {len(results):,} checks decided nothing. What they promise may be "
        "broken in this run without being seen."
    )
    rows = [
        ("", (verdict_word(each.verdict), each.check, each.message, each.promise))
        for each in undecided
    ]
    return section("Not judged", tag("p", words), table(_COLUMNS, rows))


def evidence_in_short(results: Sequence[CheckResult]) -> Markup | str:
    """For the head of the page: whether all planned evidence is there."""
    found = next((result for result in results if result.check == EVIDENCE), None)
    if found is None:
        return "not counted"
    if found.verdict is Verdict.VALID:
        return "complete"
    return tag("span", found.message, class_=f"word {found.verdict.word}")
