"""From run directories to a page: the one place that reads, computes and writes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from checkers.history.store import replace_file
from checkers.verdict import counted
from spark_reports.sealed_archive import Archive, survey
from spark_reports.session import SessionSettings, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from spark_reports.report_summary import GroupCounts, ReportSummary

_OPERATIONS_A_PARTITION = 600_000
_PARTITIONS_LIMIT = 32

_Row = TypeVar("_Row")


class NothingToReportError(Exception):
    """None of the paths has a run or a campaign; the message names them with the reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a reader has to know besides the page: the directories of its runs, and a sentence for
    each contradiction between tables and a verdict, and for each damaged run."""

    runs: tuple[str, ...]
    contradictions: tuple[str, ...]
    damaged: tuple[str, ...]


def build(
    paths: Iterable[Path],
    out: Path,
    master: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Built:
    """Report on the runs and campaigns in these paths, in one HTML page at `out`.

    `progress` is called with the next step, in a few words. Raises NothingToReportError, and
    JavaNotFoundError where Spark cannot start.
    """
    progress("looking at the runs")
    archive = survey(paths)
    if archive.is_empty:
        raise NothingToReportError(_nothing(archive))
    summary = _summary(archive, master, progress)
    progress("drawing the page")
    from spark_reports.report_page import render

    out.parent.mkdir(parents=True, exist_ok=True)
    replace_file(out, render(summary, out).encode(), syncs=False)
    return Built(
        runs=tuple(str(run.directory) for run in archive.runs),
        contradictions=tuple(f"{run.directory}: {words}" for run, words in summary.contradicted),
        damaged=tuple(f"{each.directory}: {each.reason}" for each in archive.damaged),
    )


def _summary(
    archive: Archive, master: str | None, progress: Callable[[str], None]
) -> "ReportSummary":
    if not archive.runs:
        from spark_reports.report_summary import ReportSummary

        return ReportSummary(archive=archive)
    progress(f"starting Spark for {counted(len(archive.runs), 'run')}")
    with open_session(_settings(archive, master)) as session:
        return summarize(session, archive, progress)


def _settings(archive: Archive, master: str | None) -> SessionSettings:
    """Few partitions for few operations: an empty one costs as much."""
    operations = sum(run.operations for run in archive.runs)
    partitions = min(max(operations // _OPERATIONS_A_PARTITION, 2), _PARTITIONS_LIMIT)
    return SessionSettings(master=master or "local[*]", shuffle_partitions=partitions)


def summarize(
    session: "SparkSession", archive: Archive, progress: Callable[[str], None]
) -> "ReportSummary":
    """All numbers of the report. What is collected is one row a run, fault or group."""
    from spark_reports import accounts, availability
    from spark_reports.fate_counts import Culprit
    from spark_reports.ingest import read_tables
    from spark_reports.report_summary import (
        CULPRITS_LIMIT,
        Latency,
        LeaderLoss,
        Outage,
        ReportSummary,
    )

    tables = read_tables(session, archive.runs)
    progress("durability: every record and every write")
    counted = accounts.accounts(session, archive.runs).persist()
    cells = _cells(accounts.cells(counted, tables.runs))
    named = accounts.culprits(counted, archive.runs, limit=CULPRITS_LIMIT)
    culprits = tuple(Culprit(**row.asDict()) for row in named.collect())
    lost = {row["run_id"]: row["lost"] for row in accounts.lost(counted).collect()}
    problems = {row["run_id"]: row["problem"] for row in accounts.problems(counted).collect()}
    counted.unpersist()
    progress("availability and elections")
    outages = _rows(availability.unavailability(tables), Outage)
    elections = _rows(availability.elections(tables), LeaderLoss)
    progress("latency around faults")
    latencies = _rows(availability.latency(availability.latency_sketches(tables)), Latency)
    return ReportSummary(
        archive=archive,
        cells=cells,
        culprits=culprits,
        problems=problems,
        lost=lost,
        outages=outages,
        elections=elections,
        latencies=latencies,
    )


def _cells(frame: "DataFrame") -> "tuple[GroupCounts, ...]":
    from spark_reports.fate_counts import FateCounts
    from spark_reports.report_summary import GroupCounts

    found = []
    for row in frame.collect():
        values = row.asDict()
        scenario, version = values.pop("scenario"), values.pop("version")
        found.append(GroupCounts(scenario=scenario, version=version, counts=FateCounts(**values)))
    return tuple(sorted(found, key=lambda cell: cell.order))


def _rows(frame: "DataFrame", kind: type[_Row]) -> tuple[_Row, ...]:
    """The frame's rows as values, in a fixed order. Its columns are the fields of `kind`."""
    return tuple(kind(**row.asDict()) for row in frame.orderBy(*frame.columns[:4]).collect())


def _nothing(archive: Archive) -> str:
    reasons = "".join(f"\n  {skipped.directory}: {skipped.reason}" for skipped in archive.skipped)
    return f"there is no run to report on{reasons}\n  try: kraft-chaos run partition-leader"
