"""The complete snapshots of the metadata log on the nodes' disks after the run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import pyarrow as pa

from checkers.evidence.replayed_image import ReplayedImage

_Row = Mapping[str, Any]


@dataclass(frozen=True)
class StoredSnapshot:
    """By its name it covers all records below `end`, the last of which is of `epoch`."""

    node: int
    end: int
    epoch: int
    records: tuple[_Row, ...]

    @cached_property
    def image(self) -> ReplayedImage:
        """The image that its records make."""
        made = ReplayedImage()
        for row in self.records:
            made.replay(row)
        return made


def stored_snapshots(snapshot_records: pa.Table) -> tuple[StoredSnapshot, ...]:
    """By node and end; those with which a disk was formatted end at 0. A snapshot without its
    footer was not written to its end, or is damaged, and is left out."""
    return tuple(_whole(snapshot_records.to_pylist()))


def _whole(rows: list[_Row]) -> Iterator[StoredSnapshot]:
    by_file = groupby(rows, key=lambda row: (row["node"], row["end"], row["epoch"]))
    for (node, end, epoch), found in by_file:
        records = tuple(found)
        if records[0]["type"] == "SnapshotHeader" and records[-1]["type"] == "SnapshotFooter":
            yield StoredSnapshot(node, end, epoch, records)
