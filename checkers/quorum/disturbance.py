"""A healthy leader is left alone: Q23.

Times are those of the machine's one monotonic clock, in traces and faults alike.
"""

from collections.abc import Iterator, Mapping

from checkers.check import check, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.lives import NEED, NodeEvent, witness
from checkers.evidence.planned import Kind
from checkers.evidence.voter_history import ReplicaKey
from checkers.quorum.leadership import (
    SECOND,
    bounds_of,
    cuts_links,
    hears_majority,
    leaves_majority,
)
from checkers.quorum.moments import (
    leads_at,
    processes_of,
    replicas_at,
    state_at,
    states_in_time,
    voters_between,
)
from checkers.verdict import CheckResult, EventValue


@check(
    "Q23-return-without-disturbance",
    applies=traced,
    source="KIP-996",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def returning_node_disturbs_nobody(evidence: Evidence) -> CheckResult:
    """Q23: A node that returns from a partition changes neither leader nor epoch if the leader kept
    a majority.

    A node is accused if it raised the epoch while no majority reached it, for then no voter can
    have asked for that; or while a majority had long heard the leader, for those do not grant a
    pre-vote. (KIP-996, SIM StableLeadership)
    """
    looked_at = 0
    violations: list[Violation] = []
    nothing = "no node was cut off from a leader that kept its majority"
    faults = evidence.faults
    for number, fault in enumerate(faults):
        led = leads_at(evidence, fault.begin_ns)
        if led is None or not fault.ran_its_course or not cuts_links(fault):
            continue
        replicas = replicas_at(evidence, fault.begin_ns)
        sets = voters_between(evidence, fault.begin_ns, fault.end_ns)
        if not all(leaves_majority(fault, led[1].node, voters, replicas) for voters in sets):
            continue
        later = faults[number + 1 :]
        until = later[0].t_start if later else evidence.info.duration_ns
        others = [*faults[:number], *later]
        if any(other.overlaps(fault.t_start, max(until, fault.over_ns)) for other in others):
            continue  # another node is hit at the same time: that may be the reason
        for victim in sorted(set(fault.nodes) - {led[1].node}):
            looked_at += 1
            if not any(hears_majority(fault, victim, voters, replicas) for voters in sets):
                violations += _disturbance(evidence, fault, led[1], victim, until)
            violations += _unwanted(evidence, fault, victim, until)
    return conclude(
        looked_at=looked_at,
        unit="returns of nodes that were cut off",
        violations=violations,
        needs=NEED,
        holds="none changed the leader or the epoch",
        algorithm="epochs raised by a node that hears no other, and then taken over by others; "
        "candidacies while a majority has heard the leader long enough",
        nothing=nothing if evidence.lives else "",
    )


def _disturbance(
    evidence: Evidence, fault: FaultFact, led: NodeEvent, victim: int, until: int
) -> Iterator[Violation]:
    states = evidence.once(states_in_time)
    known = max((event.epoch for event in states if event.t <= fault.begin_ns), default=0)
    raised = [
        event
        for event in states
        if event.node == victim
        and fault.begin_ns < event.t < fault.end_ns
        and event.state == "candidate"
        and event.epoch > known
    ]
    if not raised:
        return
    moved = next(
        (
            event
            for event in states
            if event.node != victim
            and raised[0].t < event.t <= until
            and event.epoch >= raised[0].epoch
        ),
        None,
    )
    if moved is not None:  # perhaps while it is still cut off, if the others hear it
        text = f"node {victim}, cut off and back again, forced a new election: it had raised the "
        text += f"epoch from {known} to {raised[-1].epoch} alone, while node {led.node} led well"
        shown: list[Mapping[str, EventValue]] = [
            witness(led, f"node {led.node} leads epoch {led.epoch}"),
            fault.shown("cut off, the leader keeps a majority", fault.begin_ns),
            witness(raised[0], f"raises the epoch to {raised[0].epoch}, hearing no other node"),
            fault.shown("back again", fault.end_ns),
            witness(moved, f"node {moved.node} has to follow into epoch {moved.epoch}"),
        ]
        yield Violation(text, sorted(shown, key=lambda row: int(row["t_ns"] or 0)))


def _unwanted(evidence: Evidence, fault: FaultFact, victim: int, until: int) -> Iterator[Violation]:
    """The first candidacy of the victim that no majority can have wanted."""
    for stood in evidence.once(states_in_time):
        stands = stood.node == victim and stood.state == "candidate"
        if not stands or not fault.begin_ns < stood.t <= until:
            continue
        content = _content(evidence, stood)
        having = [ReplicaKey(event.node, event.directory) for event in content]
        sets = voters_between(evidence, stood.t, stood.t)
        if not all(voters.has_majority(having) for voters in sets):
            continue
        names = ", ".join(str(event.node) for event in content)
        text = f"node {victim}, cut off and back again, deposed a healthy leader: it stood in "
        text += f"epoch {stood.epoch}, though nodes {names} had heard node {content[0].leader} for "
        text += f"{bounds_of(evidence).steady_s:g} s and more"
        shown: list[Mapping[str, EventValue]] = [
            *(witness(event, f"hears node {event.leader} from now on") for event in content),
            fault.shown("cut off", fault.begin_ns),
            witness(stood, f"stands in epoch {stood.epoch}, by the votes of such nodes"),
        ]
        yield Violation(text, sorted(shown, key=lambda row: int(row["t_ns"] or 0)))
        return


def _content(evidence: Evidence, stood: NodeEvent) -> list[NodeEvent]:
    """The nodes that have long had the same leader, in the epoch before that of a candidacy."""
    states = [state_at(process, stood.t) for process in evidence.once(processes_of)]
    steady_ns = int(bounds_of(evidence).steady_s * SECOND)
    found = [
        event
        for event in states
        if event is not None
        and event.node != stood.node
        and event.state in ("leader", "follower")
        and event.epoch < stood.epoch
        and stood.t - event.t >= steady_ns
    ]
    newest = max((event.epoch for event in found), default=0)
    content = [event for event in found if event.epoch == newest]
    led = any(event.state == "leader" for event in content)
    return sorted(content, key=lambda event: event.node) if led else []
