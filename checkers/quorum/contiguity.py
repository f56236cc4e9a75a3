"""A log on a disk has no holes: neither the metadata log nor those of partitions."""

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.check import check, everywhere, of_partitions
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.metadata_logs import SnapshotId, whole_snapshots
from checkers.evidence.partition_logs import codes
from checkers.evidence.planned import Kind
from checkers.evidence.promised import topic_of
from checkers.verdict import CheckResult, EventValue

_Row = dict[str, EventValue]
_SEGMENT = re.compile(r"(\d{20})\.log")  # by the offset of its first record
NAMES = ["node", "base_offset", "last_offset", "epoch", "segment", "position", "size", "crc_ok"]


@check("log-contiguous", applies=everywhere, source="KIP-595", rests_on=(Kind.METADATA_LOGS,))
def logs_have_no_holes(evidence: Evidence) -> CheckResult:
    """On each disk, every batch begins at the end offset of the batch before it.

    Needs: log_batches.

    The metadata log gives every offset to a record, and drops only whole segments at its head. Two
    intact consecutive batches that leave offsets out (or give one twice) are therefore no damage,
    which would show in between or in a CRC: records are missing that a node counted as stored.
    Neighbours of a damaged batch are not judged, nor pairs across the end of a segment, after which
    unreadable bytes may have been: that disk is incomplete.
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
    """Rows in the order in which they are on the disk."""
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
            {"what": "stands before" if row is before else "is after it", **row}
            for row in (before, after)
        ],
    )


@check(
    "log-reaches-its-snapshot",
    applies=everywhere,
    source="KIP-630; SIM SnapshotAtLogStart, KAFKA-14238",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def logs_reach_their_snapshots(evidence: Evidence) -> CheckResult:
    """On each disk, the metadata log begins at 0, or no later than the end of a complete snapshot
    of the same log.

    Needs: log_batches, log_records.

    A log begins at the offset in its first segment's name. Records between that and all snapshots
    are lost: no node that starts with that disk can replay them. The epoch of a snapshot is that of
    the last record that it covers. A disk is not judged if a fault damages its bytes.
    """
    rows = evidence.tables["log_batches"].select(NAMES).to_pylist()
    logs: dict[int, list[_Row]] = {}
    for row in rows:
        logs.setdefault(row["node"], []).append(row)
    whole = whole_snapshots(evidence.tables["log_records"])
    damaged = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    violations: list[Violation] = []
    for node, log in sorted(logs.items()):
        if node not in damaged:
            violations += _without_a_beginning(node, log, whole.get(node))
    return conclude(
        looked_at=len(logs),
        unit="logs on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins at 0, or with a snapshot",
        algorithm="the first segment's name, against the snapshots beside it",
    )


def _without_a_beginning(
    node: int, log: list[_Row], snapshot: SnapshotId | None
) -> Iterator[Violation]:
    named = _SEGMENT.fullmatch(str(log[0]["segment"]))
    start = int(named[1]) if named else 0
    if snapshot is None or snapshot.end < start:
        if start > 0:
            text = f"node {node}: its log begins at {start}, but no snapshot reaches that far"
            yield Violation(text, [{"what": "the log's first batch", **log[0]}])
        return
    for row in log:
        is_last = _number(row["base_offset"]) < snapshot.end <= _number(row["last_offset"]) + 1
        if is_last and row["crc_ok"] and row["epoch"] != snapshot.epoch:
            text = f"node {node}: its snapshot ends at {snapshot.end} in epoch {snapshot.epoch}, "
            text += f"but the last record below that is of epoch {row['epoch']}"
            yield Violation(text, [{"what": "holds that record", **row}])


@check(
    "partition-contiguous", applies=of_partitions, source="KIP-101", rests_on=(Kind.PARTITION_LOGS,)
)
def partitions_have_no_holes(evidence: Evidence) -> CheckResult:
    """In each replica, every batch begins at the end offset of the batch before it.

    Needs: replica_batches.

    As `logs_have_no_holes`, for partitions that are not compacted.
    """
    batches = evidence.tables["replica_batches"]
    holes = np.flatnonzero(_neighbours(batches))
    violations = [
        _hole_in(before, after)
        for before, after in (batches.slice(int(at), 2).to_pylist() for at in holes)
        if not evidence.promised.is_compacted(topic_of(str(before["key"])))
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
    """The batches after which the next one is in the same segment, and does not follow on."""
    base, last = (batches[name].to_numpy() for name in ("base_offset", "last_offset"))
    crc_ok = batches["crc_ok"].to_numpy()
    found: NDArray[np.bool_] = crc_ok[:-1] & crc_ok[1:] & (base[1:] != last[:-1] + 1)
    found &= np.diff(codes(batches, "node", "directory", "key", "segment")) == 0
    return found


def _hole_in(before: _Row, after: _Row) -> Violation:
    at = _hole(_number(before["node"]), before, after)
    return Violation(f"{before['key']} on {at.message}", at.witness)
