"""Brokers that leave a clean-shutdown file, and brokers that name one when they return (b.life):
E6."""

from typing import Any

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.traced_replicas import told
from checkers.verdict import CheckResult

_NONE = -1  # the last life left no clean-shutdown file
_VOUCHING = "vouching"


@check(
    "E6-clean-as-vouched",
    applies=told,
    source="KIP-966, Detection of an unclean shutdown",
    rests_on=(Kind.FAULTS, Kind.TRACES),
)
def clean_as_vouched(evidence: Evidence) -> CheckResult:
    """E6: A broker registers as cleanly shut down only with the broker epoch in the clean-shutdown
    file of its last process, and always if that file is there.

    On the same disk, and once the logs were flushed. A disk that loses synced bytes may bring back
    a removed file. The file of a process that stopped in good order is named, unless more was done
    to the node meanwhile than a stop. (KIP-966)
    """
    forgetful = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    looked_at, violations = 0, []
    for life in evidence.lives:
        if life.node in forgetful:
            continue
        vouched, before, stopped = _NONE, None, None
        for process in life.processes:
            lines = process.events("b.life")
            if lines and _previous(lines[0]) != _NONE:
                looked_at += 1
                if _previous(lines[0]) != vouched:
                    violations.append(_unfounded(lines[0], before))
            elif lines and before is not None and vouched != _NONE and stopped is not None:
                looked_at += 1
                if _was_only_stopped(evidence, life.node, before.t, lines[0].t):
                    violations.append(_forgotten(lines[0], before))
            last = lines[-1] if lines else None
            vouched = last.epoch if last is not None and last.state == _VOUCHING else _NONE
            before, stopped = last, next(iter(process.events("n.stop")), None)
    return conclude(
        looked_at=looked_at,
        unit="registrations after a clean shutdown",
        violations=violations,
        needs=NEED,
        holds="each named the broker epoch of a life that had flushed its logs, if there was one",
        algorithm="b.life of processes of one disk, one after another",
        gaps=gaps(evidence.lives),
        nothing="no broker registered as cleanly shut down" if evidence.lives else "",
    )


def _previous(line: NodeEvent) -> int:
    more: dict[str, Any] = dict(line.more)
    return int(more["previous"])


def _was_only_stopped(evidence: Evidence, node: int, begin: int, end: int) -> bool:
    faults = [f for f in evidence.faults if node in f.nodes and f.overlaps(begin, end)]
    return all(
        f.ends_process and f.halts and not (f.unclean or f.may_lose or f.damages_bytes or f.wipes)
        for f in faults
    )


def _forgotten(line: NodeEvent, before: NodeEvent) -> Violation:
    text = f"node {line.node} names no clean shutdown, but its last process, on the same disk, had "
    text += f"written a clean-shutdown file of broker epoch {before.epoch}"
    return Violation(text, [witness(before, "vouched"), witness(line, "found no such file")])


def _unfounded(line: NodeEvent, before: NodeEvent | None) -> Violation:
    text = f"node {line.node} names broker epoch {_previous(line)} as that of a clean shutdown, "
    text += "but its last process had not written a clean-shutdown file of that epoch"
    rows = [] if before is None else [witness(before, "said last, before")]
    return Violation(text, [*rows, witness(line, "found such a file")])
