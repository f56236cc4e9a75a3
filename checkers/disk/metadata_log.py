"""The metadata log on a disk, `__cluster_metadata-0`: its batches, its records, and its
snapshots."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from checkers.disk.batches import (
    Batch,
    Scan,
    batch_columns,
    batches_of,
    joined,
    read_batches,
    table,
    together,
)
from checkers.disk.fields import DamagedError
from checkers.disk.records import DecodedBatches, RecordRow
from checkers.disk.segments import LogFiles
from checkers.history.tables import LOG_BATCHES, LOG_RECORDS, SNAPSHOT_RECORDS

# All snapshots of the metadata log on a disk (KIP-630), record by record.


_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


def snapshots_of(directory: Path) -> list[tuple[int, int, Path]]:
    """End and epoch of each snapshot, by its name, from the oldest on."""
    named = ((_SNAPSHOT.fullmatch(path.name), path) for path in directory.iterdir())
    return sorted((int(name[1]), int(name[2]), path) for name, path in named if name)


def read_snapshots(
    directory: Path, node: int, directory_id: str, known: DecodedBatches, problems: list[str]
) -> list[RecordRow]:
    """Rows of SNAPSHOT_RECORDS; a damaged snapshot is read up to the damage, which is noted."""
    found: list[RecordRow] = []
    for end, epoch, path in snapshots_of(directory):
        head: RecordRow = {"node": node, "directory": directory_id, "end": end, "epoch": epoch}
        rows: list[RecordRow] = []
        try:
            for batch in read_batches(path.read_bytes()):
                if not batch.crc_ok:
                    problems.append(f"{path.name} position {batch.position}: wrong CRC")
                    break
                rows += [{**row, **head} for row in known.rows(batch)]
        except (DamagedError, OSError) as error:
            problems.append(f"{path.name}: {error}")
        if not rows or rows[-1]["type"] != "SnapshotFooter":
            problems.append(f"{path.name} does not end with its footer")
        found += rows
    return found


def snapshots_table(rows: list[RecordRow]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=SNAPSHOT_RECORDS)


METADATA_LOG = "__cluster_metadata-0"
# Kafka's internal topics, which it creates compacted.
ALWAYS_COMPACTED = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


@dataclass(slots=True)
class MetadataLog:
    """A metadata log as read from one node's disk."""

    node: int
    known: DecodedBatches
    batches: pa.Table = field(default_factory=LOG_BATCHES.empty_table)
    records: list[RecordRow] = field(default_factory=list)
    snapshots: list[RecordRow] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    end: int = 0


def read_metadata_log(
    directory: Path, node: int, directory_id: str, known: DecodedBatches | None = None
) -> MetadataLog:
    """Read all of a metadata log; `problems` says what is damaged."""
    files, found = LogFiles(directory), MetadataLog(node, known or DecodedBatches())
    scans: dict[str, Scan] = {}
    for name, data, scanned in files.segments():
        scans[name] = scanned
        for batch in batches_of(data, scanned):
            _add(batch, name, found)
    found.problems = files.problems + found.problems
    found.end = files.end
    if scans:
        found.batches = _batches(scans, node, directory_id)
    found.snapshots = read_snapshots(directory, node, directory_id, found.known, found.problems)
    if files.start > 0:
        _begin_with_snapshot(directory, files.start, found)
    found.problems = list(dict.fromkeys(found.problems))
    return found


def _batches(scans: Mapping[str, Scan], node: int, directory_id: str) -> pa.Table:
    """Made at once: there are many small segments, and making a table of each takes longer than
    reading it."""
    found = together(list(scans.values()))
    segments = np.repeat(list(scans), [len(each.positions) for each in scans.values()])
    columns = batch_columns(found)
    columns |= {"node": node, "directory": directory_id, "segment": segments}
    return table(LOG_BATCHES, len(found.positions), columns)


def _add(batch: Batch, file: str, found: MetadataLog, at: int | None = None) -> None:
    """Add the records of a batch, at the offset `at` if the batch is of a snapshot."""
    try:
        for row in found.known.rows(batch):
            offset = row["offset"] if at is None else at
            found.records.append({**row, "node": found.node, "offset": offset})
    except DamagedError as error:
        offset = f" (offset {batch.base_offset})" if at is None else ""
        found.problems.append(f"{file} position {batch.position}{offset}: {error}")


def _begin_with_snapshot(directory: Path, start: int, found: MetadataLog) -> None:
    """Put the oldest snapshot that reaches the log's first offset before the log."""
    ends = {end: path for end, _, path in snapshots_of(directory) if end >= start}
    if not ends:
        found.problems.append(f"the log begins at {start}, and no snapshot reaches that far")
        return
    end = min(ends)
    snapshot = MetadataLog(found.node, found.known)
    try:
        for batch in read_batches(ends[end].read_bytes()):
            if not batch.crc_ok:
                snapshot.problems.append(f"{ends[end].name} position {batch.position}: wrong CRC")
            _add(batch, ends[end].name, snapshot, at=end - 1)
    except (DamagedError, OSError) as error:
        snapshot.problems.append(f"{ends[end].name}: {error}")
    if not snapshot.records or snapshot.records[-1]["type"] != "SnapshotFooter":
        snapshot.problems.append(f"{ends[end].name} does not end with its footer")
    found.records[:0] = snapshot.records
    found.problems += snapshot.problems
    found.end = max(found.end, end)


def compacted_topics(log: MetadataLog | None) -> frozenset[str]:
    """Topics that ever had a policy of compaction as far as a node knew: their logs have gaps.

    For a disk without a metadata log, those that always are.
    """
    if log is None or not log.records:
        return ALWAYS_COMPACTED
    return frozenset(
        str(row["resource"])
        for row in log.records
        if row["type"] == "Config"
        and row["name"] == "cleanup.policy"
        and "compact" in str(row["value"])
    )


def batches_table(logs: list[MetadataLog]) -> pa.Table:
    return joined((log.batches for log in logs), LOG_BATCHES)


def records_table(logs: list[MetadataLog]) -> pa.Table:
    return pa.Table.from_pylist([row for log in logs for row in log.records], schema=LOG_RECORDS)


def snapshot_records_table(logs: list[MetadataLog]) -> pa.Table:
    return snapshots_table([row for log in logs for row in log.snapshots])
