"""A leader that answers a read still leads: a majority confirmed it since the read arrived."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow.compute as pc

from checkers.check import check, of_registers, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS
from checkers.evidence.lives import NEED, Life, NodeEvent, witness
from checkers.evidence.planned import Kind
from checkers.evidence.told_voters import ToldVoters
from checkers.evidence.voter_history import ReplicaKey, VoterSet
from checkers.history.traces import fields_of
from checkers.verdict import CheckResult


@check(
    "reads-are-confirmed",
    applies=traced,
    source="Raft thesis 6.4",
    rests_on=(Kind.FAULTS, Kind.OPERATIONS, Kind.TRACES),
)
def reads_are_confirmed(evidence: Evidence) -> CheckResult:
    """A read is answered only after a majority of the voters sent a Fetch since the read arrived;
    each answered read belongs to a round that was confirmed so.

    By the voters that the log has in that epoch, or the leader had: a set that it appended counts,
    even if it was truncated, since its majorities overlap with those of the set before it. From
    c.read and q.voters: each voter that c.read names sent a Fetch of the epoch after an answer of
    the leader that left at `since`, so later than that. The leader counts itself. All times in a
    line are of the leader's own clock. A round that its leader traced while a read went on may have
    answered that read; nodes are left out if a fault makes their clock wrong.
    """
    looked_at = 0
    violations: list[Violation] = []
    for life in evidence.lives:
        rows = life.rows("c.read")
        looked_at += len(rows)
        told = zip(
            rows.tolist(),
            evidence.traces.column("epoch")[rows].tolist(),
            evidence.traces.texts("detail", rows),
            strict=True,
        )
        leader = ReplicaKey(life.node, life.directory)
        for row, epoch, detail in told:
            sets = evidence.voters.during(epoch)
            confirming = _heard(fields_of(detail)) | {leader}
            if not sets or any(voters.has_majority(confirming) for voters in sets):
                continue
            line = evidence.traces.line(row)
            if not any(voters.has_majority(confirming) for voters in _appended(life, line)):
                violations.append(_unconfirmed(line, sets[0], confirming))
    violations += _outside_rounds(evidence)
    return conclude(
        looked_at=looked_at,
        unit="rounds of reads",
        violations=violations,
        needs=NEED,
        holds="a majority confirmed each after it had begun",
        algorithm="voters with a Fetch after an answer that left after the read, line by line",
        nothing="no read was answered" if evidence.lives else "",
    )


def _outside_rounds(evidence: Evidence) -> Iterator[Violation]:
    """By node, the first read of a register that was answered when it traced no round."""
    if not of_registers(evidence.info):
        return
    ops = evidence.tables["ops"]
    reads = ops.filter(pc.and_(pc.equal(ops["f"], "read"), pc.equal(ops["outcome"], "ok")))
    traces = evidence.traces
    rows = traces.rows("c.read")
    by, t = traces.column("node")[rows], traces.column("t")[rows]
    left_out = {n for fault in evidence.faults if fault.shifts_clock for n in fault.nodes}
    left_out |= {life.node for life in evidence.lives if life.gap}
    for node in sorted({life.node for life in evidence.lives} - left_out):
        mine = reads.filter(pc.equal(reads["node"], node))
        rounds = np.append(np.sort(t[by == node]), FOREVER_NS)
        t0, t1 = mine["t0"].to_numpy(), mine["t1"].to_numpy()
        for at in np.flatnonzero(rounds[np.searchsorted(rounds, t0)] > t1)[:1]:
            yield _outside(mine.slice(int(at), 1).to_pylist()[0])


def _outside(read: Mapping[str, Any]) -> Violation:
    text = (
        f"node {read['node']} answered a read of {read['key']} by process {read['process']}, but "
    )
    names = ("op_id", "process", "node", "key", "value")
    shown = {"what": "was answered", "t_ns": read["t0"], "t1_ns": read["t1"]}
    shown |= {name: read[name] for name in names}
    return Violation(f"{text}traced no round of reads meanwhile", [shown])


def _heard(fields: Mapping[str, Any]) -> set[ReplicaKey]:
    """The voters that sent a Fetch since the read arrived."""
    told, arrived = fields.get("heard"), fields.get("arrived")
    heard = told if isinstance(told, list) else []
    return {ReplicaKey(one["id"], one["dir"]) for one in heard if one["since"] >= arrived}


def _appended(life: Life, read: NodeEvent) -> Iterator[VoterSet]:
    """The sets that the node that answers a read had traced in that epoch; other nodes may lack
    them."""
    for line in life.events("q.voters"):
        if line.epoch == read.epoch and line.t <= read.t:
            yield ToldVoters.of(line).voters


def _unconfirmed(event: NodeEvent, voters: VoterSet, confirming: set[ReplicaKey]) -> Violation:
    named = [key.node for key in sorted(confirming) if voters.includes(key)]
    text = f"node {event.node} answered a read in epoch {event.epoch}, but of "
    text += f"{voters.majority} voters that are a majority only {named} had sent "
    return Violation(f"{text}a Fetch since it arrived", [witness(event, "answers a read")])
