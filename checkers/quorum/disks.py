"""Logs on disks have no holes, of metadata or partitions; nodes' disks are their own, are there,
and can be read."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.check import check, everywhere, of_partitions
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.left_disks import (
    About,
    Note,
    is_damaged_by_fault,
    may_be_left,
    notes_of,
    stopped_in_good_order,
)
from checkers.evidence.lives import witness
from checkers.evidence.partition_logs import codes
from checkers.evidence.promised import topic_of
from checkers.evidence.traced_logs import SnapshotId, whole_snapshots
from checkers.verdict import CheckResult, EventValue

_Row = dict[str, EventValue]
_SEGMENT = re.compile(r"(\d{20})\.log")  # by the offset of its first record
NAMES = ["node", "base_offset", "last_offset", "epoch", "segment", "position", "size", "crc_ok"]


@check("log-contiguous", applies=everywhere, source="KIP-595", rests_on=(Kind.METADATA_LOGS,))
def logs_have_no_holes(evidence: Evidence) -> CheckResult:
    """On each disk, every batch begins at the end offset of the batch before it.

    Needs: log_batches.

    The metadata log gives every offset to a record, and drops only whole segments at its head. Two
    intact consecutive batches that leave offsets out (or give one twice) are therefore no damage,
    which would show in between or in a CRC: records are missing that a node counted as stored.
    Neighbours of a damaged batch are not judged, nor pairs across the end of a segment, after which
    unreadable bytes may have been: that disk is incomplete.
    """
    violations: list[Violation] = []
    batches = evidence.tables["log_batches"].select(NAMES).to_pylist()
    by_node: dict[int, list[_Row]] = {}
    for row in batches:
        by_node.setdefault(row["node"], []).append(row)
    for node, rows in sorted(by_node.items()):
        violations += [_hole(node, a, b) for a, b in pairwise(rows) if _is_hole(a, b)]
    return conclude(
        looked_at=len(batches),
        unit="batches on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins where the one before it ended",
        algorithm="neighbours by place in their segments",
    )


def _is_hole(before: _Row, after: _Row) -> bool:
    """Rows in the order in which they are on the disk."""
    together = before["segment"] == after["segment"] and before["crc_ok"] and after["crc_ok"]
    return bool(together) and _number(after["base_offset"]) != _number(before["last_offset"]) + 1


def _number(value: EventValue) -> int:
    assert isinstance(value, int)
    return value


def _hole(node: int, before: _Row, after: _Row) -> Violation:
    ended, begins = before["last_offset"], after["base_offset"]
    return Violation(
        message=f"node {node}: offset {ended} is followed by {begins} on its disk",
        witness=[
            {"what": "stands before" if row is before else "is after it", **row}
            for row in (before, after)
        ],
    )


@check(
    "log-reaches-its-snapshot",
    applies=everywhere,
    source="KIP-630; SIM SnapshotAtLogStart, KAFKA-14238",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def logs_reach_their_snapshots(evidence: Evidence) -> CheckResult:
    """On each disk, the metadata log begins at 0, or no later than the end of a complete snapshot
    of the same log.

    Needs: log_batches, log_records.

    A log begins at the offset in its first segment's name. Records between that and all snapshots
    are lost: no node that starts with that disk can replay them. The epoch of a snapshot is that of
    the last record that it covers. A disk is not judged if a fault damages its bytes.
    """
    rows = evidence.tables["log_batches"].select(NAMES).to_pylist()
    logs: dict[int, list[_Row]] = {}
    for row in rows:
        logs.setdefault(row["node"], []).append(row)
    whole = whole_snapshots(evidence.tables["log_records"])
    damaged = {node for fault in evidence.faults if fault.damages_bytes for node in fault.nodes}
    violations: list[Violation] = []
    for node, log in sorted(logs.items()):
        if node not in damaged:
            violations += _without_a_beginning(node, log, whole.get(node))
    return conclude(
        looked_at=len(logs),
        unit="logs on disks",
        violations=violations,
        needs="the nodes' disks",
        holds="each begins at 0, or with a snapshot",
        algorithm="the first segment's name, against the snapshots beside it",
    )


def _without_a_beginning(
    node: int, log: list[_Row], snapshot: SnapshotId | None
) -> Iterator[Violation]:
    named = _SEGMENT.fullmatch(str(log[0]["segment"]))
    start = int(named[1]) if named else 0
    if snapshot is None or snapshot.end < start:
        if start > 0:
            text = f"node {node}: its log begins at {start}, but no snapshot reaches that far"
            yield Violation(text, [{"what": "the log's first batch", **log[0]}])
        return
    for row in log:
        is_last = _number(row["base_offset"]) < snapshot.end <= _number(row["last_offset"]) + 1
        if is_last and row["crc_ok"] and row["epoch"] != snapshot.epoch:
            text = f"node {node}: its snapshot ends at {snapshot.end} in epoch {snapshot.epoch}, "
            text += f"but the last record below that is of epoch {row['epoch']}"
            yield Violation(text, [{"what": "holds that record", **row}])


@check(
    "partition-contiguous", applies=of_partitions, source="KIP-101", rests_on=(Kind.PARTITION_LOGS,)
)
def partitions_have_no_holes(evidence: Evidence) -> CheckResult:
    """In each replica, every batch begins at the end offset of the batch before it.

    Needs: replica_batches.

    As `logs_have_no_holes`, for partitions that are not compacted.
    """
    batches = evidence.tables["replica_batches"]
    holes = np.flatnonzero(_neighbours(batches))
    violations = [
        _hole_in(before, after)
        for before, after in (batches.slice(int(at), 2).to_pylist() for at in holes)
        if not evidence.promised.is_compacted(topic_of(str(before["key"])))
    ]
    return conclude(
        looked_at=batches.num_rows,
        unit="batches of replicas",
        violations=violations,
        needs="the brokers' disks",
        holds="each begins where the one before it ended",
        algorithm="neighbours by place in their segments",
    )


def _neighbours(batches: pa.Table) -> NDArray[np.bool_]:
    """The batches after which the next one is in the same segment, and does not follow on."""
    base, last = (batches[name].to_numpy() for name in ("base_offset", "last_offset"))
    crc_ok = batches["crc_ok"].to_numpy()
    found: NDArray[np.bool_] = crc_ok[:-1] & crc_ok[1:] & (base[1:] != last[:-1] + 1)
    found &= np.diff(codes(batches, "node", "directory", "key", "segment")) == 0
    return found


def _hole_in(before: _Row, after: _Row) -> Violation:
    at = _hole(_number(before["node"]), before, after)
    return Violation(f"{before['key']} on {at.message}", at.witness)


# The nodes' disks are their own, are there, and can be read: the metadata log, the snapshots and
# small files beside it, of any target.


_NEED = "the nodes' disks"
_OF_THE_LOG = (About.LOG, About.HOLES, About.EPOCHS)

_DiskRow = dict[str, Any]  # of DISKS


@check(
    "disks-name-their-nodes",
    applies=everywhere,
    source="KIP-631, KIP-858: meta.properties",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def disks_name_their_nodes(evidence: Evidence) -> CheckResult:
    """Each log directory of a node has a readable meta.properties that names that node.

    Needs: disks.

    It is written when the directory is formatted, synced before it is renamed into place, and never
    changed by a power cut. A disk is not judged if a fault damages its synced bytes.
    """
    looked_at, violations = _noted(evidence, About.IDENTITY)
    return conclude(
        looked_at=looked_at,
        unit="disks",
        violations=violations,
        needs=_NEED,
        holds="each names its node",
        algorithm="problems that the reader found in meta.properties",
    )


@check(
    "quorum-state-is-kept",
    applies=everywhere,
    source="KIP-595: durable before visible; Raft thesis 3.8",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.TRACES),
)
def quorum_state_is_kept(evidence: Evidence) -> CheckResult:
    """A node that was in an epoch has a readable quorum-state on its disk; after a stop in good
    order, the file has the epoch and vote that the node traced last.

    Needs: disks, log_batches.

    A node was in an epoch if its log has a batch of it, or its trace on that disk says so. The file
    is synced before the epoch or the vote is visible to others, and renamed into place: a power cut
    leaves neither no file nor a damaged one. A disk is not judged if a fault damages its synced
    bytes.
    """
    looked_at, violations = _noted(evidence, About.ELECTIONS)
    seen = evidence.once(_epochs_seen)
    for row in _disks(evidence):
        at = seen.get((row["node"], row["directory"]), 0)
        is_noted = any(note.about is About.ELECTIONS for note in notes_of(row["problem"]))
        if row["epoch"] is None and at > 0 and not is_noted:
            text = f"node {row['node']} was in epoch {at}, but its disk has no quorum-state"
            violations.append(Violation(text, [_shown(row, "has none")]))
    violations += _unlike_traced(evidence)
    return conclude(
        looked_at=looked_at,
        unit="disks",
        violations=violations,
        needs=_NEED,
        holds="each has the epoch that its node was in",
        algorithm="epochs of logs, and last states of traces, against quorum-state on the disks",
    )


def _unlike_traced(evidence: Evidence) -> Iterator[Violation]:
    """Disks with an epoch or vote that differs from their node's last q.state, which was durable
    before it was visible to others."""
    last = {(life.node, life.directory): life for life in evidence.lives if life.gap is None}
    for row in _disks(evidence):
        life = last.get((row["node"], row["directory"]))
        if row["epoch"] is None or life is None or not stopped_in_good_order(evidence, life.node):
            continue
        rows = life.rows("q.state")
        told = evidence.traces.line(rows[-1]) if len(rows) else None
        if told is not None and (told.epoch, told.voted) != (row["epoch"], row["voted"]):
            text = f"node {life.node} was last in epoch {told.epoch}, with "
            text += f"{_vote(told.voted)}, but its disk says epoch {row['epoch']}, with "
            shown = [witness(told, "its last state"), _shown(row, "as it is")]
            yield Violation(f"{text}{_vote(row['voted'])}", shown)


def _vote(voted: int) -> str:
    return "no vote" if voted < 0 else f"a vote for node {voted}"


def _epochs_seen(evidence: Evidence) -> dict[tuple[int, str], int]:
    """By node and directory, the highest epoch of its log or its trace."""
    found: dict[tuple[int, str], int] = {}
    batches = evidence.tables["log_batches"]
    stored = batches.filter(batches["crc_ok"]).group_by(["node", "directory"])
    for row in stored.aggregate([("epoch", "max")]).to_pylist():
        found[row["node"], row["directory"]] = row["epoch_max"]
    for life in evidence.lives:
        rows = life.rows("q.state")
        highest = int(evidence.traces.column("epoch")[rows].max()) if len(rows) else 0
        key = (life.node, life.directory)
        found[key] = max(found.get(key, 0), highest)
    return found


@check(
    "metadata-disks-are-intact",
    applies=everywhere,
    source="KIP-98: CRC of batches; KIP-101; KIP-630",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS),
)
def metadata_disks_are_intact(evidence: Evidence) -> CheckResult:
    """The metadata log on a disk can be read: no batch and no snapshot is damaged, no offset is
    missing, and the leader-epoch-checkpoint does not contradict the log.

    Needs: disks, log_batches.

    A power cut leaves damage behind the synced part, which the next process truncates: it is
    allowed on the disk of a node that did not come back, and so is half a batch at the end of a log
    if its node did not stop in good order. A disk is not judged if a fault damages its synced
    bytes.
    """
    looked_at = 0
    violations: list[Violation] = []
    damaged = evidence.once(_damaged_batches)
    for row in _disks(evidence):
        looked_at += 1
        notes = [note for note in notes_of(row["problem"]) if note.about in _OF_THE_LOG]
        if not any(note.about is About.LOG for note in notes):
            notes += damaged.get(row["node"], [])
        violations += [
            _violation(row, note) for note in notes if not may_be_left(evidence, row["node"], note)
        ]
    return conclude(
        looked_at=looked_at,
        unit="disks",
        violations=violations,
        needs=_NEED,
        holds="all bytes of each can be read",
        algorithm="problems that the reader found in logs, snapshots and leader-epoch-checkpoints",
    )


def _damaged_batches(evidence: Evidence) -> dict[int, list[Note]]:
    """By node, the first batch of its log with a wrong CRC."""
    batches = evidence.tables["log_batches"]
    wrong = batches.filter(pc.invert(batches["crc_ok"])).select(
        ["node", "segment", "position", "base_offset"]
    )
    found: dict[int, list[Note]] = {}
    for row in wrong.to_pylist():
        text = f"{row['segment']} position {row['position']} (offset {row['base_offset']}): "
        found.setdefault(row["node"], [Note(about=About.LOG, text=f"{text}wrong CRC")])
    return found


def _noted(evidence: Evidence, about: About) -> tuple[int, list[Violation]]:
    """How many disks there are, and the problems noted in that part of each, unless a fault damages
    its synced bytes."""
    rows = list(_disks(evidence))
    return len(rows), [
        _violation(row, note)
        for row in rows
        for note in notes_of(row["problem"])
        if note.about is about
    ]


def _disks(evidence: Evidence) -> Iterator[_DiskRow]:
    """Disks with a metadata log, with synced bytes that no fault damages."""
    for row in evidence.tables["disks"].to_pylist():
        if row["log_end"] is not None and not is_damaged_by_fault(evidence, row["node"]):
            yield row


def _violation(row: _DiskRow, note: Note) -> Violation:
    return Violation(f"the disk of node {row['node']}: {note.text}", [_shown(row, "as it is")])


def _shown(row: _DiskRow, what: str) -> dict[str, EventValue]:
    names = ("node", "directory", "epoch", "voted", "log_end", "problem")
    return {"what": what, **{name: row[name] for name in names}}
