"""Replicas on disks can be read and agree with their checkpoints; what a clean stop leaves. Any
target."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Ints
from checkers.check import check, of_brokers, of_partition_logs, of_partitions
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.left_disks import (
    About,
    Note,
    is_damaged_by_fault,
    may_be_left,
    may_have_lost,
    notes_of,
    stopped_in_good_order,
    went_on,
)
from checkers.evidence.lives import NodeEvent, witness
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.promised import topic_of
from checkers.partitions.replica_agreement import NEED, ReplicaRow, replicas_by_key
from checkers.partitions.traced_replicas import PartitionId, partition_of, traced_partitions
from checkers.verdict import CheckResult, EventValue

_ALONE = "no broker has a replica"
_RESTS_ON = (Kind.FAULTS, Kind.OPERATIONS, Kind.PARTITION_LOGS)


@check(
    "replicas-are-intact",
    applies=of_partitions,
    source="KIP-98: CRC of batches; UnifiedLog.load, recovery of segments",
    rests_on=_RESTS_ON,
)
def replicas_are_intact(evidence: Evidence) -> CheckResult:
    """The replicas on a disk can be read: no batch is damaged, no offset is missing in between, and
    the checkpoints of offsets are complete.

    Needs: replicas.

    A power cut leaves damage behind the synced part, which the next process truncates: it is
    allowed on the disk of a broker that did not come back, and so is half a batch at the end of a
    log if its broker did not stop in good order. A compacted log may lack any offset. A disk is not
    judged if a fault damages its synced bytes.
    """
    looked_at = 0
    violations: list[Violation] = []
    for row in _replicas(evidence):
        looked_at += 1
        notes = [note for note in notes_of(row["problem"]) if _is_damage(note, row, evidence)]
        if not notes and not row["whole"]:
            notes = [Note(about=About.LOG, text="some of it could not be read")]
        violations += [
            _violation(row, note.text)
            for note in notes
            if not may_be_left(evidence, row["node"], note)
        ]
    return conclude(
        looked_at=looked_at,
        unit="replicas",
        violations=violations,
        needs=NEED,
        holds="all bytes of each can be read",
        algorithm="problems that the reader found in logs and in checkpoints of offsets",
        nothing=_ALONE,
    )


def _is_damage(note: Note, row: ReplicaRow, evidence: Evidence) -> bool:
    if note.about is About.HOLES:
        return not evidence.promised.is_compacted(topic_of(row["key"]))
    return note.about in (About.LOG, About.CHECKPOINTS)


@check(
    "epoch-checkpoints-agree",
    applies=of_partitions,
    source="KIP-101, KIP-279: followers truncate by it",
    rests_on=_RESTS_ON,
)
def epoch_checkpoints_agree(evidence: Evidence) -> CheckResult:
    """The leader-epoch-checkpoint of a replica gives each epoch the offset of the epoch's first
    record in the log.

    Needs: replicas, replica_batches.

    If the head of the log was deleted, its first epoch begins there. Entries above the log's end
    are not judged: a power cut took their records. An epoch of the log that is missing in the
    checkpoint, on a disk that lost power, was not synced. Compacted logs are left out, and disks
    with synced bytes that a fault damages.
    """
    tables = split(evidence.tables["replica_batches"], "node", "directory", "key")
    looked_at = 0
    violations: list[Violation] = []
    for row in _replicas(evidence):
        if evidence.promised.is_compacted(topic_of(row["key"])) or not row["whole"]:
            continue
        looked_at += 1
        batches = tables.get((row["node"], row["directory"], row["key"]))
        unreadable = [n.text for n in notes_of(row["problem"]) if n.about is About.EPOCHS]
        violations += [
            _violation(row, text) for text in unreadable or _unlike(evidence, row, batches)
        ]
    return conclude(
        looked_at=looked_at,
        unit="replicas",
        violations=violations,
        needs=NEED,
        holds="each begins its epochs where its log does",
        algorithm="first offset of each epoch in the log, against the checkpoint",
        nothing="all are compacted, or could not be read" if evidence.brokers else _ALONE,
    )


def _unlike(evidence: Evidence, row: ReplicaRow, batches: pa.Table | None) -> Iterator[str]:
    start, end = row["log_start"], row["log_end"]
    named = [(epoch, begin) for epoch, begin in json.loads(row["epochs"]) if begin < end]
    stored = _first_offsets(batches)
    first_named = {epoch: max(begin, start) for epoch, begin in named}
    for epoch, begin in first_named.items():
        has = stored.get(epoch)
        if has is None and begin > start:
            yield f"epoch {epoch} begins at {begin} by its checkpoint, but the log has none of it"
        elif has is not None and max(has, start) != begin:
            yield f"epoch {epoch} begins at {begin} by its checkpoint, but at {has} in the log"
    lost = may_have_lost(evidence, row["node"]) or not went_on(evidence, row["node"])
    for epoch, has in sorted(stored.items()) if not lost else ():
        if epoch not in first_named and has >= start:
            yield f"its checkpoint does not have epoch {epoch}, which begins at {has} in the log"


def _first_offsets(batches: pa.Table | None) -> dict[int, int]:
    """By epoch, the base offset of its first intact batch."""
    if batches is None:
        return {}
    epoch, base = columns(batches.filter(batches["crc_ok"]), "epoch", "base_offset")
    found, at = np.unique(epoch, return_index=True)
    return dict(zip(found.tolist(), base[at].tolist(), strict=True))


@check(
    "flushed-stays",
    applies=of_partitions,
    source="LogManager: recovery-point-offset-checkpoint",
    rests_on=_RESTS_ON,
)
def flushed_stays(evidence: Evidence) -> CheckResult:
    """No log ends below its recovery point, the offset up to which its broker recorded that it was
    flushed.

    Needs: replicas.

    A broker that truncates a log lowers the recovery point first; a broker that died in between,
    and has not stopped in good order since, may still have the old one. A disk is not judged if a
    fault damages its synced bytes.
    """
    looked_at = 0
    violations: list[Violation] = []
    ended = {node for fault in evidence.faults if fault.ends_process for node in fault.nodes}
    for row in _replicas(evidence):
        looked_at += 1
        may_be_old = row["node"] in ended and not stopped_in_good_order(evidence, row["node"])
        violations += [
            _violation(row, note.text)
            for note in notes_of(row["problem"])
            if note.about is About.FLUSHED and not may_be_old
        ]
    return conclude(
        looked_at=looked_at,
        unit="replicas",
        violations=violations,
        needs=NEED,
        holds="each ends at its recovery point, or behind it",
        algorithm="ends of logs against recovery-point-offset-checkpoint",
        nothing=_ALONE,
    )


def _replicas(evidence: Evidence) -> Iterator[ReplicaRow]:
    """Replicas on disks with synced bytes that no fault damages."""
    sound = {n for n in evidence.brokers if not is_damaged_by_fault(evidence, n)}
    replicas = evidence.tables["replicas"]
    yield from replicas.filter(pc.is_in(replicas["node"], pa.array(sound, pa.int16()))).to_pylist()


def _violation(row: ReplicaRow, text: str) -> Violation:
    shown: dict[str, EventValue] = {"what": "the replica", **_few(row)}
    return Violation(f"{row['key']} on node {row['node']}: {text}", [shown])


def _few(row: ReplicaRow) -> dict[str, EventValue]:
    names = ("node", "key", "log_start", "log_end", "high_watermark", "epochs", "problem")
    return {name: row[name] for name in names}


# What a broker leaves when it stops in good order: high watermarks not below those it knew, and the
# clean-shutdown file.


_NEED = f"{NEED}, and what clients sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """How far a broker knew a partition to be committed, and from what."""

    mark: int
    shown: Mapping[str, EventValue]


@check(
    "high-watermarks-are-saved",
    applies=of_partition_logs,
    source="ReplicaManager.shutdown: checkpointHighWatermarks",
    rests_on=(
        Kind.FAULTS,
        Kind.METADATA_LOGS,
        Kind.OPERATIONS,
        Kind.PARTITION_LOGS,
        Kind.TRACES,
    ),
)
def high_watermarks_are_saved(evidence: Evidence) -> CheckResult:
    """A broker that stopped in good order leaves in its checkpoint, for each replica, a high
    watermark that is not below what its last process knew to be committed.

    Needs: replicas, replica_batches, replica_spans, ops, spans.

    Known are the last high watermark that it traced as a leader; what it acknowledged to acks=all
    itself; and on any replica: a record that was sent when an earlier one of the same leader was
    acknowledged brought the news that the earlier one is committed. A missing entry counts as high
    watermark 0. A disk is not judged if a fault damages its synced bytes.
    """
    looked_at = 0
    violations: list[Violation] = []
    began = {node: _last_began(evidence, node) for node in evidence.brokers}
    traced = evidence.once(_traced)
    sent = split(_sent(evidence), "key")
    batches = split(evidence.tables["replica_batches"], "node", "directory", "key")
    for key, rows in sorted(evidence.once(replicas_by_key).items()):
        for row in rows:
            node = row["node"]
            since = began.get(node)
            if since is None or not _may_be_judged(evidence, node):
                continue
            log = batches.get((node, row["directory"], key))
            known = [
                *filter(None, [traced.get((node, row["topic_id"], key.rpartition("-")[2]))]),
                *_told(evidence, row, log, sent.get((key,)), since),
            ]
            if known:
                looked_at += 1
                most = max(known, key=lambda each: each.mark)
                violations += _below(row, most)
    return conclude(
        looked_at=looked_at,
        unit="replicas with committed records",
        violations=violations,
        needs=_NEED,
        holds="each has as high a watermark in its broker's checkpoint",
        algorithm="acknowledged, traced and fetched records of brokers, against checkpoints",
        nothing="no broker with committed records stopped in good order",
    )


def _may_be_judged(evidence: Evidence, node: int) -> bool:
    return stopped_in_good_order(evidence, node) and not is_damaged_by_fault(evidence, node)


def _last_began(evidence: Evidence, node: int) -> int | None:
    """The time by which the last process of a node had begun, in ns; None: unknown."""
    mine = [life.processes[-1].first_ns for life in evidence.lives if life.node == node]
    if mine:
        return max(mine)
    if any(int(end["node"]) == node for end in evidence.info.unasked_ends):
        return None
    ended = [f for f in evidence.faults if node in f.nodes and (f.ends_process or f.degrades)]
    return max((fault.over_ns for fault in ended), default=0)


def _traced(evidence: Evidence) -> dict[tuple[int, object, str], _Known]:
    """By node, topic id and index, the last high watermark that its last process traced."""
    told = evidence.once(traced_partitions)
    last = {life.node: evidence.traces.line(life.processes[-1].begin) for life in evidence.lives}
    newest: dict[tuple[int, PartitionId], NodeEvent] = {}
    for partition, line in (
        *((partition_of(line), line) for line in (*told.roles, *told.cuts)),
        *((move.partition, move.event) for move in told.moves),
    ):
        if line.incarnation == last[line.node].incarnation:
            known = newest.setdefault((line.node, partition), line)
            if line.seq > known.seq:
                newest[line.node, partition] = line
    found: dict[tuple[int, object, str], _Known] = {}
    for (node, (topic, index)), line in newest.items():
        mark = line.hwm if line.event != "p.truncate" else min(line.hwm, line.log_end)
        if mark > 0:
            shown = witness(line, "traced its high watermark")
            found[node, topic, str(index)] = _Known(mark=mark, shown=shown)
    return found


def _sent(evidence: Evidence) -> pa.Table:
    """The acknowledged spans with `node`, `t0` and `t1` of their operations."""
    spans = evidence.acknowledged
    ops = evidence.tables["ops"].take(spans["op_id"])
    for name in ("node", "t0", "t1"):
        spans = spans.append_column(name, ops[name])
    return spans


def _told(
    evidence: Evidence, row: ReplicaRow, log: pa.Table | None, sent: pa.Table | None, since: int
) -> Iterator[_Known]:
    """From what clients were answered about records of the replica's last leader epoch, since a
    moment."""
    held = evidence.partition_logs.get((row["node"], row["key"]))
    if log is None or sent is None or held is None:
        return
    epoch, base = columns(log.filter(log["crc_ok"]), "epoch", "base_offset")
    offset, value, records, node, t0, t1 = columns(
        sent, "offset", "value", "records", "node", "t0", "t1"
    )
    start = int(base[epoch == epoch[-1]][0]) if len(base) else 0
    mine = (offset >= start) & held.holds(offset, value, records)
    end = offset + records
    own = mine & (node == row["node"]) & (t0 > since)
    if own.any():
        at = int(np.flatnonzero(own)[end[own].argmax()])
        yield _Known(mark=int(end[at]), shown=_span(sent, at, "it acknowledged this itself"))
    mark, at = _acknowledged_before(t0[mine], t1[mine], end[mine], since)
    if mark > 0:
        shown = _span(sent, int(np.flatnonzero(mine)[at]), "holds this, sent when more was known")
        yield _Known(mark=mark, shown=shown)


def _acknowledged_before(t0: Ints, t1: Ints, end: Ints, since: int) -> tuple[int, int]:
    """For spans sent after a moment, the highest end that was acknowledged before one of them was
    sent, and which one that is; 0 if there was none."""
    order = np.argsort(t1, kind="stable")
    highest = np.append(0, np.maximum.accumulate(end[order]))
    before = highest[np.searchsorted(t1[order], t0, side="left")]
    before[t0 <= since] = 0
    return (int(before.max()), int(before.argmax())) if len(before) else (0, 0)


def _below(row: ReplicaRow, known: _Known) -> Iterator[Violation]:
    saved = row["high_watermark"]
    if saved is not None and saved >= known.mark:
        return
    what = "has no high watermark" if saved is None else f"says {saved}"
    text = f"{row['key']}: node {row['node']} stopped in good order and knew that all below "
    text += f"{known.mark} is committed, but its checkpoint {what}"
    names = ("node", "key", "high_watermark", "log_end")
    yield Violation(text, [known.shown, {"what": "left", **{name: row[name] for name in names}}])


def _span(sent: pa.Table, at: int, what: str) -> dict[str, EventValue]:
    names = ["op_id", "key", "offset", "records", "node", "t0", "t1"]
    row: dict[str, EventValue] = sent.select(names).slice(at, 1).to_pylist()[0]
    return {"what": what, "t_ns": row.pop("t0"), "t1_ns": row.pop("t1"), **row}


# --- the clean-shutdown file ---


@check(
    "clean-stops-are-marked",
    applies=of_brokers,
    source="KIP-966, Detection of an unclean shutdown; LogManager.shutdown",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.TRACES),
)
def clean_stops_are_marked(evidence: Evidence) -> CheckResult:
    """A registered broker that stopped in good order leaves a clean-shutdown file in each of its
    log directories, all of one broker epoch, the one that it traced.

    Needs: disks, and the metadata log.

    Without the file, the broker returns as one that may have lost records, and is then in no ISR or
    ELR. A disk is not judged if a fault damages its synced bytes.
    """
    known = evidence.timeline.batches[-1].brokers if evidence.timeline else {}
    vouched = {
        life.node: max((line.epoch for line in life.processes[-1].events("b.life")), default=None)
        for life in evidence.lives
        if life.gap is None
    }
    stopped = [
        row
        for row in evidence.tables["disks"].to_pylist()
        if row["node"] in known and _may_be_judged(evidence, row["node"])
    ]
    violations = []
    for row in stopped:
        node, left = row["node"], row["clean_shutdown"]
        epoch = vouched.get(node)
        if left is None or (epoch is not None and left != epoch):
            what = "no clean-shutdown file" if left is None else f"one of broker epoch {left}"
            text = f"node {node} stopped in good order, in broker epoch "
            text += f"{known[node].epoch if epoch is None else epoch}, but its disk has {what}"
            shown = {name: row[name] for name in ("node", "directory", "clean_shutdown")}
            violations.append(Violation(text, [{"what": "its disk", **shown}]))
    return conclude(
        looked_at=len(stopped),
        unit="brokers that stopped in good order",
        violations=violations,
        needs="the brokers' disks, and the metadata log",
        holds="each left its clean-shutdown files",
        algorithm="clean-shutdown files against how each broker's last process ended",
        nothing="no registered broker stopped in good order" if evidence.timeline else "",
    )
