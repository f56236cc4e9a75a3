"""The records of registers on the disks: those of the log, and what a snapshot holds of others.

A log that begins behind a snapshot has that before its first record, at the last offset that it
stands for (`checkers.disk.metadata_log`). What is in it was committed, at an offset that it does
not tell; what was written and overwritten below it is nowhere (`cut_logs`).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow.compute as pc

from checkers.evidence.evidence import Evidence

CLIENT_METRICS = 16  # the resource type that registers are made of


class StoredRecord(NamedTuple):
    """A value of a register that stands on a disk; None where it was deleted."""

    node: int
    offset: int
    epoch: int
    key: str
    value: str | None
    in_snapshot: bool


class SnapshotId(NamedTuple):
    """The offset behind the last record that a snapshot stands for, and that record's epoch."""

    end: int
    epoch: int


def stored_records(evidence: Evidence) -> tuple[StoredRecord, ...]:
    return tuple(_stored(evidence))


def snapshots(evidence: Evidence) -> Mapping[int, SnapshotId]:
    """By node, the snapshot with which the log on its disk begins, where it begins with one."""
    records = evidence.tables["log_records"]
    headers = records.filter(pc.equal(records["type"], "SnapshotHeader"))
    rows = headers.select(["node", "offset", "epoch"]).to_pylist()
    return {row["node"]: SnapshotId(row["offset"] + 1, row["epoch"]) for row in rows}


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
