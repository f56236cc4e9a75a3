"""P18, for high watermarks: a broker that has left holds up none."""

from collections.abc import Iterator, Mapping
from typing import Any

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change
from checkers.evidence.lives import NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.leaders import names
from checkers.partitions.partition_watermarks import min_isrs
from checkers.partitions.traced_replicas import (
    METADATA,
    PartitionId,
    ToldIsr,
    histories,
    isr_of,
    partition_of,
    told,
    traced_partitions,
)
from checkers.verdict import CheckResult


@check(
    "P18-high-watermark-keeps-up",
    applies=told,
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


def _told(evidence: Evidence) -> Iterator[tuple[NodeEvent, PartitionId, ToldIsr]]:
    replicas = evidence.once(traced_partitions)
    for event in replicas.isrs:
        yield event, partition_of(event), isr_of(event)
    for move in replicas.moves:
        yield move.event, move.partition, move.isr


def _bound(event: NodeEvent, isr: ToldIsr) -> int | None:
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


def _behind(event: NodeEvent, changes: list[Change], isr: ToldIsr, bound: int) -> Violation:
    text = (
        f"{changes[0].partition.key}: node {event.node}, leader of epoch {event.epoch}, left its "
    )
    text += f"high watermark at {event.hwm}, though the ISR [{names(sorted(isr.maximal))}] and "
    text += f"all active replicas had the records below {bound}"
    return Violation(text, [witness(event, "said")])
