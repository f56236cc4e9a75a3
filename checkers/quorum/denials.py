"""NOT_CONTROLLER, against the same node's writes in the same epoch, before and after."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.verdict import CheckResult

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
