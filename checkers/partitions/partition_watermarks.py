"""High watermarks, as their leaders trace their moves: P7, P8, P12 and P18."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import BROKER, TOPIC, Change
from checkers.evidence.lives import NodeEvent, gaps, witness
from checkers.history.asked import MIN_ISR
from checkers.partitions.leaders import names
from checkers.partitions.traced_replicas import (
    METADATA,
    MovedWatermark,
    PartitionId,
    TracedIsr,
    histories,
    isr_of,
    partition_of,
    traced_partitions,
    traces_replicas,
)
from checkers.verdict import CheckResult

_UNIT = "moves of high watermarks"
_History = Mapping[PartitionId, list[Change]]

# --- P8 ---


@check(
    "P8-moved-with-min-isr",
    applies=traces_replicas,
    source="KIP-966, Additional High Watermark advancement requirement; KAFKA-15583",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def moved_with_min_isr(evidence: Evidence) -> CheckResult:
    """P8: A high watermark rises only while the committed ISR has min.insync.replicas members.

    For records of any acks. The ISR is the one that the leader used as committed; the smallest min
    ISR that the metadata log ever had is enough, if clients had asked for one as small. (KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    history, moves = histories(found), evidence.once(traced_partitions).moves
    needed = {
        at: max(min(min_isrs(evidence, changes)), changes[0].asked_min_isr)
        for at, changes in history.items()
    }
    risen = [move for move in moves if move.event.hwm > move.before and move.partition in needed]
    few = [move for move in risen if len(move.isr.committed) < needed[move.partition]]
    return conclude(
        looked_at=len(risen),
        unit=_UNIT,
        violations=[_too_few(move, needed[move.partition], history) for move in few],
        needs=METADATA,
        holds="the committed ISR had min ISR each time",
        algorithm="p.hwm by the last p.isr, against the least min ISR of the metadata log",
        gaps=gaps(evidence.lives),
        nothing="no high watermark rose" if evidence.lives else "",
    )


def min_isrs(evidence: Evidence, changes: list[Change]) -> list[int]:
    """All values that were ever in force, or were set, for a partition."""
    topic = changes[0].partition.key.rpartition("-")[0]
    rows = evidence.tables["log_records"]
    rows = rows.filter(pc.equal(rows["name"], MIN_ISR))
    ever = [
        int(row["value"])
        for row in rows.to_pylist()
        if row["value"]
        and (row["resource_type"], row["resource"]) in ((TOPIC, topic), (BROKER, ""))
    ]
    return [*ever, *(change.min_isr for change in changes)]


def _too_few(move: MovedWatermark, needed: int, history: _History) -> Violation:
    text = f"{_where(move, history)} raised its high watermark from {move.before} to "
    text += f"{move.event.hwm} with the ISR [{names(sorted(move.isr.committed))}], "
    text += f"fewer than min ISR, {needed}"
    return Violation(text, [witness(move.event, "moved")])


def _where(move: MovedWatermark, history: _History) -> str:
    key = history[move.partition][0].partition.key
    return f"{key}: node {move.event.node}, leader of epoch {move.event.epoch},"


# --- P7 ---


@check(
    "P7-maximal-isr-holds-all",
    applies=traces_replicas,
    source="HS WeakIsr, KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def maximal_isr_holds_all(evidence: Evidence) -> CheckResult:
    """P7: All records below a high watermark that rises are on every replica that is in the ISR, or
    may be.

    That is the maximal ISR: the replicas of the committed and of the proposed ISR. By the ends of
    their logs, as the leader knew them then. (HS WeakIsr, KIP-966)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    history, moves = histories(found), evidence.once(traced_partitions).moves
    risen = [move for move in moves if move.event.hwm > move.before and move.partition in history]
    violations = [
        _short(move, node, history)
        for move in risen
        for node in sorted(move.isr.maximal)
        if move.end(node) < move.event.hwm
    ]
    return conclude(
        looked_at=len(risen),
        unit=_UNIT,
        violations=violations,
        needs=METADATA,
        holds="all members of the maximal ISR had all below, each time",
        algorithm="p.hwm by the last p.isr: ends of logs against the high watermark",
        gaps=gaps(evidence.lives),
        nothing="no high watermark rose" if evidence.lives else "",
    )


def _short(move: MovedWatermark, node: int, history: _History) -> Violation:
    end = move.end(node)
    knew = f"that it ends at {end}" if end >= 0 else "nothing about it"
    text = f"{_where(move, history)} raised its high watermark to {move.event.hwm}, but of the log "
    text += f"of node {node} it knew {knew}, "
    text += f"which may be in the ISR [{names(sorted(move.isr.maximal))}]"
    return Violation(text, [witness(move.event, "moved")])


# --- P12 ---


@check(
    "P12-high-watermark-rises",
    applies=traces_replicas,
    source="KIP-966, 6.4",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def high_watermark_rises(evidence: Evidence) -> CheckResult:
    """P12: Within a leader epoch a high watermark never goes down, nor past the leader's log."""
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, METADATA)
    history = histories(found)
    moves = [move for move in evidence.once(traced_partitions).moves if move.partition in history]
    violations = []
    for move in moves:
        if not move.before <= move.event.hwm <= move.event.log_end:
            text = f"{_where(move, history)} moved its high watermark from {move.before} to "
            text += f"{move.event.hwm}, but its log ends at {move.event.log_end}"
            violations.append(Violation(text, [witness(move.event, "moved")]))
    return conclude(
        looked_at=len(moves),
        unit=_UNIT,
        violations=violations,
        needs=METADATA,
        holds="each rose, within its log",
        algorithm="p.hwm of each leader, one after another",
        gaps=gaps(evidence.lives),
        nothing="no high watermark moved" if evidence.lives else "",
    )


# P18, for high watermarks: a broker that has left does not hold them up.


@check(
    "P18-high-watermark-keeps-up",
    applies=traces_replicas,
    source="KIP-966 liveness; KAFKA-13091, KAFKA-15021",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def high_watermark_keeps_up(evidence: Evidence) -> CheckResult:
    """P18: A high watermark is not below the lowest log end among the replicas that are in the ISR
    or active.

    By what its leader knew when it traced a move, or another ISR. It waits for replicas that may be
    in the ISR, and may wait for any other replica as long as its broker is active. Judged while the
    ISR has the greatest min ISR that was ever in force. (KAFKA-13091, KAFKA-15021)
    """
    found, unit = evidence.timeline, "high watermarks that leaders traced"
    if found is None:
        return unread(unit, METADATA)
    history = histories(found)
    needed = {at: max(min_isrs(evidence, changes)) for at, changes in history.items()}
    looked_at, violations = 0, []
    for event, at, isr in _told(evidence):
        bound = _bound(event, isr)
        if bound is None or at not in needed or len(isr.committed) < needed[at]:
            continue
        looked_at += 1
        if event.hwm < bound:
            violations.append(_behind(event, history[at], isr, bound))
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=violations,
        needs=METADATA,
        holds="each was as high as the lowest log end of the replicas to wait for",
        algorithm="p.isr and p.hwm: the high watermark against the lowest end of a log",
        gaps=gaps(evidence.lives),
        nothing="no broker led" if evidence.lives else "",
    )


def _told(evidence: Evidence) -> Iterator[tuple[NodeEvent, PartitionId, TracedIsr]]:
    replicas = evidence.once(traced_partitions)
    for event in replicas.isrs:
        yield event, partition_of(event), isr_of(event)
    for move in replicas.moves:
        yield move.event, move.partition, move.isr


def _bound(event: NodeEvent, isr: TracedIsr) -> int | None:
    """The lowest end of the logs to wait for; None: the line does not have all of them."""
    more: Mapping[str, Any] = event.more
    if "ends" not in more:
        return None
    ends = [
        int(each["end"])
        for each in more["ends"]
        if each["id"] in isr.maximal or each.get("active", 1)
    ]
    lowest = min([event.log_end, *ends])
    return None if lowest < 0 else lowest


def _behind(event: NodeEvent, changes: list[Change], isr: TracedIsr, bound: int) -> Violation:
    text = (
        f"{changes[0].partition.key}: node {event.node}, leader of epoch {event.epoch}, left its "
    )
    text += f"high watermark at {event.hwm}, though the ISR [{names(sorted(isr.maximal))}] and "
    text += f"all active replicas had the records below {bound}"
    return Violation(text, [witness(event, "said")])
