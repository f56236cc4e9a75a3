"""Followers follow: one that is up, connected and has a leader gets what the leader appends."""

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc

from checkers.check import check, traced_quorum
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NodeEvent, Process, witness
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey
from checkers.quorum.leadership import LATENCY_S, SECOND, Calm, bounds_of, calms
from checkers.quorum.moments import processes_of, states_in_time, voters_between
from checkers.verdict import CheckResult


@check(
    "followers-keep-up",
    applies=traced_quorum,
    source="KIP-595: retry back-off is bounded",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def followers_keep_up(evidence: Evidence) -> CheckResult:
    """In calm, every connected voter appends what its leader appends, within a bounded time.

    However often it failed to reach the leader before: back-off is bounded. The bound is a fetch
    time-out and two election time-outs, and some latency in real time; it begins with the calm, or
    with the leader.
    """
    bounds, virtual = bounds_of(evidence), evidence.info.runtime == "sim"
    within_s = bounds.steady_s - (LATENCY_S if virtual else 0.0)
    looked_at = 0
    violations: list[Violation] = []
    for calm in calms(evidence, _load_began(evidence)):
        led = _leader_of(evidence, calm)
        begin = max(calm.begin, led.t) if led is not None else calm.end
        limit = begin + int(within_s * SECOND)
        if led is None or limit > calm.end:
            continue
        wanted = _appended(evidence, led, begin, begin + SECOND)
        for process in _others(evidence, calm, led.node) if wanted is not None else ():
            looked_at += 1
            if wanted is not None and not _has(process, wanted, limit):
                violations.append(_behind(led, wanted, process, within_s))
    return conclude(
        looked_at=looked_at,
        unit="followers in times of calm",
        violations=violations,
        needs=NEED,
        holds=f"each appended what its leader did within {within_s:g} s",
        algorithm="the leader's first append of each calm, against the followers' log ends",
        nothing=f"no leader and its followers were undisturbed for {within_s:g} s"
        if evidence.lives
        else "",
    )


def _load_began(evidence: Evidence) -> int | None:
    """When clients first asked for something, in ns."""
    found = pc.min(evidence.tables["ops"]["t0"]).as_py()
    return int(found) if found is not None else None


def _leader_of(evidence: Evidence, calm: Calm) -> NodeEvent | None:
    """The leader at the end of the calm; None if there was none, or not one of the healthy
    nodes."""
    states = [event for event in evidence.once(states_in_time) if event.t < calm.end]
    elected = max(
        (one for one in states if one.state == "leader"), key=lambda one: one.epoch, default=None
    )
    if elected is None or elected.node not in calm.nodes:
        return None
    moved = any(one.epoch > elected.epoch for one in states)
    return None if moved else elected


def _appended(evidence: Evidence, led: NodeEvent, begin: int, end: int) -> NodeEvent | None:
    """The leader's first append in that time."""
    traces = evidence.traces
    rows = traces.rows("q.append")
    t = traces.column("t")[rows]
    mine = (traces.column("node")[rows] == led.node) & (begin <= t) & (t <= end)
    return next(iter(traces.lines(rows[mine][:1])), None)


def _others(evidence: Evidence, calm: Calm, leader: int) -> Iterator[Process]:
    """Processes of healthy voters that lived all through the calm."""
    sets = voters_between(evidence, calm.begin, calm.end)
    for process in evidence.once(processes_of):
        lived = process.first_ns <= calm.begin and process.last_ns >= calm.end
        replica = ReplicaKey(process.node, process.directory)
        votes = all(voters.includes(replica) for voters in sets)
        if lived and votes and process.node in calm.nodes - {leader}:
            yield process


def _has(process: Process, wanted: NodeEvent, limit: int) -> bool:
    """Whether it appended that batch, or a later one, by the limit."""
    rows = process.rows("q.append")
    t, last, epoch = (process.traces.column(name)[rows] for name in ("t", "last", "epoch"))
    return bool(np.any((t <= limit) & (last >= wanted.last) & (epoch >= wanted.epoch)))


def _behind(led: NodeEvent, wanted: NodeEvent, process: Process, within_s: float) -> Violation:
    text = f"node {process.node} is up and connected, but does not have offset {wanted.last} "
    text += f"{within_s:g} s after node {led.node}, leader of epoch {led.epoch}, appended it"
    return Violation(
        text,
        [
            witness(led, "leads"),
            witness(wanted, f"appended, but node {process.node} does not have it"),
        ],
    )
