"""The tables of the page of many runs."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from checkers.page import units
from checkers.page.markup import Child, Markup, joined, tag
from checkers.page.tables import Column, table
from checkers.verdict import Verdict
from spark_reports.archive import SealedRun
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


def acknowledged(fates: Sequence[FateCount]) -> int:
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


def scenario_table(summary: Summary) -> Markup:
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
        units.quantity(acknowledged(fates)),
        units.quantity(lost),
        lost_per_million(lost, acknowledged(fates)),
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


def durability_tables(summary: Summary, out: Path) -> Markup:
    groups = {(count.scenario, count.fault_phase) for count in summary.fates}
    rows = []
    for scenario, phase in sorted(groups, key=lambda group: (group[0], PHASES.index(group[1]))):
        fates = [c for c in summary.fates if (c.scenario, c.fault_phase) == (scenario, phase)]
        wrong = total(fates, LOST, UNEXPECTED)
        numbers = [total(fates, fate) for fate in (LOST, UNDECIDED, RECOVERED, UNEXPECTED)]
        cells = (scenario, phase, *map(units.quantity, [acknowledged(fates), *numbers]))
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


def latency_table(summary: Summary) -> Markup:
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


def election_table(summary: Summary) -> Markup:
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


def run_table(summary: Summary, out: Path) -> Markup:
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


def skipped_table(summary: Summary) -> Markup:
    """Every directory that is not in the report, and why."""
    rows: list[tuple[str, Sequence[Child]]] = [
        ("", (str(skipped.directory), skipped.reason)) for skipped in summary.archive.skipped
    ]
    columns: tuple[Column, ...] = (("directory", ""), ("why", "wide"))
    return table(columns, rows)
