"""Controllers on top of the quorum: M2, M4, committed reads; a healthy leader is left alone
(Q23)."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import pyarrow.compute as pc

from checkers.check import check, everywhere, of_registers, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact, Kind
from checkers.evidence.lives import NEED, NodeEvent, gaps, witness
from checkers.evidence.voter_history import ReplicaKey
from checkers.quorum.elections import leader_changes, led_from
from checkers.quorum.leadership import (
    SECOND,
    bounds_of,
    cuts_links,
    hears_majority,
    leads_at,
    leaves_majority,
    processes_of,
    replicas_at,
    state_at,
    states_in_time,
    voters_between,
)
from checkers.registers.stored_values import complete_disks, first_begun, stored_on
from checkers.verdict import CheckResult, EventValue

# A healthy leader is left alone: Q23.
#
# Times are those of the machine's one monotonic clock, in traces and faults alike.


@check(
    "Q23-return-without-disturbance",
    applies=traced,
    source="KIP-996",
    rests_on=(Kind.TRACES, Kind.FAULTS),
)
def returning_node_disturbs_none(evidence: Evidence) -> CheckResult:
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


_Operation = dict[str, int | str]
_SHOWN = ["op_id", "process", "node", "key", "f", "value", "outcome", "phase", "t0", "t1"]


@check(
    "reads-are-committed",
    applies=of_registers,
    source="KAFKA-20839",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def reads_are_committed(evidence: Evidence) -> CheckResult:
    """A value that a client reads is committed: it is in the log, on a majority of disks.

    A controller that shows effects of uncommitted writes shows a state that no log has. Needs: ops,
    log_records, disks; if disks are missing or damaged, absence proves nothing; nor does it if a
    value may have been overwritten below the snapshots with which logs begin. (KAFKA-20839)
    """
    looked_at, missing, violations = 0, 0, []
    for key, value, row in _values_read(evidence):
        held = stored_on(evidence, (key, value), first_begun(evidence, (key, value)))
        looked_at += not held.overwritten
        if held.times or held.overwritten:
            continue
        if held.possible:
            missing += 1
            continue
        violations.append(_phantom(evidence, row, held.most))
    return conclude(
        looked_at=looked_at,
        unit="values read",
        violations=violations,
        needs="reads that returned a value",
        holds="each is in the committed log on a majority of disks",
        algorithm="join of values read with records by key and value",
        nothing=evidence.below_snapshots,
        gaps=[
            f"{missing:,} were not found, and only {complete_disks(evidence)} could be read "
            "completely"
        ]
        if missing
        else [],
    )


def _values_read(evidence: Evidence) -> Iterator[tuple[str, str, _Operation]]:
    """Each value once, by the first read that returned it."""
    ops = evidence.tables["ops"]
    reads = ops.filter(pc.and_(pc.equal(ops["f"], "read"), pc.equal(ops["outcome"], "ok")))
    seen = set()
    for row in reads.filter(reads["value"].is_valid()).select(_SHOWN).to_pylist():
        if (row["key"], row["value"]) not in seen:
            seen.add((row["key"], row["value"]))
            yield row["key"], str(row["value"]), row


def _phantom(evidence: Evidence, row: _Operation, found: int) -> Violation:
    on = (
        "no disk has"
        if not found
        else f"only {found} of {len(evidence.voters.newest.keys)} disks have"
    )
    shown = [_shown(row, "read a value that is in no committed log")]
    for write in _writes_of(evidence, row)[:1]:
        shown.insert(0, _shown(write, "asked for that value; it was never committed"))
    return Violation(
        f"node {row['node']} showed {row['value']} at {row['key']} to process {row['process']}, "
        f"but {on} a record of it: it is in no committed log",
        shown,
    )


def _writes_of(evidence: Evidence, row: _Operation) -> list[_Operation]:
    """The operations that asked for the value of a read."""
    ops = evidence.tables["ops"]
    same = pc.and_(pc.equal(ops["key"], row["key"]), pc.equal(ops["value"], row["value"]))
    writes = ops.filter(pc.and_(same, pc.equal(ops["f"], "write")))
    found: list[_Operation] = writes.select(_SHOWN).to_pylist()
    return found


def _shown(row: _Operation, what: str) -> _Operation:
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, "t_ns": row["t0"], "t1_ns": row["t1"], **rest}


@check(
    "M2-active-after-replay",
    applies=traced,
    source="KAFKA-17333",
    rests_on=(Kind.TRACES, Kind.METADATA_LOGS),
)
def active_after_replay(evidence: Evidence) -> CheckResult:
    """M2: A controller is active only once it has replayed its epoch's LeaderChange.

    Only then is its image that of the whole log; earlier decisions rest on a stale one. From
    c.active and the offset of the epoch's LeaderChange. (KAFKA-17333)
    """
    found = evidence.lives
    starts = {row["epoch"]: row["offset"] for row in evidence.once(leader_changes)}
    looked_at, violations = 0, []
    for life in found:
        states = life.events("q.state")
        elected = {event.epoch: event for event in states if event.state == "leader"}
        led = led_from(life).items()
        own = {epoch: int(life.traces.column("base")[row]) for epoch, row in led} | starts
        for event in life.events("c.active"):
            if event.epoch in own and event.offset is not None:
                looked_at += 1
                if event.offset <= own[event.epoch]:
                    violations.append(_too_early(event, elected, own[event.epoch]))
    return conclude(
        looked_at=looked_at,
        unit="claims of controllers",
        violations=violations,
        needs=NEED,
        holds="each had replayed all records that were in its log when it was elected",
        algorithm="offset at activation, against the epoch's LeaderChange",
        gaps=gaps(found),
    )


def _too_early(event: NodeEvent, elected: dict[int, NodeEvent], start: int) -> Violation:
    text = f"the controller of node {event.node} became active in epoch {event.epoch} before it "
    text += f"had replayed that epoch's LeaderChange, which is at offset {start}"
    shown = [witness(event, f"active with all replayed below offset {event.offset}")]
    if event.epoch in elected:
        at = elected[event.epoch]
        shown.insert(0, witness(at, f"elected; its log ends at {at.log_end}"))
    return Violation(text, shown)


@check("M4-epochs-rise-in-logs", applies=everywhere, source="Raft")
def epochs_rise_in_logs(evidence: Evidence) -> CheckResult:
    """M4: In no log does a record of an epoch follow one of a higher epoch. (Raft)"""
    looked_at, violations = 0, []
    for node, batches in evidence.metadata_logs.items():
        for before, after in pairwise(batches):
            looked_at += 1
            if after.epoch < before.epoch:
                text = f"the log of node {node} has epoch {after.epoch} at offset {after.base}, "
                text += f"after epoch {before.epoch} at offset {before.base}"
                pair = [(before, "higher epoch"), (after, "lower epoch, after it")]
                shown = [{"what": what, "node": node, **one._asdict()} for one, what in pair]
                violations.append(Violation(text, shown))
    return conclude(
        looked_at=looked_at,
        unit="pairs of batches",
        violations=violations,
        needs="disks read after the run",
        holds="no epoch goes down along a log",
        algorithm="neighbours in each log",
        nothing=evidence.below_snapshots,
    )
