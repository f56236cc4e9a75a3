"""A log grows at its end, and truncations of it are traced."""

from collections.abc import Iterator

import numpy as np

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NONE, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult

_ENDS = ("n.start", "q.append", "q.truncate", "q.loaded")


@check(
    "appends-follow-the-log",
    applies=traced,
    source="KIP-595: a Fetch asks for what begins at the log's end",
    rests_on=(Kind.TRACES,),
)
def appends_follow_the_log(evidence: Evidence) -> CheckResult:
    """A node appends each batch at the end of its log: the end when the process began, or of the
    previous batch, of a truncation, or of the snapshot that replaced the log.

    From n.start, q.append, q.truncate and q.loaded of each process. A batch below the end
    overwrites without a truncation, one above it leaves offsets out.
    """
    looked_at = 0
    violations: list[Violation] = []
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        found, broken = _breaks(process)
        looked_at += found
        violations += broken
    return conclude(
        looked_at=looked_at,
        unit="appended batches",
        violations=violations,
        needs=NEED,
        holds="each begins where its log ended",
        algorithm="base offsets against the log end of the line before, process by process",
        gaps=gaps(evidence.lives),
        nothing="no node appended anything" if evidence.lives else "",
    )


def _breaks(process: Process) -> tuple[int, Iterator[Violation]]:
    """How many batches it appended after another line, and those that do not follow it."""
    traces, rows = process.traces, process.rows(*_ENDS)
    last, log_end = traces.column("last")[rows], traces.column("log_end")[rows]
    ends, base = np.where(log_end == NONE, last + 1, log_end), traces.column("base")[rows]
    appends = base != NONE
    wrong = np.flatnonzero(appends[1:] & (base[1:] != ends[:-1])) + 1
    return int(appends[1:].sum()), (
        _break(process, int(rows[at - 1]), int(rows[at]), int(ends[at - 1])) for at in wrong
    )


def _break(process: Process, before: int, row: int, end: int) -> Violation:
    told, append = process.traces.lines([before, row])
    text = f"node {append.node} appended a batch at {append.base} as {append.state}, but its log "
    how = (
        "no line says that it was truncated"
        if append.base < end
        else "the records between are missing"
    )
    return Violation(
        f"{text}ended at {end}: {how}",
        [witness(told, f"the log ends at {end}"), witness(append, "does not begin there")],
    )
