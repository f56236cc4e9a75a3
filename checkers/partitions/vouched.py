"""Who vouches for its logs at its end, and who says so when it is back (b.life): E6."""

from typing import Any

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.evidence.planned import Kind
from checkers.partitions.traced_replicas import told
from checkers.verdict import CheckResult

_NONE = -1  # no file vouches for the last life
_VOUCHING = "vouching"


@check(
    "E6-clean-as-vouched",
    applies=told,
    source="KIP-966, Detection of an unclean shutdown",
    rests_on=(Kind.FAULTS, Kind.TRACES),
)
def clean_as_vouched(evidence: Evidence) -> CheckResult:
    """E6: a broker registers as cleanly shut down by what its last process had vouched for, and by
    nothing else.

    On the same disk, in the broker epoch that it names, once its logs were flushed. A disk that
    forgets what it had synced may bring back a file that was removed. What was vouched for by a
    process that ended in good order is named, unless more was done to the node meanwhile than that
    it was told to stop. (KIP-966)
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
        nothing="no broker said that it was shut down cleanly" if evidence.lives else "",
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
    text = f"node {line.node} names no clean shutdown, and its last process, on the same disk, had "
    text += f"vouched for its logs in broker epoch {before.epoch}"
    return Violation(text, [witness(before, "vouched"), witness(line, "found no such file")])


def _unfounded(line: NodeEvent, before: NodeEvent | None) -> Violation:
    text = f"node {line.node} names broker epoch {_previous(line)} as that of a clean shutdown, "
    text += "and its last process had not vouched for its logs in it"
    rows = [] if before is None else [witness(before, "told last, before")]
    return Violation(text, [*rows, witness(line, "found such a file")])
