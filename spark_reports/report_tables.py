"""The tables of the page of many runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from checkers.page import units
from checkers.page.document import Child, Markup, joined, tag
from checkers.page.page_tables import Heading, table
from checkers.verdict import Verdict, in_words
from spark_reports.fate_counts import CULPRITS_A_RUN, RECORDS, WRITES
from spark_reports.phases import PHASES
from spark_reports.report_summary import (
    CULPRITS_LIMIT,
    GroupCounts,
    ReportSummary,
    quantile,
    share_of,
    total,
    verdict_word,
)
from spark_reports.sealed_archive import SealedRun

_NUMBER = "number"
_SCENARIO_COLUMNS: tuple[Heading, ...] = (
    ("scenario", ""),
    ("runs", _NUMBER),
    *((verdict.word, _NUMBER) for verdict in reversed(Verdict)),
    ("as expected", _NUMBER),
    ("longest outage", _NUMBER),
    ("unavailable, median run", _NUMBER),
)


def scenario_table(summary: ReportSummary) -> Markup:
    return table(_SCENARIO_COLUMNS, [_scenario_row(summary, name) for name in summary.scenarios])


def _scenario_row(summary: ReportSummary, scenario: str) -> tuple[str, Sequence[Child]]:
    runs = [run for run in summary.archive.runs if run.scenario == scenario]
    outages = [outage for outage in summary.outages if outage.scenario == scenario]
    counted = (sum(run.verdict is verdict for run in runs) for verdict in reversed(Verdict))
    return "bad" if any(run.is_surprise for run in runs) else "", (
        scenario,
        units.quantity(len(runs)),
        *(units.quantity(n) if n else "" for n in counted),
        _as_expected(runs),
        units.duration(quantile([outage.longest_ns for outage in outages], 1)),
        units.duration(quantile([outage.unavailable_ns for outage in outages], 0.5)),
    )


def _as_expected(runs: Sequence[SealedRun]) -> str:
    """The runs with an expected verdict."""
    asked = [run for run in runs if run.expected]
    return in_words(sum(not run.is_surprise for run in asked), len(asked)) if asked else ""


_NUMBERS = {
    "lost": "lost",
    "undecided": "undecided",
    "lost_undecided": "gone, allowed or not",
    "allowed": "allowed loss",
    "polled_lost": "polled, then lost",
    "polled_allowed": "polled, then gone as allowed",
    "late": "only on disks",
    "recovered": "recovered",
    "duplicated": "duplicated",
    "unexpected": "unexpected",
}
_ALWAYS = ("lost", "undecided")  # the others where there are any
_WRONG = ("lost", "polled_lost", "unexpected", "duplicated")


def durability_tables(summary: ReportSummary, out: Path) -> Markup:
    """Records, then writes of registers, then what was lost by name."""
    parts: list[Child] = []
    for kind in (RECORDS, WRITES):
        mine = [cell for cell in summary.cells if cell.counts.kind == kind]
        if mine:
            names = _told(mine)
            rows = [_durability_row(summary, cell, names) for cell in mine]
            parts += [tag("h3", kind.capitalize()), table(_durability_columns(names), rows)]
    return joined(*parts, _doubt_table(summary, out), _culprit_table(summary, out))


def _told(cells: Sequence[GroupCounts]) -> list[str]:
    """The columns with any counts."""
    return [name for name in _NUMBERS if name in _ALWAYS or total(cells, name)]


def _durability_columns(names: Sequence[str]) -> list[Heading]:
    return [
        ("scenario", ""),
        ("target", "fixed"),
        ("phase", "fixed"),
        ("acknowledged", _NUMBER),
        *((_NUMBERS[name], _NUMBER) for name in names),
        ("share lost (95 %)", _NUMBER),
        ("undecided runs", "fixed"),
    ]


def _durability_row(
    summary: ReportSummary, cell: GroupCounts, names: Sequence[str]
) -> tuple[str, Sequence[Child]]:
    place = (cell.scenario, cell.version)
    runs = [run for run in summary.archive.runs if (run.scenario, run.version) == place]
    numbers = [total([cell], name) for name in names]
    wrong = total([cell], *_WRONG) and not all(run.is_expected_invalid for run in runs)
    return "bad" if wrong else "", (
        cell.scenario,
        cell.version,
        cell.counts.fault_phase,
        *map(units.quantity, [cell.counts.acknowledged, *numbers]),
        share_of(cell.counts.lost, cell.counts.acknowledged),
        _not_known(summary, runs),
    )


def _not_known(summary: ReportSummary, runs: Sequence[SealedRun]) -> Child:
    doubtful = summary.doubtful(runs)
    if not doubtful:
        return ""
    words = f"{len(doubtful):,} of {len(runs):,} runs"
    return tag("span", words, class_="word unknown")


def _doubt_table(summary: ReportSummary, out: Path) -> Markup | None:
    """The runs in which losses are undecided, each with the reason."""
    doubtful = summary.doubtful(summary.archive.runs)
    if not doubtful:
        return None
    rows = [("", (_link(run, out), run.scenario, reason)) for run, reason in doubtful]
    columns: tuple[Heading, ...] = (("run", ""), ("scenario", ""), ("undecided", "wide"))
    return joined(tag("h3", "Undecided: missing or contradictory evidence"), table(columns, rows))


def sides_table(summary: ReportSummary) -> Markup | None:
    """Each scenario that was compared, its sides beside each other."""
    compared: dict[tuple[str, str], dict[str, list[SealedRun]]] = {}
    for run in summary.archive.runs:
        if run.info.side:
            sides = compared.setdefault((run.info.scenario, run.version), {})
            sides.setdefault(run.info.side, []).append(run)
    blocks = [
        joined(tag("h3", f"{scenario} on {version}"), _sides(summary, sides))
        for (scenario, version), sides in sorted(compared.items())
    ]
    return joined(*blocks) if blocks else None


def _sides(summary: ReportSummary, sides: Mapping[str, Sequence[SealedRun]]) -> Markup:
    cells = [_cells_of(summary, runs) for runs in sides.values()]
    names = _told([cell for each in cells for cell in each])
    columns = [
        _side_column(summary, runs, each, names)
        for runs, each in zip(sides.values(), cells, strict=True)
    ]
    labels = ("runs", "expected", "as expected", "acknowledged", *(_NUMBERS[n] for n in names))
    labels = (*labels, "share lost (95 %)", "undecided runs")
    rows = [("", [label, *cells]) for label, *cells in zip(labels, *columns, strict=True)]
    return table([("", "fixed"), *((side, "wide") for side in sides)], rows)


def _cells_of(summary: ReportSummary, runs: Sequence[SealedRun]) -> list[GroupCounts]:
    place = (runs[0].scenario, runs[0].version)
    return [cell for cell in summary.cells if (cell.scenario, cell.version) == place]


def _side_column(
    summary: ReportSummary,
    runs: Sequence[SealedRun],
    cells: Sequence[GroupCounts],
    names: Sequence[str],
) -> list[Child]:
    acknowledged, expected = total(cells, "acknowledged"), runs[0].expected
    return [
        units.quantity(len(runs)),
        units.NOTHING
        if expected is None
        else tag("span", str(expected), class_=f"word {expected.verdict.word}"),
        _as_expected(runs),
        units.quantity(acknowledged),
        *(units.quantity(total(cells, name)) for name in names),
        share_of(total(cells, "lost"), acknowledged),
        _not_known(summary, runs) or "none",
    ]


_CULPRIT_COLUMNS: tuple[Heading, ...] = (
    ("run", ""),
    ("kind", ""),
    ("fate", "fixed"),
    ("key", ""),
    ("value", _NUMBER),
    ("answered", ""),
    ("invoked", _NUMBER),
    ("phase", ""),
)


def _culprit_table(summary: ReportSummary, out: Path) -> Markup | None:
    if not summary.culprits:
        return None
    runs = {run.key: run for run in summary.archive.runs}
    rows = [
        (
            "" if runs[culprit.run_id].is_expected_invalid else "bad",
            (
                _link(runs[culprit.run_id], out),
                culprit.kind,
                culprit.fate,
                culprit.key,
                culprit.value,
                culprit.outcome,
                units.moment(culprit.t0),
                culprit.fault_phase,
            ),
        )
        for culprit in summary.culprits
    ]
    title = (
        "What was lost, or is there although it was refused "
        f"(the first {CULPRITS_A_RUN} of each run, at most {CULPRITS_LIMIT})"
    )
    return joined(tag("h3", title), table(_CULPRIT_COLUMNS, rows))


_LATENCY_COLUMNS: tuple[Heading, ...] = (
    ("scenario", ""),
    ("phase", ""),
    *((name, _NUMBER) for name in ("ok", "fail", "info", "p50", "p99", "max")),
)


def latency_table(summary: ReportSummary) -> Markup:
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


_ELECTION_COLUMNS: tuple[Heading, ...] = (
    ("scenario", ""),
    ("fault", ""),
    *((name, _NUMBER) for name in ("hit the leader", "next leader", "median", "p99", "max")),
    ("controller active, median", _NUMBER),
)


def election_table(summary: ReportSummary) -> Markup:
    groups = sorted({(election.scenario, election.kind) for election in summary.elections})
    return table(_ELECTION_COLUMNS, [("", _election_cells(summary, *group)) for group in groups])


def _election_cells(summary: ReportSummary, scenario: str, kind: str) -> Sequence[Child]:
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


_RUN_COLUMNS: tuple[Heading, ...] = (
    ("verdict", "fixed"),
    ("as expected", ""),
    ("run", ""),
    ("seed", _NUMBER),
    ("target", ""),
    ("longest outage", _NUMBER),
    ("what it says", "wide"),
)


def run_table(summary: ReportSummary, out: Path) -> Markup:
    """Every run, the worst verdicts first."""
    longest = {outage.run_id: outage.longest_ns for outage in summary.outages}
    ordered = sorted(
        summary.archive.runs,
        key=lambda run: (
            not run.is_surprise,
            -(run.verdict or Verdict.UNKNOWN).value,
            run.info.run_id,
            run.key,
        ),
    )
    rows = [
        (
            "bad" if run.is_surprise else "",
            (
                tag("span", verdict_word(run), class_=f"word {verdict_word(run)}"),
                _expectation(run),
                _link(run, out),
                str(run.info.seed),
                run.info.target,
                units.duration(longest.get(run.key)),
                run.sentence,
            ),
        )
        for run in ordered
    ]
    return table(_RUN_COLUMNS, rows)


def _expectation(run: SealedRun) -> str:
    if run.expected is None:
        return ""
    return f"no: {run.mismatch}" if run.mismatch else "yes"


def _link(run: SealedRun, out: Path) -> Child:
    """To the run's own page, if it has one, relative to this one."""
    page = run.directory / "report.html"
    if not page.exists():
        return run.directory.name
    return tag("a", run.directory.name, href=quote(os.path.relpath(page, out.resolve().parent)))


def contradiction_table(summary: ReportSummary, out: Path) -> Markup:
    """The runs with different losses in tables and verdict."""
    rows: list[tuple[str, Sequence[Child]]] = [
        ("bad", (_link(run, out), run.scenario, words)) for run, words in summary.contradicted
    ]
    columns: tuple[Heading, ...] = (("run", ""), ("scenario", ""), ("contradiction", "wide"))
    return table(columns, rows)


def skipped_table(summary: ReportSummary) -> Markup:
    """All that is not in the numbers, and why; the worst first."""
    ordered = sorted(
        summary.archive.skipped, key=lambda each: -(each.verdict or Verdict.VALID).value
    )
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if each.verdict is Verdict.ERROR else "",
            (
                units.NOTHING if each.verdict is None else _word(each.verdict),
                str(each.directory),
                each.reason,
            ),
        )
        for each in ordered
    ]
    columns: tuple[Heading, ...] = (("verdict", "fixed"), ("directory", ""), ("why", "wide"))
    return table(columns, rows)


def _word(verdict: Verdict) -> Markup:
    return tag("span", verdict.word, class_=f"word {verdict.word}")


_CAMPAIGN_COLUMNS: tuple[Heading, ...] = (
    ("rows", ""),
    ("scenario", ""),
    ("planted bug", ""),
    ("seeds", _NUMBER),
    *((verdict.word, _NUMBER) for verdict in reversed(Verdict)),
    ("unreadable lines", _NUMBER),
)


def campaign_table(summary: ReportSummary) -> Markup:
    """Each campaign, with its seeds by verdict; an expected outcome counts as valid."""
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "bad" if each.verdict in (Verdict.INVALID, Verdict.ERROR) and not each.mutation else "",
            (
                str(each.path),
                each.scenario,
                each.mutation,
                units.quantity(each.seeds),
                *(
                    units.quantity(n) if (n := each.verdicts.get(v, 0)) else ""
                    for v in reversed(Verdict)
                ),
                units.quantity(each.unreadable) if each.unreadable else "",
            ),
        )
        for each in summary.archive.campaigns
    ]
    return table(_CAMPAIGN_COLUMNS, rows)


def red_seed_table(summary: ReportSummary) -> Markup | None:
    """The seeds that were not as they should be, without those of planted bugs."""
    rows: list[tuple[str, Sequence[Child]]] = [
        ("bad", (_word(red.verdict), each.scenario, str(red.seed), red.sentence, red.command))
        for each in summary.archive.campaigns
        if not each.mutation
        for red in each.red
    ]
    columns: tuple[Heading, ...] = (
        ("verdict", "fixed"),
        ("scenario", ""),
        ("seed", _NUMBER),
        ("what it says", "wide"),
        ("again", "wide"),
    )
    return table(columns, rows) if rows else None


def planted_table(summary: ReportSummary, out: Path) -> Markup:
    """The runs with planted bugs: the judge has to accuse them."""
    rows: list[tuple[str, Sequence[Child]]] = [
        (
            "",
            (
                run.info.mutation,
                run.scenario,
                run.version,
                tag("span", verdict_word(run), class_=f"word {verdict_word(run)}"),
                _link(run, out),
                run.sentence,
            ),
        )
        for run in sorted(summary.archive.planted, key=lambda run: (run.info.mutation, run.key))
    ]
    columns: tuple[Heading, ...] = (
        ("planted bug", "fixed"),
        ("scenario", ""),
        ("target", ""),
        ("verdict", "fixed"),
        ("run", ""),
        ("what it says", "wide"),
    )
    return table(columns, rows)
