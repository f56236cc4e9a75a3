"""Nodes run until they are ended: a process that ends by itself is accused, whatever follows; so is
one that was asked to stop, and failed.

The cure of a later fault may have started another one in its place, and the quorum may have done
without it: neither excuses it.
"""

from collections.abc import Mapping, Sequence

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult, EventValue

SECOND = 1_000_000_000
_WORDS = 8  # lines of a log, in a witness


@check(
    "nodes-kept-running",
    applies=everywhere,
    source="Raft thesis 3.2: a server that stops comes back from what its disk holds",
    rests_on=(Kind.FAULTS,),
)
def nodes_kept_running(evidence: Evidence) -> CheckResult:
    """No process of a node ends by itself, refuses to start, or fails when asked to stop, unless a
    fault may cause that; and each finishes the steps that it begins.

    A failing or full disk may cause it while it lasts, and a disk that lost synced bytes may from
    then on. Nothing else may: after a kill, a power cut or a pause, a node goes on from what is on
    its disk. No fault excuses a step that never ends, or that eats the machine's memory, so that
    the simulator had to halt it.
    """
    excused: list[Violation] = []
    unexcused: list[Violation] = []
    for end in evidence.info.unasked_ends:
        node, at = int(end["node"]), int(end["t_ns"])
        before = [f for f in evidence.faults if node in f.nodes and f.t_start <= at]
        may_have = not end.get("halted") and any(may_end(fault, at) for fault in before)
        found = excused if may_have else unexcused
        found.append(_ended(end, before))
    return conclude(
        looked_at=sum(evidence.info.starts.values()) or evidence.info.nodes,
        unit="processes",
        violations=unexcused,
        allowed=excused,
        needs="run.json",
        holds="none ended by itself" if not excused else "none ended by itself for no reason",
        algorithm="processes that ended unasked, against the faults that may end one",
    )


def _ended(end: Mapping[str, int | str], before: Sequence[FaultFact]) -> Violation:
    node, at = int(end["node"]), int(end["t_ns"])
    words = [line for line in str(end["words"]).splitlines() if line.strip()]
    # An error is followed by indented lines: where it was and what to do.
    told = [line for line in words if not line[0].isspace()]
    after, code = f"after {at / SECOND:.1f} s", f"with exit code {end['exit_code']}"
    text = f"node {node} ended by itself {after}, {code}"
    if end.get("told_to_stop"):
        text = f"node {node} was asked to stop, but failed {after}, {code}"
    if end.get("halted"):
        text = f"node {node} {end['halted']}, and was halted {after}"
    text += f"; its last words: {told[-1] if told else 'nothing'}"
    said: list[dict[str, EventValue]] = [
        {"what": f"it said: {line.strip()}", "node": node} for line in words[-_WORDS:]
    ]
    return Violation(
        text,
        [
            *(fault.shown("the last fault before", fault.t_start) for fault in before[-1:]),
            *said,
            {"what": "its process ended", "t_ns": at, "node": node},
        ],
    )


def may_end(fault: FaultFact, at: int) -> bool:
    """Whether a fault may make a process of its victims end by itself at this moment.

    A fault that ends processes, and not by halting them, may make them end by themselves while it
    lasts. So may a power cut that left no evidence: it may have taken the disk from under a process
    that ran on, and such a run is void. Damaged bytes may keep a process from starting for ever
    after.
    """
    misfired = fault.may_lose and fault.bit is False
    ends_by_itself = fault.ends_process and (not fault.halts or misfired) and at <= fault.end_ns
    return fault.t_start <= at and (ends_by_itself or fault.damages_bytes)
