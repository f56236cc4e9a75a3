"""High watermarks, and truncations: Q6 to Q8, Q10 and Q13. A value below 0 means unknown."""

import numpy as np

from checkers.array_types import Ints
from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.lives import (
    NEED,
    NONE,
    Life,
    NodeEvent,
    Process,
    TraceColumns,
    first_of,
    gaps,
    witness,
)
from checkers.quorum.elections import leader_changes, led_from
from checkers.verdict import CheckResult


@check(
    "Q7-quorum-high-watermark",
    applies=traced,
    source="SIM MonotonicHighWatermark, KIP-856",
    rests_on=(Kind.TRACES,),
)
def quorum_high_watermark(evidence: Evidence) -> CheckResult:
    """Q7: Over the sequence of leaders, by epoch, the high watermark never goes down.

    A new leader publishes none before its own LeaderChange is committed, which is above all that
    its predecessors committed; so its *first* one must reach their highest. The same rule binds a
    high watermark that a predecessor publishes late. (SIM MonotonicHighWatermark, KIP-856)
    """
    traces = evidence.traces
    rows = _published(traces, traces.rows("q.hwm"))
    epoch, hwm = traces.column("epoch")[rows], traces.column("hwm")[rows]
    first, _ = first_of(epoch)
    highest = np.lexsort((-hwm, epoch))  # by epoch, its first highest one
    highest = highest[first_of(epoch[highest])[0]]
    violations = []
    peak = -1
    for began, top in zip(first.tolist(), highest.tolist(), strict=True):
        if peak >= 0 and hwm[began] < hwm[peak]:
            violations.append(_began_lower(*traces.lines(rows[[peak, began]])))
        if peak < 0 or hwm[top] > hwm[peak]:
            peak = top
    return conclude(
        looked_at=len(first),
        unit="epochs with a high watermark",
        violations=violations,
        needs=NEED,
        holds="it never went down",
        algorithm="running maximum over epochs, against each epoch's first",
    )


def _began_lower(peak: NodeEvent, first: NodeEvent) -> Violation:
    text = f"the leader of epoch {first.epoch}, node {first.node}, began with high watermark "
    text += f"{first.hwm}, below {peak.hwm} of epoch {peak.epoch}"
    return Violation(text, [witness(peak, "was published"), witness(first, "began lower")])


def _published(traces: TraceColumns, rows: Ints) -> Ints:
    """Those of these rows of q.hwm that are a leader's, and have one."""
    return rows[traces.has("state", "leader", rows) & (traces.column("hwm")[rows] >= 0)]


@check("Q8-node-high-watermark", applies=traced, source="SIM", rests_on=(Kind.TRACES,))
def node_high_watermark(evidence: Evidence) -> CheckResult:
    """Q8: In one process, a high watermark never goes down and never exceeds the log's end.

    The log's end is followed through n.start, q.append, q.truncate and q.loaded. (SIM, and ours)
    """
    looked_at = 0
    violations: list[Violation] = []
    found = evidence.lives
    for life in found:
        for process in life.processes:
            looked_at += _follow(process, violations)
    return conclude(
        looked_at=looked_at,
        unit="high watermarks",
        violations=violations,
        needs=NEED,
        holds="each rose, within the log it was reported with",
        algorithm="replay of each process",
        gaps=gaps(found),
    )


def _follow(process: Process, violations: list[Violation]) -> int:
    """Follow one process; returns how many high watermarks it reported."""
    traces = process.traces
    told = process.rows("q.hwm")
    told = told[traces.column("hwm")[told] >= 0]
    hwm = traces.column("hwm")[told]
    before, ends, end = _highest_before(hwm), *_log_ends(process, told)
    lower = hwm < before
    beyond = (ends >= 0) & (hwm > end) & (process.gap is None)
    for at in np.flatnonzero(lower | beyond):
        event = traces.line(told[at])
        if lower[at]:
            highest = traces.line(told[np.flatnonzero(hwm == before[at])[0]])
            text = f"node {event.node} lowered its high watermark: {highest.hwm} to {event.hwm}"
            shown = [witness(highest, "was higher"), witness(event, "lower")]
            violations.append(Violation(text, shown))
        if beyond[at]:
            text = f"node {event.node} reported high watermark {event.hwm}, but its log ends at"
            by = witness(traces.line(ends[at]), f"log ends at {end[at]}")
            shown = [by, witness(event, "beyond the log")]
            violations.append(Violation(f"{text} {end[at]}", shown))
    return len(told)


def _highest_before(hwm: Ints) -> Ints:
    """For each, the highest of those before it; -1 before the first."""
    found: Ints = np.maximum.accumulate(np.concatenate([[-1], hwm]))[:-1]
    return found


def _log_ends(process: Process, rows: Ints) -> tuple[Ints, Ints]:
    """For each of these, the last earlier row with a log end (-1: none), and that end."""
    traces = process.traces
    told = process.rows("n.start", "q.truncate", "q.loaded", "q.append")
    last, log_end = traces.column("last")[told], traces.column("log_end")[told]
    ends = np.where(log_end == NONE, last + 1, log_end)
    at = np.searchsorted(told, rows)  # how many are before it
    return np.append(-1, told)[at], np.append(0, ends)[at]


@check("Q10-no-cut-below-high-watermark", applies=traced, source="SIM", rests_on=(Kind.TRACES,))
def no_cut_below_high_watermark(evidence: Evidence) -> CheckResult:
    """Q10: No log is truncated below its own high watermark.

    From q.hwm and q.truncate of each process; the line of a truncation precedes it. (SIM)
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for process in life.processes:
            cuts, told = process.rows("q.truncate"), process.rows("q.hwm")
            looked_at += len(cuts)
            for row in cuts:
                violations += _below(process, told[told < row], row)
    return conclude(
        looked_at=looked_at,
        unit="truncations",
        violations=violations,
        needs=NEED,
        holds="none reached below its node's high watermark",
        algorithm="running maximum of each process",
        nothing="" if not evidence.lives else "no log was truncated",
    )


def _below(process: Process, told: Ints, row: int) -> list[Violation]:
    """`told` are the rows of all high watermarks before the truncation."""
    hwm = process.traces.column("hwm")[told]
    cut = process.traces.line(row)
    if not len(told) or cut.log_end >= hwm.max():
        return []
    highest = process.traces.line(told[hwm.argmax()])
    text = (
        f"node {cut.node} truncated its log to {cut.log_end}, below its high watermark "
        f"{highest.hwm}"
    )
    return [Violation(text, [witness(highest, "called committed"), witness(cut, "cut off")])]


@check(
    "Q6-leader-appends-only",
    applies=traced,
    source="Raft, Leader Append-Only",
    rests_on=(Kind.TRACES,),
)
def leader_appends_only(evidence: Evidence) -> CheckResult:
    """Q6: A leader only appends: it neither truncates its own log nor writes an offset twice.

    From q.state, q.append, q.truncate and q.loaded of each process. (Raft, Leader Append-Only)
    """
    looked_at = 0
    violations: list[Violation] = []
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        traces = process.traces
        leads: int | None = None  # the row that says so
        end = -1  # of its log; -1: it has not written anything as this leader
        rows = process.rows("q.state", "q.append", "q.truncate", "q.loaded")
        for row, event, is_leader, base, last in zip(
            rows.tolist(),
            traces.events(rows),
            traces.has("state", "leader", rows).tolist(),
            *(traces.column(name)[rows].tolist() for name in ("base", "last")),
            strict=True,
        ):
            if event == "q.state":
                leads, end = row if is_leader else None, -1
            elif leads is not None:
                looked_at += 1
                if event != "q.append" or base < end:
                    violations.append(_not_appended(*traces.lines([leads, row])))
                end = last + 1 if event == "q.append" else end
    return conclude(
        looked_at=looked_at,
        unit="changes of leaders' logs",
        violations=violations,
        needs=NEED,
        holds="each was an append to the log's end",
        algorithm="changes of each process' log while it led",
        gaps=gaps(evidence.lives),
        nothing="no leader wrote anything" if evidence.lives else "",
    )


def _not_appended(leads: NodeEvent, event: NodeEvent) -> Violation:
    at = event.base if event.event == "q.append" else event.log_end
    text = f"node {event.node} led epoch {leads.epoch}, but gave up its log from {at} on"
    return Violation(text, [witness(leads, "leads"), witness(event, "does not append")])


@check(
    "Q13-high-watermark-above-leader-change",
    applies=traced,
    source="Raft figure 8; KIP-595, KAFKA-12619",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def published_above_leader_change(evidence: Evidence) -> CheckResult:
    """Q13: An epoch's high watermark is published only above that epoch's LeaderChange record.

    The offset of that record is taken from the disks, or from the first batch that the leader
    appended. (Raft figure 8; KIP-595, KAFKA-12619)
    """
    starts = {row["epoch"]: row["offset"] for row in evidence.once(leader_changes)}
    looked_at = 0
    violations: list[Violation] = []
    found = evidence.lives
    for life in found:
        looked_at += _compare_with_starts(life, starts, violations)
    return conclude(
        looked_at=looked_at,
        unit="epochs with a high watermark",
        violations=violations,
        needs=f"{NEED}",
        holds="each was published above the epoch's LeaderChange",
        algorithm="first of each epoch, against its LeaderChange",
        gaps=gaps(found),
    )


def _compare_with_starts(life: Life, known: dict[int, int], violations: list[Violation]) -> int:
    traces, own = life.traces, led_from(life) if life.gap is None else {}
    rows = _published(traces, life.rows("q.hwm"))
    epochs = traces.column("epoch")[rows]
    judged = 0
    for epoch in np.unique(epochs).tolist():
        told, row = rows[epochs == epoch], own.get(epoch, life.end)
        if epoch in known:
            first, start = told[0], known[epoch]
        elif len(told := told[told > row]):
            first, start = told[0], int(traces.column("base")[row])
        else:
            continue
        judged += 1
        if traces.column("hwm")[first] <= start:
            violations.append(_too_low(traces.line(first), start))
    return judged


def _too_low(event: NodeEvent, start: int) -> Violation:
    text = f"node {event.node} published high watermark {event.hwm} in epoch "
    text += f"{event.epoch} before its LeaderChange, at {start}, was committed"
    what = f"published {event.hwm}: LeaderChange, at {start}, is not below it"
    return Violation(text, [witness(event, what)])
