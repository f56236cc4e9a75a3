"""The metadata log on each node's disk after the run."""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

StoredLogs = Mapping[int, list["StoredBatch"]]


class StoredBatch(NamedTuple):
    """A batch by its offsets, its epoch and its bytes, represented by their CRC."""

    base: int
    last: int
    epoch: int
    crc: int


class SnapshotId(NamedTuple):
    """The offset behind the last record that a snapshot covers, and that record's epoch."""

    end: int
    epoch: int


def first_snapshots(log_records: pa.Table) -> Mapping[int, SnapshotId]:
    """By node, the snapshot at which the log on its disk begins, if it begins with one."""
    headers = log_records.filter(pc.equal(log_records["type"], "SnapshotHeader"))
    rows = headers.select(["node", "offset", "epoch"]).to_pylist()
    return {row["node"]: SnapshotId(row["offset"] + 1, row["epoch"]) for row in rows}


def whole_snapshots(log_records: pa.Table) -> Mapping[int, SnapshotId]:
    """Those of `first_snapshots` that end with their footer."""
    footers = log_records.filter(pc.equal(log_records["type"], "SnapshotFooter"))
    ended = set(zip(footers["node"].to_pylist(), footers["offset"].to_pylist(), strict=True))
    found = first_snapshots(log_records)
    return {node: id_ for node, id_ in found.items() if (node, id_.end - 1) in ended}


def stored_batches(log_batches: pa.Table) -> StoredLogs:
    """The intact batches on each node's disk, in log order."""
    found: dict[int, list[StoredBatch]] = defaultdict(list)
    names = ("node", "base_offset", "last_offset", "epoch", "crc", "crc_ok")
    for node, base, last, epoch, crc, crc_ok in zip(
        *(log_batches[name].to_pylist() for name in names), strict=True
    ):
        if crc_ok:
            found[node].append(StoredBatch(base, last, epoch, crc))
    return dict(found)
