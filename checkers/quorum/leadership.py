"""Leadership under faults: Q21 and Q22; Q23 is in `controllers.py`.

They depend on what each fault did to which nodes and when, so they apply only to runs with faults
of certain kinds, held for long enough: if there was none, there is no row at all (None). Times are
those of the machine's one monotonic clock, in traces and faults alike.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, FaultFact, Kind
from checkers.evidence.lives import NEED, NodeEvent, Process, witness
from checkers.evidence.starvation import Suspicion, sort_out
from checkers.evidence.voter_history import ReplicaKey, TracedVoters, VoterSet
from checkers.verdict import CheckResult, counted

# The leader, each process's role and the possible voters at a moment: from the nodes' traces.
#
# Times are those of the machine's one monotonic clock.


def processes_of(evidence: Evidence) -> list[Process]:
    return [process for life in evidence.lives for process in life.processes]


def state_at(process: Process, at: int) -> NodeEvent | None:
    """The role of a process at a moment; None if it did not run then."""
    if not process.first_ns <= at <= process.last_ns:
        return None
    states = [event for event in process.events("q.state") if event.t <= at]
    return states[-1] if states else None


def states_in_time(evidence: Evidence) -> list[NodeEvent]:
    """All q.state of all nodes. By `evidence.once`."""
    found = [one for process in evidence.once(processes_of) for one in process.events("q.state")]
    return sorted(found, key=lambda event: event.t)


def leads_at(evidence: Evidence, at: int) -> tuple[Process, NodeEvent] | None:
    """The leader of the newest epoch at a moment, and the line in which it said so."""
    found = [(process, state_at(process, at)) for process in evidence.once(processes_of)]
    leading = [(one, event) for one, event in found if event and event.state == "leader"]
    return max(leading, key=lambda pair: pair[1].epoch) if leading else None


def replicas_at(evidence: Evidence, at: int) -> tuple[ReplicaKey, ...]:
    """All nodes that ever voted, each with the disk that it had at a moment."""
    disks = {node: ReplicaKey(node) for node in evidence.voters.nodes}
    for process in evidence.once(processes_of):  # of a node, in order
        if process.node in disks and process.first_ns <= at:
            disks[process.node] = ReplicaKey(process.node, process.directory)
    return tuple(disks.values())


def voters_between(evidence: Evidence, begin: int, end: int) -> tuple[VoterSet, ...]:
    """The sets of voters that may have been in force on any node between two times.

    A set is in force from when the first node appended it until the last one appended the next. If
    a snapshot hides sets, those that a process traced count as well.
    """
    times = evidence.once(_change_times)
    bounds = zip(evidence.voters.sets, times, [*times[1:], (0, FOREVER_NS)], strict=True)
    found = [(voters, since, until) for voters, (since, _), (_, until) in bounds]
    if evidence.voters.known > 0:
        found += evidence.once(_told_sets)
    within = (voters for voters, since, until in found if since <= end and begin <= until)
    return tuple(dict.fromkeys(within))


def _told_sets(evidence: Evidence) -> list[tuple[VoterSet, int, int]]:
    """The sets that processes traced, each from when until when it was in force for one of them. A
    new disk has no voters at first."""
    found = []
    for process in evidence.once(processes_of):
        lines = process.events("q.voters")
        ends = [*(line.t for line in lines[1:]), process.last_ns]
        found += [(TracedVoters.of(a).voters, a.t, end) for a, end in zip(lines, ends, strict=True)]
    return [each for each in found if each[0].keys]


def electing_between(evidence: Evidence, begin: int, end: int) -> tuple[VoterSet, ...]:
    """The sets of voters by which a node may have been elected between two times.

    A set is ruled out once the next one is committed: a node that lacks it has an older log than a
    majority, and must not be elected. If a snapshot hides sets, it may be any that was in force on
    a node.
    """
    if evidence.voters.known > 0:
        return voters_between(evidence, begin, end)
    appended, committed = evidence.once(_change_times), evidence.once(_commit_times)
    untils = [*committed[1:], FOREVER_NS]
    return tuple(
        voters
        for voters, (since, _), until in zip(evidence.voters.sets, appended, untils, strict=True)
        if since <= end and begin <= until
    )


def _commit_times(evidence: Evidence) -> list[int]:
    """By set of voters, when a leader first committed it."""
    traces = evidence.traces
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    marks, t = traces.column("hwm")[rows], traces.column("t")[rows]
    times = [t[marks > offset] for offset in evidence.voters.offsets]
    return [int(found.min()) if len(found) else FOREVER_NS for found in times]


def _change_times(evidence: Evidence) -> list[tuple[int, int]]:
    """By set of voters, when the first node appended it, and when the last one did."""
    traces = evidence.traces
    rows = traces.rows("q.append")
    base, last, t = (traces.column(name)[rows] for name in ("base", "last", "t"))
    appended = [t[(base <= offset) & (offset <= last)] for offset in evidence.voters.offsets]
    # The first set is there before any append; and a snapshot may bring any.
    return [
        (int(times.min()), int(times.max())) if number and len(times) else (-FOREVER_NS, FOREVER_NS)
        for number, times in enumerate(appended)
    ]


SECOND = 1_000_000_000
LATENCY_S = 2.0  # for processes that wait for a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionBounds:
    """In seconds; from the time-outs of a run's nodes, which are Kafka's defaults unless set."""

    check_quorum_s: float
    leader_within_s: float
    # A node that followed for this long has fetched, and refuses pre-votes; those it gave before
    # are void.
    steady_s: float


def fetch_timeout_ns(evidence: Evidence) -> int:
    """How long a follower waits for its leader; Kafka's default unless set."""
    return int(evidence.info.conditions.get("fetch_timeout_ms", 2000) * 1_000_000)


def bounds_of(evidence: Evidence) -> ElectionBounds:
    told = evidence.info.conditions
    fetch_s = fetch_timeout_ns(evidence) / SECOND
    election_s = told.get("election_timeout_ms", 1000) / 1000
    return ElectionBounds(
        check_quorum_s=1.5 * fetch_s,
        leader_within_s=3 * (2 * election_s + fetch_s) + LATENCY_S,
        steady_s=fetch_s + 2 * election_s + LATENCY_S,
    )


def cuts_links(fault: FaultFact) -> bool:
    """Whether it has links that let nothing pass."""
    return fault.cuts and bool(fault.links)


def hears_majority(
    fault: FaultFact, node: int, voters: VoterSet, replicas: Collection[ReplicaKey]
) -> bool:
    """Whether the bytes of a majority still reach a node, the node included if it is a voter."""
    return voters.has_majority(r for r in replicas if (r.node, node) not in fault.links)


def leaves_majority(
    fault: FaultFact, node: int, voters: VoterSet, replicas: Collection[ReplicaKey]
) -> bool:
    """Whether a node and those that it still reaches, and that reach it, are a majority."""
    return voters.has_majority(
        r for r in replicas if not {(node, r.node), (r.node, node)} & fault.links
    )


def _is_plain(fault: FaultFact) -> bool:
    """Whether its victims are off, or cut off, and all others are undisturbed.

    A fault that halts its victims may slow down the links of the others: by less than what the
    bounds allow for, or a slow election could not be distinguished from one that never ends.
    """
    return (fault.halts or not fault.degrades) and not fault.wipes


# --- Q22 ---


@check(
    "Q22-cut-off-leader-resigns",
    applies=traced,
    source="KIP-595 check-quorum, KAFKA-15489",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def cut_off_leader_resigns(evidence: Evidence) -> CheckResult:
    """Q22: A leader that no majority reaches stops acting within 1.5 fetch time-outs.

    With 4 voters or more, the count of fetching voters may restart just before, which doubles that.
    An overlapping fault that also hits the leader excuses it. (KIP-595 check-quorum, KAFKA-15489)
    """
    most = max(len(voters.keys) for voters in evidence.voters.sets)
    bound_s = bounds_of(evidence).check_quorum_s * (1 if most <= 3 else 2) + LATENCY_S
    looked_at = 0
    violations: list[Violation] = []
    for fault in evidence.faults:
        limit = fault.begin_ns + int(bound_s * SECOND)
        led = leads_at(evidence, fault.begin_ns)
        if (
            led is None
            or fault.end_ns <= limit
            or not fault.ran_its_course
            or not cuts_links(fault)
        ):
            continue
        if _hit_by_others(evidence, fault, led[1].node):
            continue
        replicas = replicas_at(evidence, fault.begin_ns)
        sets = voters_between(evidence, fault.begin_ns, fault.end_ns)
        if any(hears_majority(fault, led[1].node, voters, replicas) for voters in sets):
            continue
        looked_at += 1
        violations += _acts_after(*led, fault, limit)
    return conclude(
        looked_at=looked_at,
        unit="leaders that were cut off",
        violations=violations,
        needs=NEED,
        holds=f"each stopped acting within {bound_s:g} s",
        algorithm="first act as a leader after the limit, while it is still cut off",
        nothing="no leader was cut off alone for so long" if evidence.lives else "",
    )


def _hit_by_others(evidence: Evidence, fault: FaultFact, node: int) -> bool:
    """Whether something else was wrong with a node during a fault: its clock, its disk, itself."""
    return any(
        other.id != fault.id
        and node in other.nodes
        and not cuts_links(other)
        and other.overlaps(fault.t_start, fault.end_ns)
        for other in evidence.faults
    )


def _acts_after(
    led: Process, known: NodeEvent, fault: FaultFact, limit: int
) -> Iterator[Violation]:
    traces = led.traces
    changes = [event for event in led.events("q.state") if event.t > fault.begin_ns]
    rows = led.rows("q.append", "q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    t = traces.column("t")[rows]
    acts = traces.lines(rows[(t > limit) & (t < fault.end_ns)][:1])
    for event in acts if not changes or (acts and acts[0].seq < changes[0].seq) else ():
        after_s = (event.t - fault.begin_ns) / SECOND
        text = f"node {event.node} was cut off from the majority but still led epoch "
        text += f"{known.epoch} after {after_s:.1f} s; it has to resign within "
        text += f"{(limit - fault.begin_ns) / SECOND:g} s"
        yield Violation(
            text,
            [
                witness(known, f"became leader of epoch {known.epoch}"),
                fault.shown("no other node reaches it any more", fault.begin_ns),
                witness(event, f"acts as leader, {after_s:.1f} s after the cut"),
            ],
        )


# --- Q21 ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Calm:
    """A time in which nothing changed, and the nodes that were up and heard each other."""

    begin: int
    end: int
    nodes: frozenset[int]
    fault: FaultFact | None


@check(
    "Q21-a-majority-elects",
    applies=traced,
    source="SIM, KAFKA-18345",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def a_majority_elects(evidence: Evidence) -> CheckResult:
    """Q21: With a majority of voters up and connected, a leader commits within a bounded time.

    The bound is 3 x (2 x election time-out + fetch time-out), and some latency. (SIM,
    KAFKA-18345)
    """
    within_s = bounds_of(evidence).leader_within_s
    limit = int(within_s * SECOND)
    times = [calm for calm in calms(evidence) if calm.end - calm.begin >= limit]
    traces = evidence.traces
    rows = traces.rows("q.hwm")
    rows = rows[traces.has("state", "leader", rows)]
    t, node = traces.column("t")[rows], traces.column("node")[rows]
    found = []
    for calm in times:
        in_time = (calm.begin <= t) & (t <= calm.begin + limit)
        if not np.isin(node[in_time], list(calm.nodes)).any():
            violation = _leaderless(evidence, calm, within_s)
            found.append(Suspicion(violation, calm.begin, calm.begin + limit))
    told = sort_out(evidence.info, found)
    return conclude(
        looked_at=len(times),
        unit="times of calm",
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs=NEED,
        holds=f"in each a leader committed within {within_s:g} s",
        algorithm="a leader's high watermark after each change of which nodes are up and connected",
        nothing=f"no majority was undisturbed for {within_s:g} s" if evidence.lives else "",
    )


def calms(evidence: Evidence, since: int | None = None) -> Iterator[Calm]:
    """The times between two changes, without those in which no majority was up and connected.

    Nor those in which a node or a link is impaired but not off or cut: nothing is promised then.
    The calm before the first fault is the harness's own (it waits for a write), except for its part
    after `since`.
    """
    faults, dead = evidence.faults, _dead(evidence)
    marks = {mark for f in faults for mark in (f.t_start, f.begin_ns, f.end_ns, f.over_ns)}
    marks |= {mark for _, ended, again in dead for mark in (ended, again)}
    marks -= {FOREVER_NS}
    if since is not None and since < min(marks, default=FOREVER_NS):
        marks.add(since)
    moments = [*sorted(marks), evidence.info.duration_ns]
    for begin, end in pairwise(moments):
        active = [fault for fault in faults if fault.t_start <= begin < fault.over_ns]
        if all(fault.begin_ns <= begin < fault.end_ns and _is_plain(fault) for fault in active):
            left = _connected(evidence, active)
            left -= {node for node, ended, again in dead if ended <= begin < again}
            up = [replica for replica in replicas_at(evidence, begin) if replica.node in left]
            sets = electing_between(evidence, begin, end)
            if all(voters.has_majority(up) for voters in sets):
                cause = active[-1] if active else None
                yield Calm(begin=begin, end=end, nodes=left, fault=cause)


def _dead(evidence: Evidence) -> list[tuple[int, int, int]]:
    """Nodes that ended by themselves, from when to when: no majority is up with them, and
    `nodes-kept-running` judges their end."""
    starts = sorted((one.first_ns, one.node) for one in evidence.once(processes_of))
    found = []
    for end in evidence.info.unasked_ends:
        node, at = int(end["node"]), int(end["t_ns"])
        again = (t for t, started in starts if started == node and t > at)
        found.append((node, at, next(again, FOREVER_NS)))
    return found


def _connected(evidence: Evidence, active: Sequence[FaultFact]) -> frozenset[int]:
    """The nodes that are up and hear each other, and no others; empty if others hear them too.

    Faults that overlap may leave a victim with some of its links, and with a majority by them.
    """
    off = {node for fault in active if fault.halts for node in fault.nodes}
    apart = {node for fault in active if cuts_links(fault) for node in fault.nodes} - off
    left = frozenset(evidence.voters.nodes) - off - apart
    cut = {link for fault in active if cuts_links(fault) for link in fault.links}
    joined = any((a, b) not in cut and (b, a) not in cut for a in apart for b in left)
    return frozenset() if joined else left


def _leaderless(evidence: Evidence, calm: Calm, within_s: float) -> Violation:
    names = ", ".join(map(str, sorted(calm.nodes)))
    stood = [
        event
        for event in evidence.once(states_in_time)
        if event.state == "candidate" and calm.begin <= event.t <= calm.end
    ]
    text = f"nodes {names} were up and connected for {(calm.end - calm.begin) / SECOND:.1f} s, but "
    text += f"no leader committed anything within {within_s:g} s; "
    text += f"{counted(len(stood), 'candidacy', 'candidacies')} failed"
    cause = [calm.fault.shown("began", calm.begin)] if calm.fault else []
    rows: Sequence[NodeEvent] = stood[:16]
    shown = [witness(event, f"node {event.node} stands in epoch {event.epoch}") for event in rows]
    return Violation(text, [*cause, *shown])
