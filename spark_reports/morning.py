"""The page of a morning, from the ledger alone: is it safe to ship, and can the night be trusted?

The first screen answers that, and names what is new, known and mended, and at most five things to
look at, each with the command that makes it again. Needs no Spark, and no script.
"""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from checkers.page import units
from checkers.page.document import STYLE, Child, Markup, joined, tag
from checkers.page.page_tables import Heading, fact_list, table, verdict_word
from checkers.verdict import Verdict, counted
from spark_reports.ledger import LedgerRow, Night, red_rows
from spark_reports.nights import Comparison, RedGroup

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_LOOKED_AT = 5
_STRIP_NIGHTS = 30
_PAGE = "report.html"

_STYLE = """
td { overflow-wrap: anywhere; } code { font-size: 0.92em; overflow-wrap: anywhere; }
a { color: inherit; text-underline-offset: 2px; }
.look li { margin: 0 0 9px; } .look code { display: block; color: var(--soft); }
.strip { display: flex; align-items: flex-end; gap: 2px; height: 46px; margin: 6px 0; }
.strip i { flex: 1 1 0; max-width: 18px; min-height: 3px; background: var(--valid); }
.strip i.invalid { background: var(--invalid); } .strip i.error { background: var(--error); }
"""


def render_morning(found: Comparison, before: Sequence[Night], out: Path, root: Path) -> str:
    """`before` in order of their dates. Links are relative to where `out` lies; the directories of
    rows are in `root`."""
    body = (
        _head(found),
        _look_at(found, out, root),
        _section("Red", _red_table(found, out, root)) if found.groups else None,
        _mended(found),
        _section("Nights", _strip([*before[-_STRIP_NIGHTS + 1 :], found.night])),
        _section("What was run", _run_table(found.night.rows)),
        _folded("Not covered, unlike before", found.uncovered),
        _section("Planted bugs", _canary_table(found.night.rows)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"kraft-chaos: night of {found.night.date}"),
        tag("style", Markup(STYLE + _STYLE)),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *body), lang='en')}\n"


def _section(title: str, *parts: Child) -> Markup:
    return tag("section", tag("h2", title), *parts)


def _head(found: Comparison) -> Markup:
    rows = [row for row in found.night.rows if not row.is_canary]
    words = Counter(row.counts_as for row in rows)
    known = len(found.groups) - len(found.new)
    commits = ", ".join(sorted({row.commit[:10] for row in rows if row.commit}))
    facts: list[tuple[str, Child]] = [
        ("new reds", _loud(len(found.new))),
        ("known reds", units.quantity(known)),
        ("mended", units.quantity(len(found.mended))),
        ("flaky", units.quantity(len(found.flaky))),
        ("slower", units.quantity(len(found.slower))),
        ("more often", units.quantity(len(found.more_often))),
        ("runs", units.quantity(len(rows))),
        ("void", units.quantity(words[Verdict.VOID])),
        ("unknown", units.quantity(words[Verdict.UNKNOWN])),
        ("errors", units.quantity(words[Verdict.ERROR])),
        ("not covered", units.quantity(len(found.uncovered))),
        ("commits", commits or "unknown"),
    ]
    return tag(
        "header",
        tag(
            "h1",
            tag("span", found.verdict.word, class_="word"),
            tag("span", f"night of {found.night.date}", class_="what"),
        ),
        tag("p", _answer(found), class_="sentence"),
        fact_list(facts),
        class_=found.verdict.word,
    )


def _loud(count: int) -> Markup:
    return tag("span", units.quantity(count), class_="word invalid" if count else None)


def _answer(found: Comparison) -> str:
    """Whether it is safe to ship, then whether the night can be trusted."""
    broken = [each for each in found.groups if each.worst.counts_as is Verdict.INVALID]
    if broken:
        said = f"Do not ship: {counted(len(broken), 'promise')} broken"
        said += f", {len([each for each in broken if each in found.new])} of them new."
    elif found.doubts:
        said = "Nothing says that it is safe to ship: the night proves nothing."
    else:
        said = "Nothing that was tried speaks against shipping."
    if found.doubts:
        return f"{said} The night cannot be trusted: {'; '.join(found.doubts)}."
    canaries = sum(row.is_canary for row in found.night.rows)
    return f"{said} The night can be trusted: the judge found {counted(canaries, 'planted bug')}."


def _look_at(found: Comparison, out: Path, root: Path) -> Markup | None:
    """New ones first, as the groups stand; then canaries that were missed."""
    items = [
        tag(
            "li",
            verdict_word(group.worst.counts_as),
            f" {group.standing}: {group.scenario}: {group.fingerprint}, {group.rate} runs",
            _witness(group),
            joined(" (", _link(group.worst, out, root), ")"),
            tag("code", group.worst.command),
        )
        for group in found.groups[:_LOOKED_AT]
    ]
    items += [
        tag("li", f"not found: {row.mutation} in {row.scenario}", tag("code", row.command))
        for row in found.missed
    ][: _LOOKED_AT - len(items)]
    return _section("Look at", tag("ol", *items, class_="look")) if items else None


def _witness(group: RedGroup) -> str:
    what = [str(event["what"]) for event in group.worst.witness if event.get("what")]
    return f": {what[-1]}" if what else ""


_RED_COLUMNS: tuple[Heading, ...] = (
    ("", "fixed"),
    ("scenario", ""),
    ("failure", "wide"),
    ("runs", "fixed"),
    ("since", "fixed"),
    ("targets", ""),
    ("run", ""),
)


def _red_table(found: Comparison, out: Path, root: Path) -> Markup:
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if group in found.new else "",
            (
                group.standing.value,
                group.scenario,
                group.fingerprint,
                group.rate,
                group.since,
                ", ".join(sorted({row.version or row.target for row in group.rows})),
                _link(group.worst, out, root),
            ),
        )
        for group in found.groups
    ]
    return table(_RED_COLUMNS, rows)


def _link(row: LedgerRow, out: Path, root: Path) -> Child:
    page = root / row.directory / _PAGE
    if not row.directory or not page.exists():
        return f"seed {row.seed}"
    return tag("a", f"seed {row.seed}", href=quote(os.path.relpath(page, out.resolve().parent)))


def _mended(found: Comparison) -> Markup | None:
    items = [tag("li", f"{name}: {what}, last seen {date}") for (name, what), date in found.mended]
    items += [tag("li", f"flaky: {row.subject_words}: {share}") for row, share in found.flaky]
    items += [tag("li", f"slower: {each.words}") for each in found.slower]
    items += [tag("li", f"more often: {each.words}") for each in found.more_often]
    return _section("Mended, flaky, slower, more often", tag("ul", *items)) if items else None


def _folded(title: str, names: Sequence[str]) -> Markup | None:
    if not names:
        return None
    items = (tag("li", name) for name in names)
    return tag("details", tag("summary", f"{title}: {len(names):,}"), tag("ul", *items))


def _strip(nights: Sequence[Night]) -> Markup:
    """A bar a night, as high as its number of reds; the newest at the right."""
    reds = [red_rows(night.rows) for night in nights]
    most = max(1, *map(len, reds))
    bars = [
        tag(
            "i",
            class_=_colour(rows),
            style=f"height: {max(100 * len(rows) // most, 6)}%",
            title=f"{night.date}: {counted(len(rows), 'red run')} of {len(night.rows):,}",
        )
        for night, rows in zip(nights, reds, strict=True)
    ]
    words = f"red runs from {nights[0].date} to {nights[-1].date}, at most {most} a night"
    return joined(tag("div", *bars, class_="strip"), tag("p", words, class_="soft"))


def _colour(rows: Sequence[LedgerRow]) -> str:
    if any(row.counts_as is Verdict.INVALID for row in rows):
        return "invalid"
    return "error" if rows else "valid"


def _run_table(rows: Sequence[LedgerRow]) -> Markup:
    """By subject, the reds first."""
    subjects: dict[tuple[str, ...], list[LedgerRow]] = {}
    for row in rows:
        if not row.is_canary:
            subjects.setdefault(row.subject, []).append(row)
    verdicts = tuple(reversed(Verdict))
    lines: list[tuple[str, Sequence[Child]]] = []
    for same in sorted(subjects.values(), key=_redness):
        words = Counter(row.counts_as for row in same)
        lines.append(
            (
                "bad" if any(row.is_red for row in same) else "",
                (
                    same[0].scenario,
                    " ".join(filter(None, (same[0].side, same[0].settings))),
                    same[0].target,
                    same[0].runtime,
                    *(units.quantity(words[each]) if words[each] else "" for each in verdicts),
                    units.quantity(sum(row.operations for row in same)),
                    units.quantity(sum(row.faults for row in same)),
                ),
            )
        )
    columns: tuple[Heading, ...] = (
        ("scenario", ""),
        ("settings", ""),
        ("target", ""),
        ("runtime", ""),
        *((each.word, "number") for each in verdicts),
        ("operations", "number"),
        ("faults", "number"),
    )
    return table(columns, lines)


def _redness(rows: Sequence[LedgerRow]) -> tuple[int, tuple[str, ...]]:
    return -sum(row.is_red for row in rows), rows[0].subject


def _canary_table(rows: Sequence[LedgerRow]) -> Markup:
    lines: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if row.is_missed else "",
            (
                row.mutation,
                row.scenario,
                row.runtime,
                "not found" if row.is_missed else "found",
                row.sentence,
            ),
        )
        for row in rows
        if row.is_canary
    ]
    columns: tuple[Heading, ...] = (
        ("planted bug", "fixed"),
        ("scenario", ""),
        ("runtime", ""),
        ("", "fixed"),
        ("what it says", "wide"),
    )
    return table(columns, lines) if lines else tag("p", "None was planted.", class_="soft")
