"""The page of many runs: static first, interactive where scripts may run.

Each chart stands in the page as SVG; when scripts run, Vega draws it again with tooltips. A CI
server that blocks scripts of artifacts shows the same page without them.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import vl_convert

from checkers.page import units
from checkers.page.document import STYLE, Child, Markup, tag
from checkers.page.page_tables import fact_list
from checkers.verdict import Verdict, counted
from spark_reports.charts import Spec, charts_of
from spark_reports.fate_counts import RECORDS, WRITES
from spark_reports.report_summary import ReportSummary, share_of, total, verdict_word
from spark_reports.report_tables import (
    campaign_table,
    contradiction_table,
    durability_tables,
    election_table,
    latency_table,
    planted_table,
    red_seed_table,
    run_table,
    scenario_table,
    sides_table,
    skipped_table,
)
from spark_reports.sealed_archive import SealedRun

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


def render(summary: ReportSummary, out: Path) -> str:
    """The report as a self-contained HTML document; links are relative to where `out` lies."""
    charts = charts_of(summary)
    body = (
        _head(summary),
        _contradictions(summary, out),
        _left_out(summary),
        _sides(summary),
        _section("Verdicts", _chart(charts, "verdicts"), scenario_table(summary)),
        _section("Durability", _chart(charts, "durability"), durability_tables(summary, out)),
        _section("Latency around faults", _chart(charts, "latency"), latency_table(summary)),
        _section("Elections", _chart(charts, "elections"), election_table(summary)),
        _section("Runs", run_table(summary, out)),
        _campaigns(summary),
        _planted(summary, out),
        _section("How to read this", *(tag("p", words) for words in _READING)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"kraft-chaos: {counted(len(summary.archive.runs), 'run')}"),
        tag("style", Markup(STYLE + _STYLE)),
    )
    document = tag("html", head, tag("body", *body, *_scripts(charts)), lang="en")
    return f"<!doctype html>\n{document}\n"


_READING = (
    "Counts are those of the checks of each run. Lost: acknowledged, and gone although it had to "
    "survive. Allowed loss: gone after more unclean shutdowns than are survived (min ISR - 1, "
    "KIP-966). Polled, then lost: not acknowledged, but a consumer got it. Undecided: "
    "acknowledged, and neither final reads nor disks show it. Recovered: timed out, but it "
    "happened, which is allowed. Duplicated: at two offsets. Unexpected: refused, yet it is there.",
    "Shares are of what was acknowledged, with their 95 % interval (Wilson). Where nothing was "
    "lost, the number is the upper end of it: a loss rate that could still go unnoticed. Runs in "
    "which losses are undecided are counted separately, and named below the tables.",
    "Expected: a side of a comparison that must be invalid shows what the other side prevents. It "
    "is no surprise, but its losses are counted as losses.",
    "During: the operation was under way while a fault was in force. Before: it began before the "
    "first fault. After: the rest. Latency is that of ok operations; what timed out is counted "
    "beside it and would have been slower. Quantiles are from merged KLL sketches.",
    "Election: from the moment a fault that hit the leader was in force to the next node that led "
    "in a later epoch. Unavailable: at least half a second between successes, with attempts in it.",
    "Void and unknown runs are included, and named: a void run proves nothing about its fault, but "
    "its losses are real. Runs with a planted bug are in a section of their own, and in no other "
    "number. A run that is damaged is an error, whatever it was before.",
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


def _sides(summary: ReportSummary) -> Markup | None:
    compared = sides_table(summary)
    return None if compared is None else _section("Before and after", compared)


def _head(summary: ReportSummary) -> Markup:
    runs = summary.archive.runs
    verdict = summary.verdict
    facts: list[tuple[str, Child]] = [
        ("runs", units.quantity(len(runs))),
        *((f"{word} runs", units.quantity(n)) for word, n in _by_verdict(runs)),
        ("invalid as expected", units.quantity(sum(run.is_expected_invalid for run in runs))),
        *(fact for kind in _kinds(summary) for fact in _facts(summary, kind)),
        ("runs undecided", units.quantity(len(summary.doubtful(runs)))),
        ("runs with planted bugs", units.quantity(len(summary.archive.planted))),
        ("left out", units.quantity(len(summary.archive.skipped))),
    ]
    return tag(
        "header",
        tag(
            "h1",
            tag("span", _word(runs, verdict), class_="word"),
            tag("span", "durability report", class_="what"),
        ),
        tag("p", headline(summary), class_="sentence"),
        fact_list(facts),
        class_=verdict.word,
    )


def _word(runs: Sequence[SealedRun], verdict: Verdict) -> str:
    """Runs with expected losses are "as expected", not "valid"."""
    lost = any(run.is_expected_invalid for run in runs)
    return "as expected" if lost and verdict is Verdict.VALID else verdict.word


def _kinds(summary: ReportSummary) -> list[str]:
    return [kind for kind in (RECORDS, WRITES) if summary.counted_cells(kind)]


def _facts(summary: ReportSummary, kind: str) -> list[tuple[str, Child]]:
    cells = summary.counted_cells(kind)
    lost = total(cells, "lost")
    acknowledged = total(cells, "acknowledged")
    return [
        (f"acknowledged {kind}", units.quantity(acknowledged)),
        (
            f"lost {kind}",
            tag("span", units.quantity(lost), class_="word invalid" if lost else None),
        ),
        (f"share of {kind} lost", share_of(lost, acknowledged)),
    ]


def headline(summary: ReportSummary) -> str:
    """Runs, then records and writes of registers, each with its losses."""
    runs = summary.archive.runs
    surprising = sum(run.is_surprise for run in runs)
    expected = sum(run.is_expected_invalid for run in runs)
    said = [f"{surprising:,} of {len(runs):,} runs were not as they should be"]
    if expected:
        said[0] += f", and {expected:,} broke a promise as expected"
    said += [_losses(summary, kind) for kind in _kinds(summary)]
    doubtful, skipped = summary.doubtful(runs), summary.archive.skipped
    damaged = summary.archive.damaged
    if damaged:
        said.insert(0, f"{counted(len(damaged), 'run')} cannot be read, and may have lost anything")
    said += [_campaigns_said(summary)] if summary.archive.campaigns else []
    if contradicted := summary.contradicted:
        said.append(f"The tables of {counted(len(contradicted), 'run')} contradict the verdict")
    if doubtful:
        said.append(f"Losses are undecided in {counted(len(doubtful), 'run')}")
    if skipped:
        said.append(f"Left out, with the reason below: {len(skipped):,}")
    return ". ".join(said) + "."


def _campaigns_said(summary: ReportSummary) -> str:
    """`3 of 2,000 seeds of campaigns were not as they should be`; planted bugs apart."""
    rows = [each for each in summary.archive.campaigns if not each.mutation]
    red = sum(len(each.red) for each in rows)
    seeds = sum(each.seeds for each in rows)
    return f"{red:,} of {seeds:,} seeds of campaigns were not as they should be"


def _losses(summary: ReportSummary, kind: str) -> str:
    """`417 of 831 acknowledged records were lost (417 where it was expected)`."""
    cells = summary.counted_cells(kind)
    lost, acknowledged = total(cells, "lost"), total(cells, "acknowledged")
    planned = {run.scenario for run in summary.archive.runs if run.is_expected_invalid}
    foreseen = total([cell for cell in cells if cell.scenario in planned], "lost")
    more = [
        f"{foreseen:,} of them where it was expected" if foreseen else "",
        *(f"{n:,} {words}" for words, name in _ALSO if (n := total(cells, name))),
    ]
    beside = "; ".join(filter(None, more))
    words = f"{lost:,} of {acknowledged:,} acknowledged {kind} were lost"
    return f"{words} ({beside})" if beside else words


_ALSO = (
    ("more are an allowed loss", "allowed"),
    ("were polled and then lost", "polled_lost"),
    ("are gone, allowed or not", "lost_undecided"),
    ("are undecided", "undecided"),
    ("stand at two offsets", "duplicated"),
    ("were refused and are there", "unexpected"),
)


def _by_verdict(runs: Sequence[SealedRun]) -> list[tuple[str, int]]:
    words = [verdict_word(run) for run in runs]
    return [(word, words.count(word)) for word in sorted(set(words))]


def _contradictions(summary: ReportSummary, out: Path) -> Markup | None:
    if not summary.contradicted:
        return None
    return _section("Verdicts that the tables contradict", contradiction_table(summary, out))


def _left_out(summary: ReportSummary) -> Markup | None:
    """What is damaged stands above all numbers, which do not cover it."""
    return _section("Left out", skipped_table(summary)) if summary.archive.skipped else None


def _campaigns(summary: ReportSummary) -> Markup | None:
    if not summary.archive.campaigns:
        return None
    return _section("Campaigns", campaign_table(summary), red_seed_table(summary))


def _planted(summary: ReportSummary, out: Path) -> Markup | None:
    if not summary.archive.planted:
        return None
    return _section("Planted bugs", planted_table(summary, out))
