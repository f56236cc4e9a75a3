"""High watermarks: Q7, Q8, Q10 and Q13. A value below 0 means unknown."""

from dataclasses import dataclass

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, Life, NodeEvent, Process, gaps, witness
from checkers.evidence.planned import Kind
from checkers.quorum.epochs import leader_changes
from checkers.verdict import CheckResult


@dataclass(slots=True)
class _Reign:
    """What the leader of an epoch published: its first high watermark and its highest."""

    first: NodeEvent
    highest: NodeEvent


@check(
    "Q7-quorum-high-watermark",
    applies=traced,
    source="SIM MonotonicHighWatermark, KIP-856",
    rests_on=(Kind.TRACES,),
)
def quorum_high_watermark(evidence: Evidence) -> CheckResult:
    """Q7: over the sequence of leaders, by epoch, the high watermark never goes down.

    A new leader publishes none before its own LeaderChange is committed, which lies above all
    that its predecessors committed; so its *first* one must reach their highest. What a
    predecessor publishes late is bound by the same rule. (SIM MonotonicHighWatermark, KIP-856)
    """
    reigns: dict[int, _Reign] = {}
    for life in evidence.lives:
        for event in life.events():
            if _published(event):
                reign = reigns.setdefault(event.epoch, _Reign(event, event))
                reign.highest = max(reign.highest, event, key=lambda one: one.hwm)
    violations = []
    peak: NodeEvent | None = None
    for epoch in sorted(reigns):
        first = reigns[epoch].first
        if peak is not None and first.hwm < peak.hwm:
            text = f"the leader of epoch {epoch}, node {first.node}, began with high watermark "
            text += f"{first.hwm}, below {peak.hwm} of epoch {peak.epoch}"
            shown = [witness(peak, "was published"), witness(first, "began lower")]
            violations.append(Violation(text, shown))
        if peak is None or reigns[epoch].highest.hwm > peak.hwm:
            peak = reigns[epoch].highest
    return conclude(
        looked_at=len(reigns),
        unit="epochs with a high watermark",
        violations=violations,
        needs=NEED,
        holds="it never went down",
        algorithm="running maximum over epochs, against each epoch's first",
    )


def _published(event: NodeEvent) -> bool:
    return event.event == "q.hwm" and event.state == "leader" and (event.hwm or 0) >= 0


@check("Q8-node-high-watermark", applies=traced, source="SIM", rests_on=(Kind.TRACES,))
def node_high_watermark(evidence: Evidence) -> CheckResult:
    """Q8: in one process a high watermark never goes down and never exceeds the log's end.

    The log's end is followed through n.start, q.append and q.truncate. (SIM, and ours)
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
    """Walk through one process; returns how many high watermarks it reported."""
    seen = 0
    highest: NodeEvent | None = None
    ends: NodeEvent | None = None
    end = 0
    for event in process.events:
        if event.event in ("n.start", "q.truncate"):
            ends, end = event, event.log_end
        elif event.event == "q.append":
            ends, end = event, event.last + 1
        elif event.event == "q.hwm" and event.hwm >= 0:
            seen += 1
            if highest is not None and event.hwm < highest.hwm:
                text = f"node {event.node} lowered its high watermark: {highest.hwm} to {event.hwm}"
                shown = [witness(highest, "was higher"), witness(event, "lower")]
                violations.append(Violation(text, shown))
            if ends is not None and event.hwm > end and process.gap is None:
                text = f"node {event.node} reported high watermark {event.hwm}, its log ends at"
                shown = [witness(ends, f"log ends at {end}"), witness(event, "beyond the log")]
                violations.append(Violation(f"{text} {end}", shown))
            highest = event if highest is None or event.hwm > highest.hwm else highest
    return seen


@check("Q10-no-cut-below-high-watermark", applies=traced, source="SIM", rests_on=(Kind.TRACES,))
def no_cut_below_high_watermark(evidence: Evidence) -> CheckResult:
    """Q10: no log is truncated below its own high watermark.

    From q.hwm and q.truncate of each process; the line of a truncation precedes it. (SIM)
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        for process in life.processes:
            highest: NodeEvent | None = None
            for event in process.events:
                if event.event == "q.hwm" and (highest is None or event.hwm > highest.hwm):
                    highest = event
                elif event.event == "q.truncate":
                    looked_at += 1
                    violations += _below(highest, event)
    return conclude(
        looked_at=looked_at,
        unit="truncations",
        violations=violations,
        needs=NEED,
        holds="none reached what its node had called committed",
        algorithm="running maximum of each process",
        nothing="" if not evidence.lives else "no log was truncated",
    )


def _below(highest: NodeEvent | None, cut: NodeEvent) -> list[Violation]:
    if highest is None or cut.log_end >= highest.hwm:
        return []
    text = f"node {cut.node} cut its log at {cut.log_end}, below its high watermark {highest.hwm}"
    return [Violation(text, [witness(highest, "called committed"), witness(cut, "cut off")])]


@check(
    "Q13-high-watermark-above-leader-change",
    applies=traced,
    source="Raft figure 8; KIP-595, KAFKA-12619",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def published_above_leader_change(evidence: Evidence) -> CheckResult:
    """Q13: an epoch's high watermark is published only above that epoch's LeaderChange record.

    Where that record lies is read off the disks, or from the first batch that the leader
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
    judged = set()
    starts = dict(known)
    for event in life.events():
        if event.event == "q.append" and event.state == "leader" and life.gap is None:
            starts.setdefault(event.epoch, event.base)
        elif _published(event) and event.epoch in starts and event.epoch not in judged:
            judged.add(event.epoch)
            start = starts[event.epoch]
            if event.hwm <= start:
                text = f"node {event.node} published high watermark {event.hwm} in epoch "
                text += f"{event.epoch}, whose LeaderChange is at {start}, before it was committed"
                violations.append(
                    Violation(
                        text,
                        [
                            witness(
                                event,
                                f"published {event.hwm}: LeaderChange, at {start}, is not below it",
                            )
                        ],
                    )
                )
    return len(judged)
