"""Each epoch begins with a candidate, and a leader that is heard is kept."""

from collections.abc import Iterator
from itertools import pairwise

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, Kind
from checkers.evidence.lives import NEED, Life, NodeEvent, witness
from checkers.quorum.leadership import fetch_timeout_ns
from checkers.verdict import CheckResult

_PATIENCE = 0.9  # of a fetch time-out: clocks and timers are a little inexact
_ENDS_A_REIGN = ("leader", "resigned")
_STANDS = ("prospective", "candidate")


@check(
    "epochs-have-an-origin",
    applies=traced,
    source="Raft thesis 3.4; KIP-595, Resigned",
    rests_on=(Kind.TRACES,),
)
def epochs_have_an_origin(evidence: Evidence) -> CheckResult:
    """A node enters an epoch only if a node stood for election in it, or if it follows a reign of
    its own.

    A leader that resigned, or found on its disk that it had led, goes on to the next epoch by
    itself, since it cannot follow itself, and others follow it there. From q.state and n.start of
    all nodes.
    """
    entered = [(life, event) for life in evidence.lives for event in _entered(life)]
    begun = {event.epoch for life, event in entered if _after_own_reign(life, event)}
    for life in evidence.lives:
        begun |= {one.epoch for one in life.events("q.state") if one.state == "candidate"}
    return conclude(
        looked_at=len(entered),
        unit="epochs that nodes entered",
        violations=[_from_nowhere(event) for _, event in entered if event.epoch not in begun],
        needs=NEED,
        holds="in each a node stood for election before",
        algorithm="epochs of q.state against those of candidates, and of reigns that ended",
        gaps=[life.gap for life in evidence.lives if life.gap],
        nothing="no node entered an epoch" if evidence.lives else "",
    )


def _entered(life: Life) -> Iterator[NodeEvent]:
    """The first line of each epoch that a replica entered; without the epoch that it found on its
    disk."""
    known = 0
    for event in life.events("n.start", "q.state"):
        if event.event == "n.start":
            known = max(known, event.epoch)
        elif event.epoch > known:
            known = event.epoch
            yield event


def _after_own_reign(life: Life, entered: NodeEvent) -> bool:
    """Whether the replica led the epoch before, by its own trace."""
    return any(
        event.epoch == entered.epoch - 1
        and (
            (event.event == "q.state" and event.state in _ENDS_A_REIGN)
            or (event.event == "n.start" and event.leader == life.node)
        )
        for event in life.events("n.start", "q.state")
    )


def _from_nowhere(event: NodeEvent) -> Violation:
    text = f"node {event.node} is in epoch {event.epoch}, in which no node stood for election"
    return Violation(text, [witness(event, f"entered epoch {event.epoch} as {event.state}")])


@check(
    "heard-leader-is-kept",
    applies=traced,
    source="KIP-595, Follower: fetch.timeout.ms; KIP-996",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def live_leader_is_kept(evidence: Evidence) -> CheckResult:
    """A follower stands for election only if its leader was silent for a fetch time-out.

    For 0.9 of it at least, by the node's own clock; clocks that a fault makes wrong are left out.
    From q.state, which has the time for which the leader had been silent. A leader may be left at
    once if it resigned, by its own trace (q.state, or n.start of one that finds that it led), or is
    gone. Nor had it heard the leader meanwhile by the leader's trace: of two fetches of one
    replica, the first was answered (q.fetch). What a fault may have broken off is left out.
    """
    least = int(_PATIENCE * fetch_timeout_ns(evidence))
    resigned = evidence.once(_resignations)
    looked_at = 0
    violations: list[Violation] = []
    for followed, event in _departures(evidence):
        if _clock_is_wrong(evidence, event):
            continue
        looked_at += 1
        silent = event.more.get("silent_ns")
        lasted = event.t - followed.t
        quits = resigned.get((followed.leader, followed.epoch), FOREVER_NS) <= event.t
        if isinstance(silent, int) and 0 <= silent < least:
            violations.append(_left_early(event, silent, least))
        elif quits or not evidence.once(_reigns_traced).get((followed.leader, followed.epoch)):
            continue
        elif lasted < least:
            violations.append(_never_resigned(followed, event, lasted, least))
        elif heard := _heard(evidence, followed, event, least):
            violations.append(_had_heard(followed, event, heard))
    return conclude(
        looked_at=looked_at,
        unit="leaders that were left",
        violations=violations,
        needs=NEED,
        holds=f"each had been silent for {least / 1e9:g} s or longer, or had resigned",
        algorithm="silence of the leader in q.state, against the fetch time-out and its own trace",
        nothing="no follower stood for election" if evidence.lives else "",
    )


def _departures(evidence: Evidence) -> Iterator[tuple[NodeEvent, NodeEvent]]:
    """Followers that stood for election right after: the lines as a follower and as a candidate."""
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        for before, event in pairwise(process.events("q.state")):
            if before.state == "follower" and event.state in _STANDS:
                yield before, event


def _resignations(evidence: Evidence) -> dict[tuple[int, int], int]:
    """By node and epoch, when it first had resigned, or found on its disk that it had led."""
    found: dict[tuple[int, int], int] = {}
    for life in evidence.lives:
        for event in life.events("n.start", "q.state"):
            is_one = event.state == "resigned" or (
                event.event == "n.start" and event.leader == life.node
            )
            if is_one:
                at = (life.node, event.epoch)
                found[at] = min(event.t, found.get(at, event.t))
    return found


def _reigns_traced(evidence: Evidence) -> dict[tuple[int, int], bool]:
    """By node and epoch of each node that traced that it leads, whether its trace is complete."""
    return {
        (life.node, event.epoch): process.gap is None
        for life in evidence.lives
        for process in life.processes
        for event in process.events("q.state")
        if event.state == "leader"
    }


def _heard(
    evidence: Evidence, followed: NodeEvent, event: NodeEvent, least: int
) -> list[NodeEvent]:
    """Two fetches that its leader had from it while it should have been silent; empty if a fault
    was under way."""
    since = event.t - least
    if any(fault.overlaps(since - least, event.t) for fault in evidence.faults):
        return []
    traces = evidence.traces
    rows = traces.rows("q.fetch")
    t, node, epoch = (traces.column(name)[rows] for name in ("t", "node", "epoch"))
    replica = traces.column("replica")[rows]
    mine = (since < t) & (t < event.t) & (node == followed.leader) & (epoch == followed.epoch)
    found = rows[mine & (replica == event.node)]
    return traces.lines(found[:2]) if len(found) > 1 else []


def _clock_is_wrong(evidence: Evidence, event: NodeEvent) -> bool:
    return any(
        fault.shifts_clock and event.node in fault.nodes and fault.t_start <= event.t
        for fault in evidence.faults
    )


def _left_early(event: NodeEvent, silent: int, least: int) -> Violation:
    text = f"node {event.node} stood for election as {event.state} in epoch {event.epoch}, though "
    text += f"its leader had answered {silent / 1e6:.0f} ms before; it has to be silent for "
    text += f"{least / 1e6:.0f} ms"
    return Violation(text, [witness(event, "leaves a leader that it has just heard")])


def _never_resigned(followed: NodeEvent, event: NodeEvent, lasted: int, least: int) -> Violation:
    text = f"node {event.node} stood for election as {event.state} in epoch {event.epoch}, "
    text += f"{lasted / 1e6:.0f} ms after it began to follow node {followed.leader}, which had not "
    text += f"resigned; it has to wait for {least / 1e6:.0f} ms"
    return Violation(text, [witness(followed, "follows"), witness(event, "leaves its leader")])


def _had_heard(followed: NodeEvent, event: NodeEvent, heard: list[NodeEvent]) -> Violation:
    text = f"node {event.node} stood for election as {event.state} in epoch {event.epoch}, though "
    text += f"node {followed.leader}, which had not resigned, had answered it: it asked again"
    rows = [witness(line, "its leader is asked") for line in heard]
    return Violation(text, [*rows, witness(event, "leaves its leader")])


@check(
    "asked-before-standing",
    applies=traced,
    source="KIP-996; KIP-595 without it",
    rests_on=(Kind.TRACES,),
)
def asked_before_standing(evidence: Evidence) -> CheckResult:
    """A node that raises the epoch to be elected has asked for pre-votes in the epoch before.

    From q.state: a candidate was prospective right before, in the epoch below; or it is a candidate
    again that finds on its disk, as it starts, that it was one. (KIP-996)
    """
    looked_at = 0
    violations: list[Violation] = []
    for process in (one for life in evidence.lives for one in life.processes if not one.gap):
        before: NodeEvent | None = None
        for event in process.events("n.start", "q.state"):
            if event.state == "candidate" and before is not None:
                looked_at += 1
                if not _may_stand(before, event):
                    violations.append(_unasked(before, event))
            before = event
    return conclude(
        looked_at=looked_at,
        unit="candidacies",
        violations=violations,
        needs=NEED,
        holds="each node had asked for pre-votes before",
        algorithm="neighbours among the states of each process",
        gaps=[life.gap for life in evidence.lives if life.gap],
        nothing="no node stood for election" if evidence.lives else "",
    )


def _may_stand(before: NodeEvent, event: NodeEvent) -> bool:
    if before.event == "n.start":
        return before.epoch == event.epoch
    return before.state == "prospective" and before.epoch == event.epoch - 1


def _unasked(before: NodeEvent, event: NodeEvent) -> Violation:
    was = before.state if before.event == "q.state" else "only just started"
    text = f"node {event.node} raised the epoch from {before.epoch} to {event.epoch} to be elected,"
    text += f" but had asked no node for a pre-vote: it was {was}"
    return Violation(text, [witness(before, "before"), witness(event, "stands for election")])
