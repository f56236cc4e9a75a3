"""The quorum without traces: Q1, Q7 and Q11 by the disks and by answers to probes.

Apache Kafka is judged this way. A leader answers a probe (DescribeQuorum) at some moment between
question and answer; a disk shows the end only. Both show less than a trace would.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from checkers.check import check, probed, untraced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.quorum.epochs import leader_changes
from checkers.verdict import CheckResult, EventValue

_NEED = "the controllers' disks, or answers to DescribeQuorum"

_Probe = dict[str, Any]  # a row of PROBES


@check(
    "Q1-monotonic-epoch",
    applies=untraced,
    source="SIM MonotonicEpoch",
    rests_on=(Kind.METADATA_LOGS, Kind.FAULTS),
)
def epochs_on_disks(evidence: Evidence) -> CheckResult:
    """Q1: No disk has an older epoch than its node was in.

    Its quorum-state is durable before the epoch is visible, so it has at least the epoch of the
    last record in its log, and of every answer that the node gave as a leader. (SIM MonotonicEpoch)
    """
    looked_at, violations = 0, []
    seen = _epochs_seen(evidence)
    for row in evidence.tables["disks"].to_pylist():
        for epoch, shown in seen.get(row["node"], ()) if row["epoch"] is not None else ():
            looked_at += 1
            if row["epoch"] < epoch:
                text = f"node {row['node']} was in epoch {epoch}, but its disk holds {row['epoch']}"
                on_disk = {"what": "quorum-state file", "node": row["node"], "epoch": row["epoch"]}
                violations.append(Violation(text, [shown, on_disk]))
    return conclude(
        looked_at=looked_at,
        unit="epochs that nodes were in",
        violations=violations,
        needs=_NEED,
        holds="each disk has it, or a newer one",
        algorithm="quorum-state against the log beside it, and against answers to DescribeQuorum",
    )


def _epochs_seen(evidence: Evidence) -> Mapping[int, list[tuple[int, Mapping[str, EventValue]]]]:
    found: dict[int, list[tuple[int, Mapping[str, EventValue]]]] = {}
    for node, log in evidence.metadata_logs.items():
        highest = max(log, key=lambda batch: batch.epoch)
        shown = {"what": "in its log", "node": node, **highest._asdict()}
        found.setdefault(node, []).append((highest.epoch, shown))
    wiped = {node for fault in evidence.faults if fault.wipes for node in fault.nodes}
    for answer in _answers(evidence):
        if answer["leader"] not in wiped:
            found.setdefault(answer["leader"], []).append((answer["epoch"], _shown(answer)))
    return found


@check("Q7-quorum-high-watermark", applies=probed, source="SIM MonotonicHighWatermark, KIP-856")
def told_high_watermarks(evidence: Evidence) -> CheckResult:
    """Q7: Over the sequence of leaders, by epoch, the high watermark never goes down.

    Nor between two answers of one leader if the second was asked for when the first had come. From
    answers to DescribeQuorum. (SIM MonotonicHighWatermark, KIP-856)
    """
    answers = [answer for answer in _answers(evidence) if answer["high_watermark"] >= 0]
    violations = []
    by_epoch: dict[int, list[_Probe]] = {}
    for answer in answers:
        by_epoch.setdefault(answer["epoch"], []).append(answer)
    peak: _Probe | None = None
    for _, told in sorted(by_epoch.items()):
        lowest = min(told, key=_high_watermark)
        if peak is not None and lowest["high_watermark"] < peak["high_watermark"]:
            violations.append(_lower(peak, lowest))
        violations += _went_down(told)
        peak = max(told if peak is None else [peak, *told], key=_high_watermark)
    return conclude(
        looked_at=len(answers),
        unit="high watermarks that leaders answered",
        violations=violations,
        needs=_NEED,
        holds="it never went down",
        algorithm="running maximum over epochs, and over answers that did not overlap",
    )


def _went_down(told: list[_Probe]) -> Iterator[Violation]:
    """Within one epoch: below an answer that had come before it was asked for."""
    answered = sorted(told, key=lambda answer: int(answer["t1"]))
    at, peak = 0, None
    for answer in sorted(told, key=lambda answer: int(answer["t0"])):
        while answered[at]["t1"] < answer["t0"]:
            peak = max(peak or answered[at], answered[at], key=_high_watermark)
            at += 1
        if peak is not None and answer["high_watermark"] < peak["high_watermark"]:
            yield _lower(peak, answer)


def _lower(peak: _Probe, answer: _Probe) -> Violation:
    text = f"the leader of epoch {answer['epoch']}, node {answer['leader']}, had high watermark "
    text += f"{answer['high_watermark']}, below {peak['high_watermark']} of epoch {peak['epoch']}"
    return Violation(text, [_shown(peak), _shown(answer)])


@check(
    "Q11-leader-completeness",
    applies=probed,
    source="Raft, Leader Completeness; figure 8",
    rests_on=(Kind.METADATA_LOGS,),
)
def later_leaders_hold_committed(evidence: Evidence) -> CheckResult:
    """Q11: Every leader's log contains all that was committed in earlier epochs.

    A leader writes its LeaderChange at the end of its log, so that record is at or above every high
    watermark that a leader of an earlier epoch answered; its own answers must be above its own
    record, and in the end the log is at least as long. (Raft, Leader Completeness; figure 8)
    """
    answers = [answer for answer in _answers(evidence) if answer["high_watermark"] > 0]
    starts = {row["epoch"]: row for row in evidence.once(leader_changes)}
    highest: dict[int, _Probe] = {}
    for answer in answers:
        known = highest.get(answer["epoch"], answer)
        highest[answer["epoch"]] = max(known, answer, key=_high_watermark)
    violations = []
    for epoch, answer in sorted(highest.items()):
        later = [row for at, row in sorted(starts.items()) if at > epoch]
        violations += [
            _without(answer, row) for row in later if row["offset"] < answer["high_watermark"]
        ]
    violations += _above_own_record(answers, starts)
    if highest:
        violations += _shorter(evidence, max(highest.values(), key=_high_watermark))
    return conclude(
        looked_at=len(answers),
        unit="high watermarks that leaders answered",
        violations=violations,
        needs=_NEED,
        holds="each later leader began above them",
        algorithm="highest answer of each epoch against later LeaderChange records and log ends",
    )


def _without(answer: _Probe, row: Mapping[str, int]) -> Violation:
    text = f"node {row['leader']} became leader of epoch {row['epoch']} with a log that ended at "
    text += f"{row['offset']}, but {answer['high_watermark']} was committed in epoch "
    change: dict[str, EventValue] = {"what": "LeaderChange record", **row}
    return Violation(f"{text}{answer['epoch']}", [_shown(answer), change])


def _above_own_record(
    answers: list[_Probe], starts: Mapping[int, Mapping[str, int]]
) -> Iterator[Violation]:
    for answer in answers:
        start = starts.get(answer["epoch"])
        if start is not None and answer["high_watermark"] <= start["offset"]:
            text = f"node {answer['leader']} answered high watermark {answer['high_watermark']} in "
            text += f"epoch {answer['epoch']}, whose LeaderChange is at {start['offset']}"
            yield Violation(text, [_shown(answer), {"what": "LeaderChange record", **start}])


def _shorter(evidence: Evidence, answer: _Probe) -> Iterator[Violation]:
    ends = [
        row["log_end"] for row in evidence.tables["disks"].to_pylist() if row["log_end"] is not None
    ]
    if ends and max(ends) < answer["high_watermark"]:
        text = f"{answer['high_watermark']} was committed in epoch {answer['epoch']}, but the "
        yield Violation(f"{text}longest log on a disk ends at {max(ends)}", [_shown(answer)])


def _answers(evidence: Evidence) -> list[_Probe]:
    """What leaders said about themselves, whichever node was asked and passed it on."""
    return [
        row
        for row in evidence.tables["probes"].to_pylist()
        if row["kind"] == "quorum"
        and None not in (row["epoch"], row["high_watermark"])
        and row["leader"] not in (None, -1)
    ]


def _high_watermark(answer: _Probe) -> int:
    return int(answer["high_watermark"])


def _shown(answer: _Probe) -> dict[str, EventValue]:
    names = ("node", "leader", "epoch", "high_watermark")
    told = {name: answer[name] for name in names}
    return {"what": "answer to DescribeQuorum", "t_ns": answer["t0"], **told}
