"""Replicas of a partition against one another: P9 and P11.

The true high watermark of a partition is the highest that any leader published: those in replicas'
checkpoints and in answers to consumers are lower bounds of it, and so is the end of what was
acknowledged to acks=all.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_partitions
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Timeline
from checkers.evidence.isr_history import FOREVER_NS
from checkers.evidence.log_starts import AskedStarts
from checkers.evidence.loss_budget import UNDECIDED, loss_budget
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.promised import topic_of
from checkers.verdict import CheckResult, EventValue

NEED = "the partitions on the brokers' disks"
_PLACE = ("base_offset", "last_offset", "epoch", "crc")  # batches are compared by these
_BATCH = ["node", "directory", "key", *_PLACE, "crc_ok"]

ReplicaRow = dict[str, Any]  # of REPLICAS


class Breach(NamedTuple):
    """A broken promise about a partition, and since when, in ns; 0: unknown."""

    key: str
    since_ns: int
    violation: Violation


class SortedOut(NamedTuple):
    """Breaches by kind: accusations, allowed ones, or (in words) undecided ones."""

    accused: list[Violation]
    allowed: list[Violation]
    undecided: list[str]


def sorted_out(evidence: Evidence, breaches: Sequence[Breach]) -> SortedOut:
    """Losses beyond the budget, or by an unclean election that was asked for, are allowed."""
    outside = evidence.once(_elected_uncleanly)
    budget = evidence.once(loss_budget)
    found = SortedOut([], [], [])
    for key, since_ns, violation in breaches:
        since = np.zeros(1, np.int32), np.array([since_ns]), np.array([FOREVER_NS])
        why = "a leader was elected uncleanly, as was asked for" if key in outside else ""
        if not why and budget.allows([key], *since)[0]:
            why = "min ISR of its replicas or more were shut down uncleanly, and bytes lost"
        if why:
            found.allowed.append(Violation(f"{violation.message}: {why}", violation.witness))
        elif budget.may_allow([key], *since)[0]:
            found.undecided.append(f"{violation.message}; whether that is allowed: {UNDECIDED}")
        else:
            found.accused.append(violation)
    return found


def _elected_uncleanly(evidence: Evidence) -> frozenset[str]:
    """Partitions that had a leader from neither the ISR nor the ELR, where that was asked for.

    Losses by a last known leader are for the budget to allow: it may lead if no other replica is
    eligible any more (KIP-966, part one).
    """
    changes = evidence.timeline.changes() if evidence.timeline else ()
    return frozenset(c.partition.key for _, c in changes if c.elected_outside and c.unclean)


def replicas_by_key(evidence: Evidence) -> Mapping[str, list[ReplicaRow]]:
    """The replicas on the disks, without those of topics that were deleted or created again."""
    found = evidence.timeline
    by_key: dict[str, list[ReplicaRow]] = defaultdict(list)
    for row in evidence.tables["replicas"].to_pylist():
        known = found.partitions.get(row["key"]) if found else None
        if found is None or (known is not None and row["topic_id"] in (None, known.topic_id)):
            by_key[row["key"]].append(row)
    return by_key


# --- P11 ---


@check(
    "P11-replicas-agree",
    applies=of_partitions,
    source="KIP-966 LogMatching",
    rests_on=(Kind.PARTITION_LOGS, Kind.METADATA_LOGS, Kind.FAULTS),
)
def replicas_agree(evidence: Evidence) -> CheckResult:
    """P11: Below both their high watermarks, two replicas hold the same batches.

    The same offsets, epochs and CRCs, from the log start of the later one, which is no later than
    was asked for (`evidence.log_starts`). High watermarks are those of the checkpoints on the
    disks; for a running member of the ISR or ELR (P9) it is the highest of any leader, whatever its
    checkpoint says. Topics for which compaction was asked are left out: each replica cleans on its
    own. After an unclean election that was asked for, or more losses than the ISR can bear,
    breaches are allowed. (KIP-966 LogMatching)
    """
    asked = evidence.once(AskedStarts)
    tables = split(evidence.tables["replica_batches"].select(_BATCH), "node", "directory", "key")
    marks, eligible = evidence.once(true_high_watermarks), evidence.once(_eligible)
    looked_at = compared = 0
    breaches: list[Breach] = []
    for key, rows in sorted(evidence.once(replicas_by_key).items()):
        if evidence.promised.is_compacted(topic_of(key)):
            continue
        compared += len(rows) > 1 and all(row["whole"] for row in rows)
        ends = {id(row): _committed_end(row, marks.get(key, 0), eligible) for row in rows}
        for one, two in combinations(rows, 2):
            end = min(ends[id(one)], ends[id(two)])
            start = min(max(one["log_start"], two["log_start"]), asked.at_the_end(key))
            logs = [_batches(tables.get(_place(row)), start, end) for row in (one, two)]
            looked_at += end > start
            breaches += _differences(key, one, two, *logs)
    sorted_breaches = sorted_out(evidence, breaches)
    alone = evidence.info.settings.get("replication") == "1"
    below = "no record is below the high watermarks that two replicas left"
    return conclude(
        looked_at=looked_at,
        unit="pairs of replicas",
        violations=sorted_breaches.accused,
        needs=NEED,
        holds="each pair holds the same below both high watermarks",
        algorithm="batches by offset, epoch and CRC, below the lower checkpoint",
        allowed=sorted_breaches.allowed,
        gaps=sorted_breaches.undecided,
        nothing="each partition has one replica" if alone else below if compared else "",
    )


def _committed_end(row: ReplicaRow, mark: int, eligible: Collection[tuple[int, str]]) -> int:
    """The offset up to which a replica's log is known to be committed."""
    told, end = int(row["high_watermark"] or 0), int(row["log_end"])
    return max(told, min(mark, end)) if (row["node"], row["key"]) in eligible else told


def _place(row: ReplicaRow) -> tuple[int | str, ...]:
    return row["node"], row["directory"], row["key"]


def _batches(table: pa.Table | None, start: int, end: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """One row per complete batch with a record between two offsets: base, last, epoch, CRC."""
    if table is None:
        return np.empty((0, 4), np.int64)
    whole = table.filter(table["crc_ok"])
    found = np.stack(columns(whole, *_PLACE), axis=1)
    return found[(found[:, 1] >= start) & (found[:, 1] < end)]


def _differences(
    key: str,
    one: ReplicaRow,
    two: ReplicaRow,
    mine: np.ndarray[Any, Any],
    other: np.ndarray[Any, Any],
) -> Iterator[Breach]:
    """The first batch in which two logs differ, or which one of them lacks."""
    common = min(len(mine), len(other))
    differ = np.flatnonzero((mine[:common] != other[:common]).any(axis=1))
    if not len(differ) and len(mine) == len(other):
        return
    at = int(differ[0]) if len(differ) else common
    shown = [
        _on_disk(row, batches[at] if at < len(batches) else None)
        for row, batches in ((one, mine), (two, other))
    ]
    offset = min(int(batches[at][0]) for batches in (mine, other) if at < len(batches))
    text = f"{key}: nodes {one['node']} and {two['node']} differ at offset {offset}, below both "
    yield Breach(key, 0, Violation(f"{text}high watermarks", shown))


def _on_disk(row: ReplicaRow, batch: np.ndarray[Any, Any] | None) -> dict[str, EventValue]:
    told = {name: row[name] for name in ("node", "key", "high_watermark", "log_end", "problem")}
    if batch is None:
        return {"what": "has no batch there", **told}
    base, last, epoch, crc = (int(number) for number in batch)
    return {"what": "has", **told, "offset": base, "last": last, "epoch": epoch, "crc": crc}


# --- P9 ---


@check(
    "P9-eligible-hold-all",
    applies=of_partitions,
    source="KIP-966 LeaderCandidateCompleteness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def eligible_hold_all(evidence: Evidence) -> CheckResult:
    """P9: At the end, every running member of an ISR or ELR holds all records below the high
    watermark, except those that were asked to be deleted.

    It could lead next. A broker is running if it is registered and not fenced, or was shut down
    cleanly. `evidence.log_starts` says what was asked to be deleted. (KIP-966
    LeaderCandidateCompleteness)
    """
    asked = evidence.once(AskedStarts)
    found = evidence.timeline
    if found is None:
        return unread("replicas in ISR or ELR", NEED)
    eligible = evidence.once(_eligible)
    marks, looked_at, idle = evidence.once(true_high_watermarks), 0, 0
    breaches: list[Breach] = []
    for key, rows in sorted(evidence.once(replicas_by_key).items()):
        partition, mark = found.partitions.get(key), marks.get(key)
        if partition is None or mark is None:
            continue
        for row in rows:
            if row["node"] not in (*partition.isr, *partition.elr):
                continue
            if (row["node"], key) not in eligible:
                idle += 1
                continue
            looked_at += 1
            if row["log_end"] < mark:
                breaches.append(Breach(key, 0, _short(row, mark)))
            elif row["log_start"] > asked.at_the_end(key):
                breaches.append(Breach(key, 0, _begun_late(row, asked.at_the_end(key))))
    sorted_breaches = sorted_out(evidence, breaches)
    return conclude(
        looked_at=looked_at,
        unit="replicas in ISR or ELR",
        violations=sorted_breaches.accused,
        needs=NEED,
        holds="each holds all records ever below its partition's high watermark",
        algorithm="log ends against the highest of checkpoints, answers and acknowledgements",
        allowed=sorted_breaches.allowed,
        gaps=sorted_breaches.undecided,
        nothing="no member of an ISR or ELR runs" if idle else "",
    )


def _eligible(evidence: Evidence) -> frozenset[tuple[int, str]]:
    """Running nodes, with the partitions that have them in the ISR or ELR at the end."""
    found = evidence.timeline
    running = _running(evidence, found) if found else set()
    partitions = found.partitions.values() if found else ()
    return frozenset(
        (node, one.key) for one in partitions for node in (*one.isr, *one.elr) if node in running
    )


def _running(evidence: Evidence, found: Timeline) -> set[int]:
    brokers = found.batches[-1].brokers if found.batches else {}
    clean = {row["node"]: row["clean_shutdown"] for row in evidence.tables["disks"].to_pylist()}
    return {node for node, one in brokers.items() if not one.fenced or clean.get(node) == one.epoch}


def _short(row: ReplicaRow, mark: int) -> Violation:
    text = f"{row['key']}: node {row['node']} may lead but its log ends at {row['log_end']}, below "
    return Violation(f"{text}the high watermark {mark}", [{"what": "may lead", **_shown(row)}])


def _begun_late(row: ReplicaRow, asked: int) -> Violation:
    text = f"{row['key']}: node {row['node']} may lead but its log begins at {row['log_start']}; "
    text += f"no record from {asked} on was asked to be deleted"
    return Violation(text, [{"what": "may lead", **_shown(row)}])


def _shown(row: ReplicaRow) -> dict[str, EventValue]:
    names = ("node", "key", "log_start", "log_end", "high_watermark", "problem")
    return {name: row[name] for name in names}


def true_high_watermarks(evidence: Evidence) -> dict[str, int]:
    """The highest offset of each partition that a leader is known to have committed."""
    found: dict[str, int] = {}
    spans, sent = evidence.polled, evidence.acknowledged
    ends = pc.add(sent["offset"], sent["records"].cast(pa.int64()))
    told = [
        (evidence.tables["replicas"]["key"], evidence.tables["replicas"]["high_watermark"]),
        (spans["key"], spans["high_watermark"]),
        (sent["key"], ends),
    ]
    for keys, marks in told:
        highest = pa.table({"key": keys, "mark": marks}).group_by("key")
        for row in highest.aggregate([("mark", "max")]).to_pylist():
            if row["mark_max"] is not None:
                found[row["key"]] = max(found.get(row["key"], 0), row["mark_max"])
    return found
