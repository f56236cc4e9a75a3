"""The records of registers on the disks: those of the log, and the values in a snapshot.

A log that begins behind a snapshot has the snapshot's records before its first one, at the last
offset that the snapshot covers (`checkers.disk.metadata_log`). They were committed, at unknown
offsets; values that were written and overwritten below the snapshot are nowhere (`cut_logs`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence
from checkers.evidence.voter_history import ReplicaKey

CLIENT_METRICS = 16  # the resource type that registers are made of


class StoredRecord(NamedTuple):
    """A value of a register on a disk; None if it was deleted."""

    node: int
    offset: int
    epoch: int
    key: str
    value: str | None
    in_snapshot: bool


def lost_records(evidence: Evidence) -> tuple[tuple[ReplicaKey, StoredRecord], ...]:
    """The same for the lost disks that could be read completely, with the replica of each."""
    return tuple(_lost(evidence))


def _lost(evidence: Evidence) -> Iterator[tuple[ReplicaKey, StoredRecord]]:
    records = evidence.tables["lost_records"]
    metrics = records.filter(pc.equal(records["resource_type"], CLIENT_METRICS))
    for row in metrics.filter(pc.equal(metrics["type"], "Config")).to_pylist():
        replica = ReplicaKey(row["node"], row["directory"])
        if replica in evidence.lost_logs:
            named = (row["node"], row["offset"], row["epoch"], row["resource"], row["value"])
            yield replica, StoredRecord(*named, in_snapshot=False)


def stored_records(evidence: Evidence) -> tuple[StoredRecord, ...]:
    return tuple(_stored(evidence))


def _stored(evidence: Evidence) -> Iterator[StoredRecord]:
    names = ("node", "offset", "epoch", "type", "resource_type", "resource", "value")
    records = evidence.tables["log_records"]
    in_snapshot_of: int | None = None
    for node, offset, epoch, kind, of, key, value in zip(
        *(records[name].to_pylist() for name in names), strict=True
    ):
        if kind == "SnapshotHeader":
            in_snapshot_of = node
        elif kind == "SnapshotFooter":
            in_snapshot_of = None
        elif kind == "Config" and of == CLIENT_METRICS:
            yield StoredRecord(node, offset, epoch, key, value, in_snapshot_of == node)
