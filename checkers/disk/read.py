"""Finds the log directories of nodes, and reads all disks of a run into tables."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from checkers.disk.batches import Column, Scan, batch_columns, joined, table
from checkers.disk.fields import DamagedError
from checkers.disk.metadata_log import (
    METADATA_LOG,
    MetadataLog,
    batches_table,
    compacted_topics,
    read_metadata_log,
    records_table,
    snapshot_records_table,
)
from checkers.disk.records import DecodedBatches
from checkers.disk.segments import (
    LogFiles,
    MetaProperties,
    QuorumState,
    read_clean_shutdown,
    read_meta_properties,
    read_offsets,
    read_quorum_state,
    read_topic_id,
)
from checkers.history.tables import (
    DISKS,
    LOST_RECORDS,
    NO_DIRECTORY,
    REPLICA_BATCHES,
    REPLICA_SPANS,
    REPLICAS,
)

# The partitions of a broker: `topic-0` beside the checkpoints of its log directory.


# Deleted, future and stray ones have a suffix after the number.
_PARTITION = re.compile(r"[A-Za-z0-9._-]+-\d+")
_INTERNAL = "__"  # the cluster's internal topics, with values that no client counts

T = TypeVar("T")
_Row = dict[str, int | str | None]


@dataclass(slots=True)
class Replicas:
    """All replicas of one node, or of several."""

    rows: list[_Row] = field(default_factory=list)
    batches: list[pa.Table] = field(default_factory=list)
    spans: list[pa.Table] = field(default_factory=list)

    def tables(self) -> dict[str, pa.Table]:
        return {
            "replicas": pa.Table.from_pylist(self.rows, schema=REPLICAS),
            "replica_batches": joined(self.batches, REPLICA_BATCHES),
            "replica_spans": joined(self.spans, REPLICA_SPANS),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _LogDirectory:
    """One of a node's log directories, and what its checkpoints say about all its partitions."""

    node: int
    directory: str
    high_watermarks: dict[str, int]
    recovery_points: dict[str, int]
    log_starts: dict[str, int]
    problems: tuple[str, ...]


def read_replicas(copy: Path, node: int, found: Replicas, compacted: Collection[str] = ()) -> None:
    """Add all replicas in the copy of a node's disk; logs of `compacted` topics have gaps."""
    for meta in sorted(copy.rglob("meta.properties")):
        home = _log_directory(meta.parent, node)
        for path in sorted(meta.parent.iterdir()):
            if path.is_dir() and path.name != METADATA_LOG and _PARTITION.fullmatch(path.name):
                _read_replica(path, home, found, path.name.rpartition("-")[0] in compacted)


def _log_directory(path: Path, node: int) -> _LogDirectory:
    problems: list[str] = []

    def offsets(name: str) -> dict[str, int]:
        return _or_problem(lambda: read_offsets(path / name), {}, problems)

    meta = _or_problem(lambda: read_meta_properties(path / "meta.properties"), None, problems)
    return _LogDirectory(
        node=node,
        directory=meta.directory_id if meta else NO_DIRECTORY,
        high_watermarks=offsets("replication-offset-checkpoint"),
        recovery_points=offsets("recovery-point-offset-checkpoint"),
        log_starts=offsets("log-start-offset-checkpoint"),
        problems=tuple(problems),
    )


def _or_problem(read: Callable[[], T], otherwise: T, problems: list[str]) -> T:
    try:
        return read()
    except DamagedError as error:
        problems.append(str(error))
        return otherwise


def _read_replica(path: Path, home: _LogDirectory, found: Replicas, compacted: bool) -> None:
    key = path.name
    cut_at = home.log_starts.get(key, 0)
    files = LogFiles(path, cut_at=cut_at, has_gaps=compacted, problems=list(home.problems))
    topic_id = _or_problem(lambda: read_topic_id(path / "partition.metadata"), None, files.problems)
    torn: list[str] = []
    for name, data, scanned in files.segments():
        columns = batch_columns(scanned)
        columns |= {"node": home.node, "directory": home.directory, "key": key, "segment": name}
        found.batches.append(table(REPLICA_BATCHES, len(scanned.positions), columns))
        if not key.startswith(_INTERNAL):
            found.spans.append(_spans(data, scanned, home.node, name, key, torn))
    flushed = home.recovery_points.get(key, 0)
    if files.end < flushed:
        files.problems.append(f"the log ends at {files.end}, and was flushed up to {flushed}")
    found.rows.append(
        {
            "node": home.node,
            "directory": home.directory,
            "key": key,
            "topic_id": topic_id,
            "log_start": max(files.start, files.cut_at),
            "log_end": files.end,
            "high_watermark": home.high_watermarks.get(key),
            "epochs": json.dumps(files.checkpoint),
            "whole": files.whole and not torn,
            "problem": "; ".join(files.problems + torn) or None,
        }
    )


def _spans(
    data: bytes, scanned: Scan, node: int, segment: str, key: str, problems: list[str]
) -> pa.Table:
    from checkers.disk.values import read_spans  # it imports a compiler

    spans = read_spans(data, scanned)
    if spans.problem is not None:
        problems.append(f"{segment}: {spans.problem}")
    columns: dict[str, Column] = {
        "node": node,
        "key": key,
        "offset": spans.offset,
        "value": spans.value,
        "records": spans.records,
        "epoch": spans.epoch,
    }
    return table(REPLICA_SPANS, len(spans.offset), columns)


_NODE = re.compile(r"node-(\d+)")
_LOST = re.compile(r"node-(\d+)-(\d+)")  # which disk of that node, counted from 1


@dataclass(slots=True)
class _Disk:
    """What is found on one node's disk, while it is read."""

    node: int
    log: MetadataLog | None = None
    meta: MetaProperties | None = None
    state: QuorumState | None = None
    clean_shutdown: int | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def directory(self) -> str:
        return self.meta.directory_id if self.meta else NO_DIRECTORY


def read_disks(directory: Path) -> dict[str, pa.Table]:
    """LOG_BATCHES, LOG_RECORDS, SNAPSHOT_RECORDS, DISKS and REPLICAS with their values, from the
    copies `node-N` below it; of lost disks, the metadata log from the copies below `lost`.

    A disk that cannot be read has a row in DISKS that says why; a missing directory gives empty
    tables.
    """
    copies = {numbers[0]: (copy,) for copy, numbers in _copies(directory, _NODE)}
    return read_nodes(copies, _copies(directory / "lost", _LOST))


def read_nodes(
    copies: Mapping[int, Sequence[Path]],
    of_lost: Sequence[tuple[Path, tuple[int, ...]]] = (),
) -> dict[str, pa.Table]:
    """The same tables from directories given by node; the metadata log is in the first that has
    one, or below it."""
    disks, replicas, known = [], Replicas(), DecodedBatches()
    for node, directories in copies.items():
        disk = _read_disk(_with_metadata_log(directories), node, known)
        disks.append(disk)
        for directory in directories:
            read_replicas(directory, node, replicas, compacted_topics(disk.log))
    lost = [_read_disk(copy, at[0], known) for copy, at in of_lost]
    logs = [disk.log for disk in disks if disk.log is not None]
    return {
        "log_batches": batches_table(logs),
        "log_records": records_table(logs),
        "snapshot_records": snapshot_records_table(logs),
        "disks": _table(disks),
        "lost_batches": batches_table([disk.log for disk in lost if disk.log is not None]),
        "lost_records": _lost_records(lost),
        "lost_disks": _table(lost),
        **replicas.tables(),
    }


def _copies(directory: Path, named: re.Pattern[str]) -> list[tuple[Path, tuple[int, ...]]]:
    """The copies of disks with such a name and the numbers in it, in order."""
    found = ((path, named.fullmatch(path.name)) for path in directory.glob("node-*"))
    copies = [(path, tuple(map(int, name.groups()))) for path, name in found if name]
    return sorted(copies, key=lambda copy: copy[1])


def _with_metadata_log(directories: Sequence[Path]) -> Path:
    having = (each for each in directories if next(each.rglob(METADATA_LOG), None) is not None)
    return next(having, directories[0])


def _read_disk(copy: Path, node: int, known: DecodedBatches) -> _Disk:
    disk = _Disk(node=node)
    path = next(iter(sorted(copy.rglob(METADATA_LOG))), None)
    _identify(copy if path is None else path.parent, disk)
    if path is None:
        disk.problems.append(f"no {METADATA_LOG}")
        return disk
    try:
        disk.state = _election_state(path)
    except DamagedError as error:
        disk.problems.append(str(error))
    disk.log = read_metadata_log(path, disk.node, disk.directory, known)
    disk.problems += disk.log.problems
    return disk


def _identify(home: Path, disk: _Disk) -> None:
    """Find the disk's node and directory id, and whether it was left in good order, which all log
    directories have to say. The directory id is that of the first; further ones lie deeper."""
    found = sorted(home.rglob("meta.properties"), key=lambda each: (len(each.parts), each))
    if not found:
        disk.problems.append("no meta.properties")
        return
    said: set[int | None] = set()
    for path in found:
        try:
            meta = read_meta_properties(path)
            disk.meta = disk.meta or meta
            said.add(read_clean_shutdown(path.with_name(".kafka_cleanshutdown")))
        except DamagedError as error:
            disk.problems.append(str(error))
            said.add(None)
            continue
        if meta.node_id != disk.node:
            disk.problems.append(f"meta.properties names node {meta.node_id}")
    disk.clean_shutdown = said.pop() if len(said) == 1 else None


def _election_state(log: Path) -> QuorumState | None:
    """None without a file: a node that never took part in an election has none."""
    path = log / "quorum-state"
    return read_quorum_state(path) if path.exists() else None


def _table(disks: Sequence[_Disk]) -> pa.Table:
    return pa.Table.from_pylist([_row(disk) for disk in disks], schema=DISKS)


def _lost_records(disks: Sequence[_Disk]) -> pa.Table:
    rows = [
        {**row, "directory": disk.directory}
        for disk in disks
        if disk.log is not None
        for row in disk.log.records
    ]
    return pa.Table.from_pylist(rows, schema=LOST_RECORDS)


def _row(disk: _Disk) -> _Row:
    meta, state = disk.meta, disk.state
    return {
        "node": disk.node,
        "directory": disk.directory,
        "cluster_id": meta.cluster_id if meta else None,
        "epoch": state.epoch if state else None,
        "leader": state.leader if state else None,
        "voted": state.voted if state else None,
        "voted_directory": state.voted_directory if state else None,
        "log_end": disk.log.end if disk.log else None,
        "clean_shutdown": disk.clean_shutdown,
        "problem": "; ".join(disk.problems) or None,
    }


# Finds the log directories of nodes below any directory, and the node of each.
#
# A log directory has a `meta.properties`. A node may have several (log.dirs, metadata.log.dir),
# each of which names the node; all of one cluster name the cluster.


_META = "meta.properties"
_DEEPEST = 6  # below the directory that was named
_MOST = 50_000  # directories looked into


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDisks:
    """By node, its log directories. `strange` says why others belong to no node."""

    by_node: Mapping[int, Sequence[Path]]
    strange: Sequence[str]


class MixedDisksError(Exception):
    """The directories belong to several clusters, or twice to one node; the message says which."""


def find_disks(directory: Path) -> FoundDisks | None:
    """None if there is no log directory. Raises MixedDisksError, OSError."""
    by_node: dict[int, list[Path]] = {}
    clusters: dict[str, Path] = {}
    strange: list[str] = []
    found = sorted(_log_directories(directory))
    for path in found:
        try:
            meta = read_meta_properties(path / _META)
        except DamagedError as error:
            strange.append(f"{path}: {error}")
            continue
        if meta.cluster_id is not None:
            clusters.setdefault(meta.cluster_id, path)
        by_node.setdefault(meta.node_id, []).append(path)
    if not found:
        return None
    if len(clusters) > 1:
        (one, at_one), (two, at_two) = list(clusters.items())[:2]
        raise MixedDisksError(f"disks of one cluster, found {one} in {at_one}, {two} in {at_two}")
    for node, paths in by_node.items():
        twice = [path for path in paths if (path / METADATA_LOG).is_dir()]
        if len(twice) > 1:
            raise MixedDisksError(
                f"one metadata log of node {node}, found one in {twice[0]}, one in {twice[1]}"
            )
    return FoundDisks(by_node=dict(sorted(by_node.items())), strange=strange)


def _log_directories(directory: Path) -> Iterator[Path]:
    """Directories with a `meta.properties`, and those with partitions but without one."""
    top = len(directory.parts)
    for name, inside, files in islice(os.walk(directory), _MOST):
        path = Path(name)
        if _META in files:
            yield path
            inside.clear()
        elif METADATA_LOG in inside:
            yield path  # belongs to no node, as nothing names one
            inside.clear()
        elif len(path.parts) - top >= _DEEPEST:
            inside.clear()
