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
    """E6: a broker registers as cleanly shut down only by what its last process had vouched for.

    On the same disk, in the broker epoch that it names, once its logs were flushed. A disk that
    forgets what it had synced may bring back a file that was removed. (KIP-966)
    """
    forgetful = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    looked_at, violations = 0, []
    for life in evidence.lives:
        if life.node in forgetful:
            continue
        vouched, before = _NONE, None
        for process in life.processes:
            lines = process.events("b.life")
            if lines and _previous(lines[0]) != _NONE:
                looked_at += 1
                if _previous(lines[0]) != vouched:
                    violations.append(_unfounded(lines[0], before))
            last = lines[-1] if lines else None
            vouched = last.epoch if last is not None and last.state == _VOUCHING else _NONE
            before = last
    return conclude(
        looked_at=looked_at,
        unit="registrations after a clean shutdown",
        violations=violations,
        needs=NEED,
        holds="each named the broker epoch of a life that had flushed its logs",
        algorithm="b.life of processes of one disk, one after another",
        gaps=gaps(evidence.lives),
        nothing="no broker said that it was shut down cleanly" if evidence.lives else "",
    )


def _previous(line: NodeEvent) -> int:
    more: dict[str, Any] = dict(line.more)
    return int(more["previous"])


def _unfounded(line: NodeEvent, before: NodeEvent | None) -> Violation:
    text = f"node {line.node} names broker epoch {_previous(line)} as that of a clean shutdown, "
    text += "and its last process had not vouched for its logs in it"
    rows = [] if before is None else [witness(before, "told last, before")]
    return Violation(text, [*rows, witness(line, "found such a file")])
