"""Epochs and their leaders: Q1, Q2 and Q17."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, everywhere, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.lives import NEED, NONE, Life, NodeEvent, TraceColumns, first_of, witness
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
    """Q1: A node's epoch never goes down, also over restarts on the same disk.

    From q.state and n.start, and the quorum-state on the disk at the end: a reported epoch was
    durable before, so neither a new process nor the disk may have a lower one. (SIM MonotonicEpoch)
    """
    stored = {
        (row["node"], row["directory"]): row["epoch"]
        for row in evidence.tables["disks"].to_pylist()
        if row["epoch"] is not None
    }
    looked_at, violations = 0, []
    for life in evidence.lives:
        highest: NodeEvent | None = None
        for event in life.events("n.start", "q.state"):
            looked_at += 1
            if highest is not None and event.epoch < highest.epoch:
                violations.append(_went_down(highest, event))
            else:
                highest = event
        on_disk = stored.get((life.node, life.directory))
        if highest is not None and on_disk is not None and on_disk < highest.epoch:
            text = f"node {life.node} reported epoch {highest.epoch}, but its disk holds {on_disk}"
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
    """Q2: At most one leader is ever known for an epoch, over all nodes and all time.

    From q.state, c.active and lines that only a leader writes, LeaderChange records, quorum-state
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
    for at, leader in _traced_leaders(evidence.traces):
        event = evidence.traces.line(at)
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


def _traced_leaders(traces: TraceColumns) -> Iterator[tuple[int, int]]:
    """The first row that names a leader of an epoch, and the leader, for each of them."""
    told = traces.rows("n.start", "q.state")
    told = told[~np.isin(traces.column("leader")[told], [NOBODY, NONE])]
    acting = np.setdiff1d(acting_as_leader(traces), told)
    rows = np.concatenate([told, acting])
    leader = np.concatenate([traces.column("leader")[told], traces.column("node")[acting]])
    order = np.argsort(rows, kind="stable")
    rows, leader = rows[order], leader[order]
    first, _ = first_of(traces.column("epoch")[rows], leader)
    first.sort()
    yield from zip(rows[first].tolist(), leader[first].tolist(), strict=True)


def acting_as_leader(traces: TraceColumns) -> Ints:
    """The rows that only the leader of their epoch could have written. The epoch of q.append is the
    batch's, which may be older than the node's."""
    states = traces.rows("q.state", "q.hwm")
    leads = states[traces.has("state", "leader", states)]
    return np.sort(np.concatenate([leads, traces.rows("c.active")]))


def led_from(life: Life) -> dict[int, int]:
    """By epoch, the row of the first batch that a replica appended as its leader."""
    rows = life.rows("q.append")
    rows = rows[life.traces.has("state", "leader", rows)]
    first, _ = first_of(life.traces.column("epoch")[rows])
    return {int(life.traces.column("epoch")[row]): int(row) for row in rows[first]}


@check("Q17-no-leader-again", applies=traced, source="KAFKA-10527")
def no_leader_again_after_restart(evidence: Evidence) -> CheckResult:
    """Q17: A process never leads an epoch in which an earlier process of its node led.

    The earlier one may have shown records that its disk lost; leading on would reuse their offsets.
    (KAFKA-10527)
    """
    traces = evidence.traces
    rows = acting_as_leader(traces)
    first, which = first_of(traces.column("node")[rows], traces.column("epoch")[rows])
    process = traces.column("incarnation")[rows]
    again = np.flatnonzero(process != process[first[which]])
    earlier, later = traces.lines(rows[first[which[again]]]), traces.lines(rows[again])
    return conclude(
        looked_at=len(first),
        unit="leaderships",
        violations=[_again(one, other) for one, other in zip(earlier, later, strict=True)],
        needs=NEED,
        holds="none was led again by a restarted process",
        algorithm="first process per node and epoch",
    )


def _again(earlier: NodeEvent, event: NodeEvent) -> Violation:
    return Violation(
        f"node {event.node} led epoch {event.epoch}, was restarted, and led it again",
        [witness(earlier, "led"), witness(event, "leads again, another process")],
    )
