"""A leader that answers a read still leads, confirmed by a majority since the read arrived; a
leader does not deny that it leads."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_registers, traced
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, Kind
from checkers.evidence.lives import NEED, Life, NodeEvent, witness
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.voter_history import ReplicaKey, TracedVoters, VoterSet
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
            yield TracedVoters.of(line).voters


def _unconfirmed(event: NodeEvent, voters: VoterSet, confirming: set[ReplicaKey]) -> Violation:
    named = [key.node for key in sorted(confirming) if voters.includes(key)]
    text = f"node {event.node} answered a read in epoch {event.epoch}, but of "
    text += f"{voters.majority} voters that are a majority only {named} had sent "
    return Violation(f"{text}a Fetch since it arrived", [witness(event, "answers a read")])


# NOT_CONTROLLER, against the same node's writes in the same epoch, before and after.


_NOT_CONTROLLER = "error-41"


@check(
    "controllers-do-not-deny-it",
    applies=of_registers,
    source="KIP-500: the leader of the quorum is the active controller, until it resigns",
    rests_on=(Kind.METADATA_LOGS,),
)
def controllers_do_not_deny_it(evidence: Evidence) -> CheckResult:
    """A node does not answer NOT_CONTROLLER between two writes that it acknowledged in one epoch.

    The epoch is in the logs on the disks, with the written values: a leader leads an epoch once,
    without a break, and is active from its first write on.
    """
    ops = evidence.tables["ops"]
    said = ops.filter(pc.equal(ops["error"], _NOT_CONTROLLER))
    said = said.filter(pc.and_(said["t1"].is_valid(), pc.greater_equal(said["node"], 0)))
    reigns = _reigns(evidence)
    violations: list[Violation] = []
    for (number,), rows in sorted(split(said, "node").items()):
        t0, t1 = columns(rows, "t0", "t1")
        for epoch, began, ended in reigns.get(int(number), ()):
            for at in np.flatnonzero((t0 >= began) & (t1 <= ended)).tolist():
                violations.append(_untrue(rows.slice(at, 1), int(number), epoch, began, ended))
    return conclude(
        looked_at=said.num_rows,
        unit="answers of NOT_CONTROLLER",
        violations=violations,
        needs="what clients wrote, and the metadata log",
        holds="none came between two writes that its node acknowledged in one epoch",
        algorithm="times of acknowledged writes, by node and by the epoch of their records",
        nothing="no node answered NOT_CONTROLLER",
    )


def _reigns(evidence: Evidence) -> dict[int, list[tuple[int, int, int]]]:
    """By node: an epoch, when its first write was acknowledged, and when the last one was asked
    for."""
    ops = evidence.tables["ops"]
    done = ops.filter(pc.and_(pc.equal(ops["f"], "write"), pc.equal(ops["outcome"], "ok")))
    done = done.filter(pc.and_(done["value"].is_valid(), done["t1"].is_valid()))
    epochs = _epochs(evidence.tables["log_records"])
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for row in done.select(["key", "value", "node", "t0", "t1"]).to_pylist():
        epoch = epochs.get((row["key"], str(row["value"])))
        if epoch is None or row["node"] < 0:
            continue
        began, ended = found.get((row["node"], epoch), (row["t1"], row["t0"]))
        found[row["node"], epoch] = (min(began, row["t1"]), max(ended, row["t0"]))
    reigns: dict[int, list[tuple[int, int, int]]] = {}
    for (node, epoch), (began, ended) in sorted(found.items()):
        reigns.setdefault(node, []).append((epoch, began, ended))
    return reigns


def _epochs(records: pa.Table) -> dict[tuple[str, str], int]:
    """For the values of registers; not for a value in several epochs, nor for one that only a
    snapshot has, with another epoch."""
    mine = pc.and_(pc.equal(records["type"], "Config"), records["value"].is_valid())
    begun, ended = (
        np.cumsum(pc.equal(records["type"], name).to_numpy(zero_copy_only=False))
        for name in ("SnapshotHeader", "SnapshotFooter")
    )
    in_log = records.filter(pc.and_(mine, pa.array(begun == ended)))
    rows = in_log.group_by(["resource", "value"])
    bounds = rows.aggregate([("epoch", "min"), ("epoch", "max")])
    one = bounds.filter(pc.equal(bounds["epoch_min"], bounds["epoch_max"]))
    names = zip(one["resource"].to_pylist(), one["value"].to_pylist(), strict=True)
    return dict(zip(names, one["epoch_min"].to_pylist(), strict=True))


def _untrue(row: pa.Table, node: int, epoch: int, began: int, ended: int) -> Violation:
    (op,) = row.to_pylist()
    text = f"{op['key']}: node {node} answered NOT_CONTROLLER, but acknowledged writes in epoch "
    text += f"{epoch} before and after"
    return Violation(
        text,
        [
            {"what": "first acknowledged write of the epoch", "t_ns": began, "node": node},
            {"what": "answered NOT_CONTROLLER", "t_ns": op["t0"], "op_id": op["op_id"]},
            {"what": "last write of the epoch that was asked for", "t_ns": ended, "node": node},
        ],
    )
