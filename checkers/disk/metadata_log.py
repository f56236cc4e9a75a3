"""`__cluster_metadata-0`: its batches, its records, and the snapshot that stands for its head."""

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from checkers.disk.batches import Batch, Scan, batches_of, read_batches, read_records, together
from checkers.disk.columns import batch_columns, joined, table
from checkers.disk.fields import DamagedError
from checkers.disk.records import decode_control, decode_metadata
from checkers.disk.segments import LogFiles
from checkers.history.tables import LOG_BATCHES, LOG_RECORDS

METADATA_LOG = "__cluster_metadata-0"
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")

_Row = dict[str, int | str | bool | None]


@dataclass(slots=True)
class MetadataLog:
    """As read off one node's disk."""

    node: int
    known: "DecodedBatches"
    batches: pa.Table = field(default_factory=LOG_BATCHES.empty_table)
    records: list[_Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    end: int = 0


class DecodedBatches:
    """Batches that were decoded: the disks of a quorum mostly hold the same ones."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, list[_Row]] = {}

    def rows(self, batch: Batch) -> Iterator[_Row]:
        """Of its records, but for the node. Raises DamagedError behind those that can be read."""
        header = (batch.base_offset, batch.epoch, batch.control, batch.codec, batch.records)
        key = (*header, batch.crc_ok, batch.data)
        known = self._rows.get(key)
        if known is None:
            known = []
            for row in _rows(batch):
                known.append(row)
                yield row
            self._rows[key] = known
        else:
            yield from known


def read_metadata_log(
    directory: Path, node: int, directory_id: str, known: DecodedBatches | None = None
) -> MetadataLog:
    """Read all of a metadata log; what is damaged is among its `problems`."""
    files, found = LogFiles(directory), MetadataLog(node, known or DecodedBatches())
    scans: dict[str, Scan] = {}
    for name, data, scanned in files.segments():
        scans[name] = scanned
        for batch in batches_of(data, scanned):
            where = f"{name} position {batch.position} (offset {batch.base_offset})"
            _add(batch, where, found)
    found.problems = files.problems + found.problems
    found.end = files.end
    if scans:
        found.batches = _batches(scans, node, directory_id)
    if files.start > 0:
        _begin_with_snapshot(directory, files.start, found)
    return found


def _batches(scans: Mapping[str, Scan], node: int, directory_id: str) -> pa.Table:
    """Made at once: small segments are many, and a table of each takes longer than to read it."""
    found = together(list(scans.values()))
    segments = np.repeat(list(scans), [len(each.positions) for each in scans.values()])
    columns = batch_columns(found)
    columns |= {"node": node, "directory": directory_id, "segment": segments}
    return table(LOG_BATCHES, len(found.positions), columns)


def _add(batch: Batch, where: str, found: MetadataLog, at: int | None = None) -> None:
    """The records of a batch, at the offset `at` if it is one of a snapshot."""
    try:
        for row in found.known.rows(batch):
            offset = row["offset"] if at is None else at
            found.records.append({**row, "node": found.node, "offset": offset})
    except DamagedError as error:
        found.problems.append(f"{where}: {error}")


def _rows(batch: Batch) -> Iterator[_Row]:
    for record in read_records(batch):
        decoded = decode_control(record) if batch.control else decode_metadata(record)
        yield {
            "offset": record.offset,
            "epoch": batch.epoch,
            "type": decoded.type,
            "resource_type": decoded.resource_type,
            "resource": decoded.resource,
            "name": decoded.name,
            "value": decoded.value,
            "leader": decoded.leader,
            "detail": decoded.detail,
        }


def _begin_with_snapshot(directory: Path, start: int, found: MetadataLog) -> None:
    """Put the oldest snapshot that reaches the log's first offset before the log."""
    ends = {
        int(match[1]): path
        for path in directory.iterdir()
        if (match := _SNAPSHOT.fullmatch(path.name)) and int(match[1]) >= start
    }
    if not ends:
        found.problems.append(f"the log begins at {start}, and no snapshot reaches that far")
        return
    end = min(ends)
    snapshot = MetadataLog(found.node, found.known)
    try:
        for batch in read_batches(ends[end].read_bytes()):
            where = f"{ends[end].name} position {batch.position}"
            if not batch.crc_ok:
                snapshot.problems.append(f"{where}: wrong CRC")
            _add(batch, where, snapshot, at=end - 1)
    except (DamagedError, OSError) as error:
        snapshot.problems.append(f"{ends[end].name}: {error}")
    if not snapshot.records or snapshot.records[-1]["type"] != "SnapshotFooter":
        snapshot.problems.append(f"{ends[end].name} does not end with its footer")
    found.records[:0] = snapshot.records
    found.problems += snapshot.problems
    found.end = max(found.end, end)


def batches_table(logs: list[MetadataLog]) -> pa.Table:
    return joined((log.batches for log in logs), LOG_BATCHES)


def records_table(logs: list[MetadataLog]) -> pa.Table:
    return pa.Table.from_pylist([row for log in logs for row in log.records], schema=LOG_RECORDS)
