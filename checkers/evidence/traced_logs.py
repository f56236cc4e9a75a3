"""The log of every replica, followed through its trace: what it held, when, and what it committed.

A crash can leave a line unwritten: a new process may find more on its disk than was traced (those
offsets are *unseen*, as are those that a fetched snapshot covers) or less (the rest was lost or
truncated). The unwritten line may be the one that a snapshot replaced the log: so a log that ends
with a snapshot beyond what its node knew to be committed may have been replaced. Traces with lines
missing in between are not followed at all.

The metadata log on each node's disk after the run.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.evidence.lives import Life

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


_EVENTS = ("n.start", "q.append", "q.truncate", "q.loaded", "q.snapshot", "q.hwm", "q.state")


class TracedBatch(NamedTuple):
    """A batch, and the row of the q.append of a node that held it."""

    row: int
    batch: StoredBatch


class Committed(NamedTuple):
    """A batch, and the row and epoch of the q.hwm that says it is committed."""

    appended: TracedBatch
    by: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Election:
    """The row of a leader's q.state, and its log at that moment: each row of `log` is a batch."""

    row: int
    epoch: int
    log: NDArray[np.int64]  # of shape (batches, 4), the columns of StoredBatch
    holes: Sequence[tuple[int, int]]

    def unseen(self, base: int, last: int) -> bool:
        """Whether these offsets may be in the log although no trace shows them."""
        return any(start <= last and base < end for start, end in self.holes)


@dataclass(slots=True)
class TracedLogs:
    """All replicas' logs. `committed` is by base offset, with the lowest epoch that committed it;
    `highest` is each node's highest high watermark on its newest disk."""

    committed: dict[int, Committed] = field(default_factory=dict)
    conflicts: list[tuple[Committed, Committed]] = field(default_factory=list)
    elections: list[Election] = field(default_factory=list)
    highest: dict[int, int] = field(default_factory=dict)


def traced_logs(lives: Iterable[Life]) -> TracedLogs:
    """Follow all lives of a run; those with gaps in their traces are left out."""
    logs = TracedLogs()
    for life in lives:
        if life.gap is None:
            _Log(life, logs).follow()
    logs.elections.sort(key=lambda election: election.epoch)
    return logs


@dataclass
class _Log:
    """One replica's log while its trace is read."""

    life: Life
    logs: TracedLogs
    batches: list[TracedBatch] = field(default_factory=list)
    holes: list[tuple[int, int]] = field(default_factory=list)
    end: int = 0
    committed: int = 0  # how many of the batches were traced as committed
    highest: int = 0

    def follow(self) -> None:
        rows, leads = _rows(self.life)
        column = self.life.traces.column
        names = ("base", "last", "epoch", "crc", "hwm", "log_end")
        for row, event, is_leader, base, last, epoch, crc, hwm, log_end in zip(
            rows.tolist(),
            self.life.traces.events(rows),
            leads.tolist(),
            *(column(name)[rows].tolist() for name in names),
            strict=True,
        ):
            match event:
                case "n.start":
                    self._start(log_end)
                case "q.append":
                    self._cut(base)
                    self.batches.append(TracedBatch(row, StoredBatch(base, last, epoch, crc)))
                    self.end = last + 1
                case "q.truncate":
                    self._cut(log_end)
                case "q.loaded":
                    self._replace(log_end)
                case "q.snapshot" if self.highest < log_end == self.end:
                    self._replace(log_end)
                case "q.hwm":
                    self._commit(row, hwm, epoch)
                case "q.state" if is_leader:
                    log = np.array([one.batch for one in self.batches], np.int64).reshape(-1, 4)
                    self.logs.elections.append(Election(row, epoch, log, tuple(self.holes)))
        self.logs.highest[self.life.node] = self.highest

    def _replace(self, end: int) -> None:
        self._cut(0)
        self._start(end)

    def _start(self, end: int) -> None:
        if end > self.end:
            self.holes.append((self.end, end))
        self._cut(end)
        self.end = end

    def _cut(self, end: int) -> None:
        while self.batches and self.batches[-1].batch.last >= end:
            self.batches.pop()
        if self.holes and self.holes[-1][1] > end:
            self.holes = [(start, min(stop, end)) for start, stop in self.holes if start < end]
        self.committed = min(self.committed, len(self.batches))
        self.end = min(self.end, end)

    def _commit(self, row: int, hwm: int, epoch: int) -> None:
        self.highest = max(self.highest, hwm)
        while self.committed < len(self.batches):
            appended = self.batches[self.committed]
            if appended.batch.last >= hwm:
                return
            self.committed += 1
            self._enter(Committed(appended, row, epoch))

    def _enter(self, found: Committed) -> None:
        ledger, batch = self.logs.committed, found.appended.batch
        known = ledger.setdefault(batch.base, found)
        if known.appended.batch != batch:
            self.logs.conflicts.append((known, found))
        elif found.epoch < known.epoch:
            ledger[batch.base] = found


def _rows(life: Life) -> tuple[Ints, NDArray[np.bool_]]:
    rows = life.rows(*_EVENTS)
    return rows, life.traces.has("state", "leader", rows)
