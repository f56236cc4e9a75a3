"""The page of many runs: static first, interactive where scripts may run.

Each chart stands in the page as SVG; when scripts run, Vega draws it again with tooltips. A CI
server that blocks the scripts of its artifacts shows the same page without them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from checkers.page import units
from checkers.page.markup import Child, Markup, tag
from checkers.page.style import STYLE
from checkers.page.tables import fact_list
from checkers.verdict import Verdict, worst
from spark_reports.archive import SealedRun
from spark_reports.charts import Spec, charts_of
from spark_reports.durability import LOST, RECOVERED, UNEXPECTED
from spark_reports.summary import Summary, lost_per_million, total, verdict_word
from spark_reports.tables import (
    acknowledged,
    durability_tables,
    election_table,
    latency_table,
    run_table,
    scenario_table,
    skipped_table,
)

# Nothing is loaded. The only scripts are the page's own; Vega interprets its expressions (`ast`),
# so none of them is compiled from a string.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

_STYLE = """
.chart { overflow-x: auto; margin: 8px 0 14px; } .chart svg { width: auto; max-width: none;
  overflow: visible; }
.chart svg text { fill: var(--ink) !important; }
.chart .role-axis-grid line { stroke: var(--rule) !important; }
.chart .role-axis-tick line { stroke: var(--rule) !important; }
a { color: inherit; text-decoration-color: var(--soft); text-underline-offset: 2px; }
.not { color: var(--soft); --tone: var(--soft); }
"""

_DRAW = """
for (const [name, spec] of Object.entries(CHARTS)) {
  vegaEmbed("#chart-" + name, spec,
    {mode: "vega-lite", renderer: "svg", actions: false, ast: true});
}
"""


def render(summary: Summary, out: Path) -> str:
    """The report as a self-contained HTML document; links are relative to where `out` lies."""
    charts = charts_of(summary)
    body = (
        _head(summary),
        _section("Verdicts", _chart(charts, "verdicts"), scenario_table(summary)),
        _section("Durability", _chart(charts, "durability"), durability_tables(summary, out)),
        _section("Latency around faults", _chart(charts, "latency"), latency_table(summary)),
        _section("Elections", _chart(charts, "elections"), election_table(summary)),
        _section("Runs", run_table(summary, out)),
        _left_out(summary),
        _section("How to read this", *(tag("p", words) for words in _READING)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"kraft-chaos: {len(summary.archive.runs)} runs"),
        tag("style", Markup(STYLE + _STYLE)),
    )
    document = tag("html", head, tag("body", *body, *_scripts(charts)), lang="en")
    return f"<!doctype html>\n{document}\n"


_READING = (
    "Lost: acknowledged, read by nobody at the end, and missing from so many disks that no "
    "majority can hold it. Undecided: acknowledged or timed out, and too few disks were read to "
    "tell. Recovered: timed out, but it happened, as it may. Unexpected: refused, yet it is there.",
    "Lost per million: where nothing was lost, the number is the rate that would still pass "
    "unnoticed in so many writes once in twenty times.",
    "During: the operation was under way while a fault was in force. Before: it began before the "
    "first fault. After: the rest. Latency is that of ok operations; what timed out is counted "
    "beside it and would have been slower. Quantiles are from merged KLL sketches.",
    "Election: from the moment a fault that hit the leader was in force to the next node that led "
    "in a later epoch. Unavailable: at least half a second between successes, with attempts in it.",
    "Void and unknown runs are counted in, and named: a void run proves nothing about its fault, "
    "but what it lost is lost.",
)


def _scripts(charts: dict[str, Spec]) -> Sequence[Markup]:
    """Vega and the charts. `<` is written as an escape: no text in them can end the script."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    library = bundle.replace("</script", "<\\/script")
    specs = ",".join(f'"{name}":{spec}' for name, spec in charts.items())
    data = f"const CHARTS = {{{specs}}};".replace("<", "\\u003c")
    return tag("script", Markup(library)), tag("script", Markup(data + _DRAW))


def _chart(charts: dict[str, Spec], name: str) -> Markup:
    if name not in charts:
        return tag("p", "Nothing to draw.", class_="soft")
    drawn = vl_convert.vegalite_to_svg(charts[name])
    # Clip paths are numbered from 0 in every drawing, and meet in one document.
    own = re.sub(r'(\bid="|url\(#|href="#)', rf"\1{name}-", drawn)
    return tag("div", Markup(own), id=f"chart-{name}", class_="chart")


def _section(title: str, *parts: Child) -> Markup:
    return tag("section", tag("h2", title), *parts)


def _head(summary: Summary) -> Markup:
    runs = summary.archive.runs
    verdict = worst(run.verdict or Verdict.UNKNOWN for run in runs)
    answered, lost = acknowledged(summary.fates), total(summary.fates, LOST)
    facts: list[tuple[str, Child]] = [
        ("runs", units.quantity(len(runs))),
        *((f"{word} runs", units.quantity(n)) for word, n in _by_verdict(runs)),
        ("acknowledged writes", units.quantity(answered)),
        ("lost", tag("span", units.quantity(lost), class_="word invalid" if lost else None)),
        ("lost per million", lost_per_million(lost, answered)),
        ("recovered", units.quantity(total(summary.fates, RECOVERED))),
        ("left out", units.quantity(len(summary.archive.skipped))),
    ]
    return tag(
        "header",
        tag(
            "h1",
            tag("span", verdict.word, class_="word"),
            tag("span", "durability report", class_="what"),
        ),
        tag("p", _sentence(summary), class_="sentence"),
        fact_list(facts),
        class_=verdict.word,
    )


def _sentence(summary: Summary) -> str:
    runs = summary.archive.runs
    lost, wrong = total(summary.fates, LOST), total(summary.fates, UNEXPECTED)
    red = sum(run.verdict is Verdict.INVALID for run in runs)
    losses = f"{lost:,} of {acknowledged(summary.fates):,} acknowledged writes were lost"
    refused = f", and {wrong:,} refused ones are there" if wrong else ""
    skipped = len(summary.archive.skipped)
    left_out = f" Directories left out, with the reason below: {skipped:,}." if skipped else ""
    return f"{red:,} of {len(runs):,} runs broke a promise; {losses}{refused}.{left_out}"


def _by_verdict(runs: Sequence[SealedRun]) -> list[tuple[str, int]]:
    words = [verdict_word(run) for run in runs]
    return [(word, words.count(word)) for word in sorted(set(words))]


def _left_out(summary: Summary) -> Markup | None:
    return _section("Left out", skipped_table(summary)) if summary.archive.skipped else None
