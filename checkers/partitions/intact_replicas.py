"""Replicas on disks can be read, and the checkpoints beside them agree with them: any target."""

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_partitions
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
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
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.evidence.promised import topic_of
from checkers.partitions.held import NEED, ReplicaRow
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
