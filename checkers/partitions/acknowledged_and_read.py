"""Answers to clients, against the brokers' disks: P10, P13, P17, and P18 for acknowledged
records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Timeline
from checkers.evidence.isr_history import HIDDEN, IsrHistory, isr_histories
from checkers.evidence.log_starts import AskedStarts
from checkers.evidence.partition_logs import Stretches, columns, split
from checkers.history.events import value_name
from checkers.partitions.leaders import names, state
from checkers.partitions.replica_agreement import (
    NEED,
    Breach,
    ReplicaRow,
    replicas_by_key,
    sorted_out,
)
from checkers.verdict import CheckResult

_HISTORY = f"{NEED}, and what clients sent and polled"


@check(
    "P10-leaders-hold-acknowledged",
    applies=of_partition_logs,
    source="KIP-966 LeaderCompleteness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def leaders_hold_acknowledged(evidence: Evidence) -> CheckResult:
    """P10: The last leader of a partition holds every record that was acknowledged to acks=all.

    At its offset, value for value, except for records that were asked to be deleted
    (`evidence.log_starts`). After an unclean election that was asked for, or more losses than the
    ISR can bear, breaches are allowed. Records below a log's start are given to no consumer.
    (KIP-966 LeaderCompleteness)
    """
    return _against_disks(
        evidence,
        evidence.acknowledged,
        _LEADERS,
        unit="acknowledged records",
        what="acknowledged",
        holds="each is where it was acknowledged, on the last leader",
    )


@check(
    "P18-acknowledged-everywhere",
    applies=of_partition_logs,
    source="KIP-966 liveness",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def acknowledged_everywhere(evidence: Evidence) -> CheckResult:
    """P18: Once the cluster is healed, every replica holds the records that were acknowledged to
    acks=all.

    At their offsets, value for value, except for records that were asked to be deleted.
    `recovers-when-healed` judges whether the cluster heals. Breaches are allowed as those of P10.
    (KIP-966 liveness)
    """
    is_whole = evidence.info.finished and not evidence.info.stuck
    return _against_disks(
        evidence,
        evidence.acknowledged if is_whole else evidence.acknowledged.slice(0, 0),
        _REPLICAS,
        unit="copies of acknowledged records" if is_whole else "replicas that were whole again",
        what="acknowledged",
        holds="each is where it was acknowledged, on every replica",
    )


@check(
    "P13-reads-are-stored",
    applies=of_partition_logs,
    source="KIP-966 ConsistentRead",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_LOGS, Kind.FAULTS),
)
def reads_are_stored(evidence: Evidence) -> CheckResult:
    """P13: A record that a consumer was given is on the disk of the last leader, at the same
    offset.

    It neither changes nor vanishes unless an unclean election was asked for. (KIP-966
    ConsistentRead)
    """
    return _against_disks(
        evidence,
        evidence.polled,
        _LEADERS,
        unit="records that were read",
        what="read",
        holds="each is where it was read, on the last leader",
    )


class _Keepers(NamedTuple):
    """The nodes with the disks to look at: their name in messages, and their ids at the end."""

    name: str
    nodes: Callable[[Timeline, str], Sequence[int]]


_LEADERS = _Keepers("the last leader", lambda found, key: (found.last_leader(key),))
_REPLICAS = _Keepers("a replica", lambda found, key: found.partitions[key].replicas)


def _against_disks(
    evidence: Evidence, spans: pa.Table, keepers: _Keepers, *, unit: str, what: str, holds: str
) -> CheckResult:
    found = evidence.timeline
    if found is None:
        return unread(unit, _HISTORY)
    logs, replicas = evidence.partition_logs, evidence.once(replicas_by_key)
    asked = evidence.once(AskedStarts)
    looked_at, gaps = 0, []
    breaches: list[Breach] = []
    began = evidence.tables["ops"]["t0"].to_numpy()
    for (name,), part in sorted(split(spans, "key").items()):
        key = str(name)
        if len(found.topics.get(key.rpartition("-")[0], ())) > 1 or key not in found.partitions:
            # deleted, and perhaps created again: it is unknown which of the two an offset belongs
            # to
            continue
        offset, value, records = columns(part, "offset", "value", "records")
        for node in keepers.nodes(found, key):
            row = next((one for one in replicas.get(key, ()) if one["node"] == node), None)
            if row is None or not row["whole"]:
                why = row["problem"] if row else "its disk does not have it"
                gaps.append(f"{key} cannot be read at {keepers.name}, node {node}: {why}")
                continue
            start = min(row["log_start"], asked.at_the_end(key))
            # for each span, how many records may be gone
            before = np.clip(start - offset, 0, records)
            left = records - before
            looked_at += int(left.sum())
            log = logs.get((row["node"], key), _NOTHING)
            held = log.holds(offset + before, value + before, left)
            missing = (left > 0) & ~(held & (offset + before >= row["log_start"]))
            for at in np.flatnonzero(missing).tolist():
                span = part.slice(at, 1).to_pylist()[0]
                absent = _absent(span, row, what, keepers)
                breaches.append(Breach(key, int(began[span["op_id"]]), absent))
    sorted_breaches = sorted_out(evidence, breaches)
    return conclude(
        looked_at=looked_at,
        unit=unit,
        violations=sorted_breaches.accused,
        needs=_HISTORY,
        holds=holds,
        algorithm=f"spans of the history against spans on the disk of {keepers.name}",
        nothing=f"there are no {unit}" if not spans.num_rows else "",
        gaps=[*gaps, *sorted_breaches.undecided],
        allowed=sorted_breaches.allowed,
    )


_NOTHING = Stretches(
    offset=np.empty(0, np.int64), records=np.empty(0, np.int64), shift=np.empty(0, np.int64)
)


def _absent(span: dict[str, Any], row: ReplicaRow, what: str, keepers: _Keepers) -> Violation:
    value = value_name(span["value"])
    text = f"{span['key']}, offset {span['offset']}: {value} was {what} and is missing on "
    disk = {name: row[name] for name in ("node", "log_start", "log_end", "high_watermark")}
    names = ("op_id", "key", "offset", "records")
    return Violation(
        f"{text}the disk of node {row['node']}, {keepers.name}",
        [
            {"what": what, **{name: span[name] for name in names}, "value": value},
            {"what": f"the log of {keepers.name}", **disk},
        ],
    )


# P17: no record is acknowledged to acks=all by too small an ISR.


_MIN_ISR_HISTORY = f"{NEED}, the metadata log, and what clients sent"
_ON_NO_DISK = -1  # for a leader epoch
_ANY = -1  # for a node: a library chose it, or the epoch determines it


@check(
    "P17-acknowledged-with-min-isr",
    applies=of_partition_logs,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES),
)
def acknowledged_with_min_isr(evidence: Evidence) -> CheckResult:
    """P17: No record is acknowledged to acks=all while the ISR is smaller than min ISR.

    Judged by the states of the ISR that the leader may have known while the operation ran: from the
    last one that it had answered with before, to the last one that can have been committed by the
    end. If a disk holds the record, they are those of its batch's leader epoch; if none does any
    more, those in which the acknowledging node led, or all if a library does not name it. In each
    of them the ISR was too small.
    """
    found = evidence.timeline
    if found is None:
        return unread("acknowledged spans", _MIN_ISR_HISTORY)
    looked_at, sent = 0, evidence.acknowledged
    violations: list[Violation] = []
    stored = split(evidence.tables["replica_spans"], "key")
    histories = evidence.once(isr_histories)
    for (name,), part in sorted(split(sent, "key").items()):
        history = histories.get(str(name))
        if history is None:
            continue
        for known in _known(evidence, history, part, _epochs_at(stored.get((name,)), part)):
            looked_at += int((known.low != HIDDEN).sum())
            violations += _too_small(history, part, known)
    return conclude(
        looked_at=looked_at,
        unit="acknowledged spans",
        violations=violations,
        needs=_MIN_ISR_HISTORY,
        holds="each while the ISR may have had min ISR",
        algorithm="states of the ISR that a leader may have known, by metadata log and probes",
        nothing=evidence.below_snapshots
        if evidence.acknowledged.num_rows
        else "no record was acknowledged to acks=all",
    )


def _epochs_at(stored: pa.Table | None, sent: pa.Table) -> Ints:
    """The epoch of each span, by any disk that holds its first record; else `_ON_NO_DISK`."""
    epochs = np.full(sent.num_rows, _ON_NO_DISK, np.int64)
    if stored is None:
        return epochs
    offset, value = columns(sent, "offset", "value")
    for (number,), part in split(stored, "epoch").items():
        for log in split(part, "node").values():
            first, held, records = columns(log, "offset", "value", "records")
            at = np.searchsorted(first, offset, side="right") - 1
            inside = (at >= 0) & (offset < first[at] + records[at])
            epochs[inside & (held[at] - first[at] == value - offset)] = int(number)
    return epochs


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Spans of one leader: `states` are the indices in the history at which it led; for each of the
    `rows` it may have known those from `low` to `high`."""

    states: Ints
    rows: Ints
    t0: Ints
    low: Ints
    high: Ints
    on_a_disk: bool


def _known(
    evidence: Evidence, history: IsrHistory, sent: pa.Table, epochs: Ints
) -> Iterator[_Known]:
    """By the leader epoch on a disk, or by the node that acknowledged."""
    ops = evidence.tables["ops"].take(sent["op_id"])
    t0, t1, node = columns(ops, "t0", "t1", "node")
    leaders = np.array([one.leader for one in history.states], np.int64)
    of_epoch = np.array([one.leader_epoch for one in history.states], np.int64)
    last = history.last_by(t1)
    node = np.where(epochs == _ON_NO_DISK, node, _ANY)
    for epoch, acknowledging in np.unique(np.stack([epochs, node], axis=1), axis=0).tolist():
        led = of_epoch == epoch if epoch != _ON_NO_DISK else _led_by(leaders, acknowledging)
        states = np.flatnonzero(led)
        if not len(states):
            continue
        rows = np.flatnonzero((epochs == epoch) & (node == acknowledging))
        told = [history.known_before(leader, t0[rows]) for leader in set(leaders[states])]
        low = np.min(told, axis=0)
        yield _Known(
            states=states,
            rows=rows,
            t0=t0[rows],
            low=low if epoch == _ON_NO_DISK or not states[0] else np.maximum(low, states[0]),
            high=np.minimum(last[rows], states[-1]),
            on_a_disk=epoch != _ON_NO_DISK,
        )


def _led_by(leaders: Ints, node: int) -> NDArray[np.bool_]:
    return np.full(len(leaders), fill_value=True) if node == _ANY else leaders == node


def _too_small(history: IsrHistory, sent: pa.Table, known: _Known) -> Iterator[Violation]:
    """Spans during which the ISR had min ISR in no state that the leader may have known."""
    size = np.array([len(one.isr) for one in history.states], np.int64)
    low, high = known.low, known.high
    for begin, end in np.unique(np.stack([low, high], axis=1), axis=0).tolist():
        if begin == HIDDEN:
            continue
        between = known.states[(known.states >= begin) & (known.states <= end)]
        if not len(between) or size[between].max() >= history.min_isr[between].min():
            continue
        for at in np.flatnonzero((low == begin) & (high == end)).tolist():
            span = sent.slice(int(known.rows[at]), 1).to_pylist()[0]
            yield _too_early(span, int(known.t0[at]), history, between, known.on_a_disk)


def _too_early(
    span: dict[str, Any], t0: int, history: IsrHistory, between: Ints, on_a_disk: bool
) -> Violation:
    current, needed = history.states[between[-1]], int(history.min_isr[between].min())
    text = f"{span['key']}, offset {span['offset']}: acknowledged to acks=all by node "
    text += f"{current.leader} in epoch {current.leader_epoch}, while the ISR was "
    text += f"[{names(current.isr)}] and min ISR is {needed}"
    text += "" if on_a_disk else "; it is on no disk any more"
    known = [
        {
            "what": "state of the ISR",
            "offset": int(history.offsets[at]),
            **state(history.states[at]),
        }
        for at in between.tolist()
    ]
    sent = {name: span[name] for name in ("op_id", "key", "offset", "records")}
    sent["value"] = value_name(span["value"])
    return Violation(text, [{"what": "acknowledged", "t_ns": t0, **sent}, *known])
