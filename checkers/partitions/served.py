"""What clients were told against the brokers' disks: P10, P13 and P17 of the invariants."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline
from checkers.evidence.kinds import Kind
from checkers.evidence.partition_logs import (
    Stretches,
    columns,
    split,
)
from checkers.partitions.held import NEED, Row, may_be_lost, replicas_by_key, sorted_out
from checkers.verdict import CheckResult, EventValue

_HISTORY = f"{NEED}, and what clients sent and polled"


@check(
    "P10-leaders-hold-acknowledged",
    applies=of_partition_logs,
    source="KIP-966 LeaderCompleteness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def leaders_hold_acknowledged(evidence: Evidence) -> CheckResult:
    """P10: who leads at the end holds every record that was acknowledged to acks=all.

    At its offset, value for value. After an election from outside ISR and ELR, or more losses than
    the ISR can bear, breaches are allowed. (KIP-966 LeaderCompleteness)
    """
    return _against_leaders(
        evidence,
        evidence.acknowledged,
        unit="acknowledged records",
        what="acknowledged",
        holds="each stands where it was acknowledged, at the last leader",
    )


@check(
    "P13-reads-are-stored",
    applies=of_partition_logs,
    source="KIP-966 ConsistentRead",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def reads_are_stored(evidence: Evidence) -> CheckResult:
    """P13: what a consumer was given at an offset stands there on the disk of the last leader.

    It neither changes nor vanishes while nobody is elected from outside ISR and ELR. (KIP-966
    ConsistentRead)
    """
    return _against_leaders(
        evidence,
        evidence.polled,
        unit="records that were read",
        what="read",
        holds="each stands where it was read, at the last leader",
    )


def _against_leaders(
    evidence: Evidence, spans: pa.Table, *, unit: str, what: str, holds: str
) -> CheckResult:
    found = evidence.timeline
    if found is None:
        return unread(unit, _HISTORY)
    logs, replicas = evidence.partition_logs, evidence.once(replicas_by_key)
    looked_at, gaps = 0, []
    breaches: list[tuple[str, Violation]] = []
    for (name,), part in sorted(split(spans, "key").items()):
        key = str(name)
        if len(found.topics.get(key.rpartition("-")[0], ())) > 1 or key not in found.partitions:
            continue  # deleted, and perhaps made anew: who knows which one an offset belongs to
        leader = found.last_leader(key)
        row = next((one for one in replicas.get(key, ()) if one["node"] == leader), None)
        if row is None or not row["whole"]:
            why = row["problem"] if row else "its disk does not have it"
            gaps.append(f"{key} cannot be read at its last leader, node {leader}: {why}")
            continue
        offset, value, records = columns(part, "offset", "value", "records")
        kept = offset >= row["log_start"]
        looked_at += int(records[kept].sum())
        log = logs.get((row["node"], key), _NOTHING)
        missing = kept & ~log.holds(offset, value, records)
        for at in np.flatnonzero(missing)[:1].tolist():
            others = int(np.count_nonzero(missing)) - 1
            breaches.append((key, _absent(part.slice(at, 1).to_pylist()[0], row, what, others)))
    accused, allowed = sorted_out(breaches, evidence.once(may_be_lost))
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=accused,
        needs=_HISTORY,
        holds=holds,
        algorithm="spans of the history against spans on the last leader's disk",
        nothing=f"there are no {unit}" if not spans.num_rows else "",
        gaps=gaps,
        allowed=allowed,
    )


_NOTHING = Stretches(
    offset=np.empty(0, np.int64), records=np.empty(0, np.int64), shift=np.empty(0, np.int64)
)


def _absent(span: dict[str, Any], row: Row, what: str, others: int) -> Violation:
    more = f" (and {others:,} more spans)" if others else ""
    text = (
        f"{span['key']}, offset {span['offset']}: {span['value']} was {what} and is not there on "
    )
    disk = {name: row[name] for name in ("node", "log_start", "log_end", "high_watermark")}
    names = ("op_id", "key", "offset", "value", "records")
    return Violation(
        f"{text}the disk of node {row['node']}, the last leader{more}",
        [
            {"what": what, **{name: span[name] for name in names}},
            {"what": "the last leader's log", **disk},
        ],
    )


@check(
    "P17-acknowledged-with-min-isr",
    applies=of_partition_logs,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS,),
)
def acknowledged_with_min_isr(evidence: Evidence) -> CheckResult:
    """P17: nothing is acknowledged to acks=all in a leader epoch whose ISR never had min ISR.

    The epoch of a record is that of its batch on a disk, the ISR all that the metadata log has in
    that epoch. What the ISR was at the very moment, nobody knows afterwards. (KIP-966)
    """
    found, sent = evidence.timeline, evidence.acknowledged
    if found is None:
        return unread("acknowledged spans", _HISTORY)
    looked_at, violations = 0, []
    stored = split(evidence.tables["replica_spans"], "key")
    for (name,), part in sorted(split(sent, "key").items()):
        key = str(name)
        if (key,) not in stored or len(found.topics.get(key.rpartition("-")[0], ())) > 1:
            continue
        epochs = _epochs_at(stored[key,], part)
        looked_at += int(np.count_nonzero(epochs >= 0))
        for epoch, largest, needed in _too_small(found, key):
            at = np.flatnonzero(epochs == epoch)
            if len(at):
                span = part.slice(int(at[0]), 1).to_pylist()[0]
                violations.append(_too_early(span, epoch, largest, needed))
    return conclude(
        looked_at=looked_at,
        unit="acknowledged spans",
        violations=violations,
        needs=_HISTORY,
        holds="each in a leader epoch whose ISR had min ISR at some time",
        algorithm="epochs of stored values, largest ISR of each epoch in the metadata log",
        nothing="nothing was acknowledged to acks=all" if not sent.num_rows else "",
    )


def _epochs_at(stored: pa.Table, sent: pa.Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The epoch of each span, by any disk that holds its first record; else -1."""
    epochs = np.full(sent.num_rows, -1, np.int64)
    offset, value = columns(sent, "offset", "value")
    for (number,), part in split(stored, "epoch").items():
        for log in split(part, "node").values():
            first, held, records = columns(log, "offset", "value", "records")
            at = np.searchsorted(first, offset, side="right") - 1
            inside = (at >= 0) & (offset < first[at] + records[at])
            epochs[inside & (held[at] - first[at] == value - offset)] = int(number)
    return epochs


def _too_small(found: Timeline, key: str) -> Iterator[tuple[int, int, int]]:
    """Leader epochs in which the ISR was always too small: epoch, largest ISR, lowest min ISR."""
    largest: dict[int, int] = {}
    needed: dict[int, int] = {}
    for change in found.history(key):
        if change.after is not None:
            epoch = change.after.leader_epoch
            largest[epoch] = max(largest.get(epoch, 0), len(change.after.isr))
            needed[epoch] = min(needed.get(epoch, change.min_isr), change.min_isr)
    for epoch, size in largest.items():
        if size < needed[epoch]:
            yield epoch, size, needed[epoch]


def _too_early(span: dict[str, Any], epoch: int, largest: int, needed: int) -> Violation:
    text = f"{span['key']}: offset {span['offset']} was acknowledged to acks=all in leader epoch "
    text += f"{epoch}, whose ISR never had more than {largest} of min ISR {needed}"
    shown: dict[str, EventValue] = {"what": "acknowledged", "epoch": epoch}
    return Violation(
        text, [shown | {name: span[name] for name in ("op_id", "key", "offset", "value")}]
    )
