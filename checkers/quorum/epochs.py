"""Epochs and their leaders: Q1, Q2 and Q17."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow.compute as pc

from checkers.check import check, everywhere, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, Life, NodeEvent, witness
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult, EventValue

NOBODY = -1


@check(
    "Q1-monotonic-epoch",
    applies=traced,
    source="SIM MonotonicEpoch",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def monotonic_epochs(evidence: Evidence) -> CheckResult:
    """Q1: a node's epoch never goes down, also over restarts on the same disk.

    From q.state and n.start, and the quorum-state on the disk at the end: what a node reported was
    durable before, so neither a new process nor the disk may know less. (SIM MonotonicEpoch)
    """
    stored = {
        (row["node"], row["directory"]): row["epoch"]
        for row in evidence.tables["disks"].to_pylist()
        if row["epoch"] is not None
    }
    looked_at, violations = 0, []
    for life in evidence.lives:
        highest: NodeEvent | None = None
        for event in life.events():
            if event.event not in ("q.state", "n.start") or event.epoch is None:
                continue
            looked_at += 1
            if highest is not None and event.epoch < highest.epoch:
                violations.append(_went_down(highest, event))
            else:
                highest = event
        on_disk = stored.get((life.node, life.directory))
        if highest is not None and on_disk is not None and on_disk < highest.epoch:
            text = f"node {life.node} reported epoch {highest.epoch}, its disk holds {on_disk}"
            violations.append(Violation(text, [witness(highest, "reported")]))
    return conclude(
        looked_at=looked_at,
        unit="states",
        violations=violations,
        needs=NEED,
        holds="no node's epoch went down",
        algorithm="running maximum per disk over its processes",
    )


def _went_down(before: NodeEvent, after: NodeEvent) -> Violation:
    return Violation(
        f"node {after.node} went from epoch {before.epoch} back to {after.epoch}",
        [witness(before, "was in the higher epoch"), witness(after, "went back")],
    )


@dataclass(frozen=True, slots=True)
class _Claim:
    epoch: int
    leader: int
    shown: Mapping[str, EventValue]


@check("Q2-one-leader-per-epoch", applies=everywhere, source="Raft, Election Safety")
def one_leader_per_epoch(evidence: Evidence) -> CheckResult:
    """Q2: at most one leader is ever known for an epoch, over all nodes and all time.

    From q.state, c.active and what is done in a leader's role, LeaderChange records, quorum-state
    files and answers to DescribeQuorum; any one of these suffices. (Raft, Election Safety)
    """
    first: dict[int, _Claim] = {}
    violations = []
    for claim in _claims(evidence):
        rival = first.setdefault(claim.epoch, claim)
        if rival.leader != claim.leader:
            text = f"epoch {claim.epoch} has two leaders: node {rival.leader}, node {claim.leader}"
            violations.append(Violation(text, [rival.shown, claim.shown]))
    return conclude(
        looked_at=len(first),
        unit="epochs",
        violations=violations,
        needs=f"{NEED}, disks read after the evidence, or answers to probes",
        holds="each had one leader",
        algorithm="first claim per epoch, compared with every later one",
    )


def _claims(evidence: Evidence) -> Iterator[_Claim]:
    for life in evidence.lives:
        for event in life.events():
            leader = _leader_of(event)
            if leader is not None:
                yield _Claim(event.epoch, leader, witness(event, f"node {leader} leads"))
    for row in evidence.once(leader_changes):
        if row["leader"] is not None:
            yield _Claim(row["epoch"], row["leader"], _shown(row, "LeaderChange record", "offset"))
    for row in evidence.tables["disks"].to_pylist():
        if row["epoch"] is not None and row["leader"] not in (None, NOBODY):
            yield _Claim(row["epoch"], row["leader"], _shown(row, "quorum-state file", "directory"))

    for row in evidence.tables["probes"].to_pylist():
        known = row["epoch"] is not None and row["leader"] not in (None, NOBODY)
        if row["kind"] == "quorum" and known:
            yield _Claim(row["epoch"], row["leader"], _shown(row, "answer to DescribeQuorum", "t0"))


def leader_changes(evidence: Evidence) -> list[dict[str, int]]:
    """The LeaderChange records on all disks: node, offset, epoch, leader."""
    records = evidence.tables["log_records"].select(["node", "offset", "epoch", "type", "leader"])
    found: list[dict[str, int]] = (
        records.filter(pc.equal(records["type"], "LeaderChange")).drop(["type"]).to_pylist()
    )
    return found


def _shown(row: Mapping[str, EventValue], what: str, extra: str) -> dict[str, EventValue]:
    return {"what": what, **{name: row[name] for name in ("node", "epoch", "leader", extra)}}


def _leader_of(event: NodeEvent) -> int | None:
    """Who leads the event's epoch, if the event says so."""
    if event.epoch is None:
        return None
    if event.event in ("q.state", "n.start") and event.leader not in (None, NOBODY):
        return event.leader
    return event.node if acts_as_leader(event) else None


def acts_as_leader(event: NodeEvent) -> bool:
    """Whether only the leader of the event's epoch could have written this line."""
    if event.event == "q.append":
        return False  # its epoch is the batch's, which may be older than the node's
    return event.event == "c.active" or (
        event.event in ("q.state", "q.hwm") and event.state == "leader"
    )


@check("Q17-no-leader-again", applies=traced, source="KAFKA-10527")
def no_leader_again_after_restart(evidence: Evidence) -> CheckResult:
    """Q17: a process never leads an epoch in which an earlier process of its node led.

    The earlier one may have shown records that its disk lost; leading on would give their offsets
    to others. (KAFKA-10527)
    """
    violations = []
    led: dict[tuple[int, int], NodeEvent] = {}
    for life in evidence.lives:
        for event in life.events():
            if not acts_as_leader(event):
                continue
            earlier = led.setdefault((event.node, event.epoch), event)
            if earlier.incarnation != event.incarnation:
                violations.append(_again(life, earlier, event))
    return conclude(
        looked_at=len(led),
        unit="leaderships",
        violations=violations,
        needs=NEED,
        holds="none was taken up again by a restarted process",
        algorithm="first process per node and epoch",
    )


def _again(life: Life, earlier: NodeEvent, event: NodeEvent) -> Violation:
    return Violation(
        f"node {life.node} led epoch {event.epoch}, was restarted, and led it again",
        [witness(earlier, "led"), witness(event, "leads again, another process")],
    )
