"""The page of many runs: static first, interactive where scripts may run.

Each chart stands in the page as SVG; when scripts run, Vega draws it again with tooltips. A CI
server that blocks the scripts of its artifacts shows the same page without them.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import vl_convert

from checkers.page import units
from checkers.page.markup import Child, Markup, joined, tag
from checkers.page.style import STYLE
from checkers.page.tables import Column, fact_list, table
from checkers.verdict import Verdict, worst
from spark_reports.archive import SealedRun
from spark_reports.charts import Spec, charts_of
from spark_reports.durability import LOST, RECOVERED, SURVIVED, UNDECIDED, UNEXPECTED
from spark_reports.phases import PHASES
from spark_reports.summary import (
    CULPRITS_LIMIT,
    FateCount,
    Summary,
    lost_per_million,
    quantile,
    total,
    verdict_word,
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
        _section("Verdicts", _chart(charts, "verdicts"), _scenario_table(summary)),
        _section("Durability", _chart(charts, "durability"), _durability(summary, out)),
        _section("Latency around faults", _chart(charts, "latency"), _latency_table(summary)),
        _section("Elections", _chart(charts, "elections"), _election_table(summary)),
        _section("Runs", _run_table(summary, out)),
        _skipped(summary),
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
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    specs = ",".join(f'"{name}":{spec}' for name, spec in charts.items())
    data = f"const CHARTS = {{{specs}}};".replace("<", "\\u003c")
    return tag("script", Markup(bundle)), tag("script", Markup(data + _DRAW))


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
    acknowledged, lost = _acknowledged(summary.fates), total(summary.fates, LOST)
    facts: list[tuple[str, Child]] = [
        ("runs", units.quantity(len(runs))),
        *((f"{word} runs", units.quantity(n)) for word, n in _by_verdict(runs)),
        ("acknowledged writes", units.quantity(acknowledged)),
        ("lost", tag("span", units.quantity(lost), class_="word invalid" if lost else None)),
        ("lost per million", lost_per_million(lost, acknowledged)),
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
    losses = f"{lost:,} of {_acknowledged(summary.fates):,} acknowledged writes were lost"
    refused = f", and {wrong:,} refused ones are there" if wrong else ""
    skipped = len(summary.archive.skipped)
    left_out = f" Directories left out, with the reason below: {skipped:,}." if skipped else ""
    return f"{red:,} of {len(runs):,} runs broke a promise; {losses}{refused}.{left_out}"


def _by_verdict(runs: Sequence[SealedRun]) -> list[tuple[str, int]]:
    words = [verdict_word(run) for run in runs]
    return [(word, words.count(word)) for word in sorted(set(words))]


def _acknowledged(fates: Sequence[FateCount]) -> int:
    return total(fates, SURVIVED, LOST, UNDECIDED)


_NUMBER = "number"
_SCENARIO_COLUMNS: tuple[Column, ...] = (
    ("scenario", ""),
    ("runs", _NUMBER),
    *((verdict.word, _NUMBER) for verdict in reversed(Verdict)),
    ("acknowledged", _NUMBER),
    ("lost", _NUMBER),
    ("lost per million", _NUMBER),
    ("longest outage", _NUMBER),
    ("unavailable, median run", _NUMBER),
)


def _scenario_table(summary: Summary) -> Markup:
    return table(_SCENARIO_COLUMNS, [_scenario_row(summary, name) for name in summary.scenarios])


def _scenario_row(summary: Summary, scenario: str) -> tuple[str, Sequence[Child]]:
    runs = [run for run in summary.archive.runs if run.info.scenario == scenario]
    fates = [count for count in summary.fates if count.scenario == scenario]
    outages = [outage for outage in summary.outages if outage.scenario == scenario]
    lost = total(fates, LOST)
    counted = (sum(run.verdict is verdict for run in runs) for verdict in reversed(Verdict))
    return "bad" if lost else "", (
        scenario,
        units.quantity(len(runs)),
        *(units.quantity(n) if n else "" for n in counted),
        units.quantity(_acknowledged(fates)),
        units.quantity(lost),
        lost_per_million(lost, _acknowledged(fates)),
        units.duration(quantile([outage.longest_ns for outage in outages], 1)),
        units.duration(quantile([outage.unavailable_ns for outage in outages], 0.5)),
    )


_DURABILITY_COLUMNS: tuple[Column, ...] = (
    ("scenario", ""),
    ("phase", ""),
    ("acknowledged", _NUMBER),
    (LOST, _NUMBER),
    (UNDECIDED, _NUMBER),
    (RECOVERED, _NUMBER),
    (UNEXPECTED, _NUMBER),
)


def _durability(summary: Summary, out: Path) -> Markup:
    groups = {(count.scenario, count.fault_phase) for count in summary.fates}
    rows = []
    for scenario, phase in sorted(groups, key=lambda group: (group[0], PHASES.index(group[1]))):
        fates = [c for c in summary.fates if (c.scenario, c.fault_phase) == (scenario, phase)]
        wrong = total(fates, LOST, UNEXPECTED)
        numbers = [total(fates, fate) for fate in (LOST, UNDECIDED, RECOVERED, UNEXPECTED)]
        cells = (scenario, phase, *map(units.quantity, [_acknowledged(fates), *numbers]))
        rows.append(("bad" if wrong else "", cells))
    return joined(table(_DURABILITY_COLUMNS, rows), _culprit_table(summary, out))


_CULPRIT_COLUMNS: tuple[Column, ...] = (
    ("run", ""),
    ("fate", "fixed"),
    ("key", ""),
    ("value", _NUMBER),
    ("answered", ""),
    ("invoked", _NUMBER),
    ("phase", ""),
)


def _culprit_table(summary: Summary, out: Path) -> Markup | None:
    if not summary.culprits:
        return None
    runs = {run.info.run_id: run for run in summary.archive.runs}
    rows = [
        (
            "bad",
            (
                _link(runs[culprit.run_id], out),
                culprit.fate,
                culprit.key,
                str(culprit.value),
                culprit.outcome,
                units.moment(culprit.t0),
                culprit.fault_phase,
            ),
        )
        for culprit in summary.culprits
    ]
    title = f"Values that were lost, or are there although refused (at most {CULPRITS_LIMIT})"
    return joined(tag("h3", title), table(_CULPRIT_COLUMNS, rows))


_LATENCY_COLUMNS: tuple[Column, ...] = (
    ("scenario", ""),
    ("phase", ""),
    *((name, _NUMBER) for name in ("ok", "fail", "info", "p50", "p99", "max")),
)


def _latency_table(summary: Summary) -> Markup:
    ordered = sorted(
        summary.latencies, key=lambda row: (row.scenario, PHASES.index(row.fault_phase))
    )
    rows = [
        (
            "",
            (
                row.scenario,
                row.fault_phase,
                *map(units.quantity, (row.ok, row.fail, row.info)),
                *map(units.duration, (row.p50_ns, row.p99_ns, row.max_ns)),
            ),
        )
        for row in ordered
    ]
    return table(_LATENCY_COLUMNS, rows)


_ELECTION_COLUMNS: tuple[Column, ...] = (
    ("scenario", ""),
    ("fault", ""),
    *((name, _NUMBER) for name in ("hit the leader", "next leader", "median", "p99", "max")),
    ("controller active, median", _NUMBER),
)


def _election_table(summary: Summary) -> Markup:
    groups = sorted({(election.scenario, election.kind) for election in summary.elections})
    return table(_ELECTION_COLUMNS, [("", _election_cells(summary, *group)) for group in groups])


def _election_cells(summary: Summary, scenario: str, kind: str) -> Sequence[Child]:
    mine = [e for e in summary.elections if (e.scenario, e.kind) == (scenario, kind)]
    elected = [e.elected_ns for e in mine if e.elected_ns is not None]
    active = [e.active_ns for e in mine if e.active_ns is not None]
    return (
        scenario,
        kind,
        units.quantity(len(mine)),
        units.quantity(len(elected)),
        *(units.duration(quantile(elected, share)) for share in (0.5, 0.99, 1)),
        units.duration(quantile(active, 0.5)),
    )


_RUN_COLUMNS: tuple[Column, ...] = (
    ("verdict", "fixed"),
    ("run", ""),
    ("seed", _NUMBER),
    ("target", ""),
    ("longest outage", _NUMBER),
    ("what it says", "wide"),
)


def _run_table(summary: Summary, out: Path) -> Markup:
    """Every run, the worst verdicts first."""
    longest = {outage.run_id: outage.longest_ns for outage in summary.outages}
    ordered = sorted(
        summary.archive.runs,
        key=lambda run: (-(run.verdict or Verdict.UNKNOWN).value, run.info.run_id),
    )
    rows = [
        (
            "bad" if run.verdict is Verdict.INVALID else "",
            (
                tag("span", verdict_word(run), class_=f"word {verdict_word(run)}"),
                _link(run, out),
                str(run.info.seed),
                run.info.target,
                units.duration(longest.get(run.info.run_id)),
                run.sentence,
            ),
        )
        for run in ordered
    ]
    return table(_RUN_COLUMNS, rows)


def _link(run: SealedRun, out: Path) -> Child:
    """To the run's own page, if it has one, relative to this one."""
    page = run.directory / "report.html"
    if not page.exists():
        return run.info.run_id
    return tag("a", run.info.run_id, href=quote(os.path.relpath(page, out.resolve().parent)))


def _skipped(summary: Summary) -> Markup | None:
    if not summary.archive.skipped:
        return None
    rows: list[tuple[str, Sequence[Child]]] = [
        ("", (str(skipped.directory), skipped.reason)) for skipped in summary.archive.skipped
    ]
    return _section("Left out", table((("directory", ""), ("why", "wide")), rows))
