"""A log on a disk has no holes: of the metadata, and of partitions."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.check import check, everywhere, of_partitions
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.partition_logs import codes
from checkers.evidence.planned import Kind
from checkers.partitions.held import compacted
from checkers.verdict import CheckResult, EventValue

_Row = dict[str, EventValue]
NAMES = ["node", "base_offset", "last_offset", "epoch", "segment", "position", "size", "crc_ok"]


@check("log-contiguous", applies=everywhere, source="KIP-595", rests_on=(Kind.METADATA_LOGS,))
def logs_have_no_holes(evidence: Evidence) -> CheckResult:
    """On each disk, every batch begins where the one before it ended.

    Needs: log_batches.

    The metadata log gives every offset to a record, and drops nothing but whole segments at its
    head. Two intact batches that follow one another and leave offsets out (or give one twice) are
    therefore no damage, which would leave a mark in between or in a CRC: records are missing that
    a node counted as stored. Nothing is said of the neighbours of a damaged batch, nor across the
    end of a segment, behind which unreadable bytes may have stood: that disk is not whole.
    """
    violations: list[Violation] = []
    batches = evidence.tables["log_batches"].select(NAMES).to_pylist()
    by_node: dict[int, list[_Row]] = {}
    for row in batches:
        by_node.setdefault(row["node"], []).append(row)
    for node, rows in sorted(by_node.items()):
        violations += [_hole(node, a, b) for a, b in pairwise(rows) if _is_hole(a, b)]
    return conclude(
        looked_at=len(batches),
        unit="batches on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins where the one before it ended",
        algorithm="neighbours by place in their segments",
    )


def _is_hole(before: _Row, after: _Row) -> bool:
    """Rows in the order in which they stand on the disk."""
    together = before["segment"] == after["segment"] and before["crc_ok"] and after["crc_ok"]
    return bool(together) and _number(after["base_offset"]) != _number(before["last_offset"]) + 1


def _number(value: EventValue) -> int:
    assert isinstance(value, int)
    return value


def _hole(node: int, before: _Row, after: _Row) -> Violation:
    ended, begins = before["last_offset"], after["base_offset"]
    return Violation(
        message=f"node {node}: offset {ended} is followed by {begins} on its disk",
        witness=[
            {"what": "stands before" if row is before else "stands after it", **row}
            for row in (before, after)
        ],
    )


@check(
    "partition-contiguous", applies=of_partitions, source="KIP-101", rests_on=(Kind.PARTITION_LOGS,)
)
def partitions_have_no_holes(evidence: Evidence) -> CheckResult:
    """In each replica, every batch begins where the one before it ended.

    Needs: replica_batches.

    As `logs_have_no_holes`, of partitions that are not compacted.
    """
    batches = evidence.tables["replica_batches"]
    holes = np.flatnonzero(_neighbours(batches))
    violations = [
        _hole_in(before, after)
        for before, after in (batches.slice(int(at), 2).to_pylist() for at in holes)
        if not compacted(str(before["key"]), evidence)
    ]
    return conclude(
        looked_at=batches.num_rows,
        unit="batches of replicas",
        violations=violations,
        needs="the brokers' disks",
        holds="each begins where the one before it ended",
        algorithm="neighbours by place in their segments",
    )


def _neighbours(batches: pa.Table) -> NDArray[np.bool_]:
    """Of which batches the next one stands in the same segment, and does not go on."""
    base, last = (batches[name].to_numpy() for name in ("base_offset", "last_offset"))
    crc_ok = batches["crc_ok"].to_numpy()
    found: NDArray[np.bool_] = crc_ok[:-1] & crc_ok[1:] & (base[1:] != last[:-1] + 1)
    found &= np.diff(codes(batches, "node", "directory", "key", "segment")) == 0
    return found


def _hole_in(before: _Row, after: _Row) -> Violation:
    at = _hole(_number(before["node"]), before, after)
    return Violation(f"{before['key']} on {at.message}", at.witness)
