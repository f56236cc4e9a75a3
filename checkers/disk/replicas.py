"""The partitions of a broker: `topic-0` beside the checkpoints of its log directory."""

import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from checkers.disk.batches import Column, Scan, batch_columns, joined, table
from checkers.disk.fields import DamagedError
from checkers.disk.metadata_log import METADATA_LOG
from checkers.disk.segments import LogFiles, read_meta_properties, read_offsets, read_topic_id
from checkers.history.tables import NO_DIRECTORY, REPLICA_BATCHES, REPLICA_SPANS, REPLICAS

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
