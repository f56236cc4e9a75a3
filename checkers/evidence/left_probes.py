"""Missing answers of nodes to the harness, which probes all of them all the time.

A node that a fault has hit need not answer, nor one that is just recovering from it, nor one that
has ended by itself. After any other silence of a node, its state in that time is unknown.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import pyarrow.compute as pc

from checkers.evidence.faults import FaultFact, faults_of
from checkers.history.sealed_run import Run, RunInfo

_SECOND = 1_000_000_000
# Each node is asked twice a second. The unexplained part of the time between two answers may be
# this long, by the runtime: a real machine may be busy.
_SILENT_S = {"sim": 2.0}
_SILENT_REAL_S = 10.0
# After a cure: a restarted process registers before it answers.
_COMES_BACK_S = 5.0
# After any fault: until a node leads again.
_ELECTS_S = 15.0

Times = tuple[int, int]  # from, until


def missing_answers(run: Run) -> Iterator[tuple[str, str]]:
    """For partitions: which broker did not answer, and for how long."""
    probes = run.tables["probes"]
    mine = probes.filter(pc.equal(probes["kind"], "partition"))
    if not mine.num_rows:
        return
    begin, end = int(pc.min(mine["t0"]).as_py()), _asked_until(run)
    for node in _brokers(run.info):
        answered = mine.filter(pc.equal(mine["node"], node))["t0"].unique().to_pylist()
        excused = list(_excused(run, node))
        longest = _longest(answered, begin, end, excused)
        if longest > _most_ns(run.info):
            yield f"node {node}", _words(longest, "it answered nothing about partitions", answered)


def missing_leaders(run: Run) -> Iterator[tuple[str, str]]:
    """For the quorum: for how long no node said that it leads."""
    probes = run.tables["probes"]
    mine = probes.filter(pc.equal(probes["kind"], "quorum"))
    if not mine.num_rows:
        return
    begin, end = int(pc.min(mine["t0"]).as_py()), _asked_until(run)
    answered = mine["t0"].unique().to_pylist()
    behind = int(_ELECTS_S * _SECOND)
    faults = [fault for fault in faults_of(run) if fault.may_harm]
    # Voters that lost their disks may leave no majority, and a stuck quorum has no leader: either
    # is reported by its own check.
    excused = [(f.t_start, end if f.wipes else f.over_ns + behind) for f in faults]
    excused += [(int(each["t_ns"]), end) for each in run.info.unasked_ends]
    if run.info.stuck:
        excused.append((faults[-1].t_start if faults else begin, end))
    longest = _longest(answered, begin, end, excused)
    if longest > _most_ns(run.info):
        yield "probes", _words(longest, "no node said that it leads the quorum", answered)


def _brokers(info: RunInfo) -> list[int]:
    return sorted(int(node) for node, role in info.roles.items() if "broker" in role)


def _asked_until(run: Run) -> int:
    """The harness asks until clients have ended."""
    ended = pc.max(run.tables["ops"]["t1"]).as_py()
    return int(ended or 0)


def _most_ns(info: RunInfo) -> int:
    return int(_SILENT_S.get(info.runtime, _SILENT_REAL_S) * _SECOND)


def _excused(run: Run, node: int) -> Iterator[Times]:
    """The times at which it may be silent. A starting broker waits for a controller, so faults that
    hit controllers may excuse it."""
    behind = int(_COMES_BACK_S * _SECOND)
    faults = faults_of(run)
    mine = [fault for fault in faults if node in fault.nodes]
    yield from ((fault.t_start, fault.over_ns + behind) for fault in mine)
    for fault in mine if any(each.ends_process for each in mine) else ():
        yield from _kept_away(fault, faults, behind)
    for each in run.info.unasked_ends:
        if int(each["node"]) == node:
            yield int(each["t_ns"]), run.info.duration_ns


def _kept_away(own: FaultFact, faults: Sequence[FaultFact], behind: int) -> Iterator[Times]:
    """While faults follow a fault that ended its process."""
    until = own.over_ns + behind
    for fault in faults:
        if own.ends_process and fault.may_harm and fault.t_start <= until < fault.over_ns + behind:
            until = fault.over_ns + behind
            yield fault.t_start, until


def _longest(answered: Iterable[int], begin: int, end: int, excused: Sequence[Times]) -> int:
    """Of the times between answers, the longest, without its excused part."""
    marks = sorted({begin, end, *(int(t) for t in answered)})
    gaps = ((a, b) for a, b in pairwise(marks) if b <= end)
    return max((_unexcused(a, b, excused) for a, b in gaps), default=0)


def _unexcused(begin: int, end: int, excused: Sequence[Times]) -> int:
    left, at = 0, begin
    for since, until in sorted(excused):
        left += max(min(since, end) - at, 0)
        at = min(max(at, until), end)
    return left + max(end - at, 0)


def _words(longest: int, what: str, answered: Sequence[int]) -> str:
    text = f"for {longest / _SECOND:.1f} s that no fault explains, {what}"
    return text if answered else f"{text}, nor at any other time"
