"""The records of registers on the disks: those of the log, and what a snapshot holds of others.

A log that begins behind a snapshot has that before its first record, at the last offset that it
stands for (`checkers.disk.metadata_log`). What is in it was committed, at an offset that it does
not tell; what was written and overwritten below it is nowhere (`cut_logs`).
"""

from collections.abc import Iterator
from typing import NamedTuple

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
