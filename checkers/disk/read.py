"""All disks of a run as tables."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from checkers.disk.batches import Batch, read_batches, read_records
from checkers.disk.fields import DamagedError
from checkers.disk.files import (
    NO_DIRECTORY,
    MetaProperties,
    QuorumState,
    read_leader_epochs,
    read_meta_properties,
    read_quorum_state,
)
from checkers.disk.records import decode_control, decode_metadata
from checkers.history.tables import (
    DISKS,
    LOG_BATCHES,
    LOG_RECORDS,
    REPLICA_BATCHES,
    REPLICA_SPANS,
    REPLICAS,
)

_LOG = "__cluster_metadata-0"
_SEGMENT = re.compile(r"\d{20}\.log")
_NODE = re.compile(r"node-(\d+)")

Row = dict[str, int | str | bool | None]


@dataclass
class _Disk:
    """What is found on one node's disk, while it is read."""

    node: int
    directory: str = NO_DIRECTORY
    batches: list[Row] = field(default_factory=list)
    records: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    end: int = 0
    epochs: dict[int, int] = field(default_factory=dict)  # epoch -> its first offset


def read_disks(directory: Path) -> dict[str, pa.Table]:
    """LOG_BATCHES, LOG_RECORDS, DISKS and REPLICAS with theirs, from the copies `node-N` below it.

    A disk that cannot be read has a row in DISKS that says why; no directory gives empty tables.
    """
    copies = [path for path in directory.glob("node-*") if _NODE.fullmatch(path.name)]
    found = [_read_disk(path) for path in sorted(copies, key=lambda path: int(path.name[5:]))]
    return {
        "log_batches": _table((row for disk, _ in found for row in disk.batches), LOG_BATCHES),
        "log_records": _table((row for disk, _ in found for row in disk.records), LOG_RECORDS),
        "disks": _table((row for _, row in found), DISKS),
        "replica_batches": REPLICA_BATCHES.empty_table(),
        "replica_spans": REPLICA_SPANS.empty_table(),
        "replicas": REPLICAS.empty_table(),
    }


def _table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=schema)


def _read_disk(copy: Path) -> tuple[_Disk, Row]:
    disk = _Disk(node=int(copy.name[5:]))
    meta = _identity(copy, disk)
    log = next(iter(sorted(copy.rglob(_LOG))), None)
    state: QuorumState | None = None
    if log is None:
        disk.problems.append(f"no {_LOG}")
    else:
        state = _election_state(log, disk)
        for segment in sorted(log.iterdir()):
            if _SEGMENT.fullmatch(segment.name):
                _read_segment(segment, disk)
        _compare_epochs(log, disk)
    return disk, {
        "node": disk.node,
        "directory": disk.directory,
        "cluster_id": meta.cluster_id if meta else None,
        "epoch": state.epoch if state else None,
        "leader": state.leader if state else None,
        "voted": state.voted if state else None,
        "voted_directory": state.voted_directory if state else None,
        "log_end": disk.end if log else None,
        "problem": "; ".join(disk.problems) or None,
    }


def _identity(copy: Path, disk: _Disk) -> MetaProperties | None:
    path = next(iter(sorted(copy.rglob("meta.properties"))), None)
    if path is None:
        disk.problems.append("no meta.properties")
        return None
    try:
        meta = read_meta_properties(path)
    except DamagedError as error:
        disk.problems.append(str(error))
        return None
    if meta.node_id != disk.node:
        disk.problems.append(f"meta.properties belongs to node {meta.node_id}")
    disk.directory = meta.directory_id
    return meta


def _election_state(log: Path, disk: _Disk) -> QuorumState | None:
    """None without a file: a node that never took part in an election has none."""
    path = log / "quorum-state"
    if not path.exists():
        return None
    try:
        return read_quorum_state(path)
    except DamagedError as error:
        disk.problems.append(str(error))
        return None


def _read_segment(path: Path, disk: _Disk) -> None:
    try:
        for batch in read_batches(path.read_bytes()):
            _add_batch(batch, path.name, disk)
    except (DamagedError, OSError) as error:
        disk.problems.append(f"{path.name}: {error}")


def _add_batch(batch: Batch, segment: str, disk: _Disk) -> None:
    disk.batches.append(
        {
            "node": disk.node,
            "directory": disk.directory,
            "base_offset": batch.base_offset,
            "last_offset": batch.last_offset,
            "epoch": batch.epoch,
            "crc": batch.crc,
            "crc_ok": batch.crc_ok,
            "control": batch.control,
            "records": batch.records,
            "size": batch.size,
            "segment": segment,
            "position": batch.position,
        }
    )
    where = f"{segment} position {batch.position} (offset {batch.base_offset})"
    if not batch.crc_ok:
        disk.problems.append(f"{where}: wrong CRC")
        return
    if disk.end and batch.base_offset != disk.end:
        disk.problems.append(f"{where}: the log ended at {disk.end} before it")
    disk.end = batch.last_offset + 1
    disk.epochs.setdefault(batch.epoch, batch.base_offset)
    try:
        _add_records(batch, disk)
    except DamagedError as error:
        disk.problems.append(f"{where}: {error}")


def _add_records(batch: Batch, disk: _Disk) -> None:
    for record in read_records(batch):
        decoded = decode_control(record) if batch.control else decode_metadata(record)
        disk.records.append(
            {
                "node": disk.node,
                "offset": record.offset,
                "epoch": batch.epoch,
                "type": decoded.type,
                "resource_type": decoded.resource_type,
                "resource": decoded.resource,
                "name": decoded.name,
                "value": decoded.value,
                "leader": decoded.leader,
                "detail": None,
            }
        )


def _compare_epochs(log: Path, disk: _Disk) -> None:
    """The checkpoint may lag behind the log after a crash, but may not contradict it."""
    path = log / "leader-epoch-checkpoint"
    if not path.exists():
        return
    try:
        entries = read_leader_epochs(path)
    except DamagedError as error:
        disk.problems.append(str(error))
        return
    for epoch, start in entries:
        if epoch in disk.epochs and disk.epochs[epoch] != start and start < disk.end:
            disk.problems.append(
                f"{path.name}: epoch {epoch} starts at {start}, the log says {disk.epochs[epoch]}"
            )
