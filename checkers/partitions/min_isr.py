"""No record is acknowledged to acks=all by too small an ISR: P17."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import IsrHistory, isr_histories
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.history.payload import value_name
from checkers.partitions.held import NEED
from checkers.partitions.leaders import names, state
from checkers.verdict import CheckResult

_HISTORY = f"{NEED}, the metadata log, and what clients sent"
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
        return unread("acknowledged spans", _HISTORY)
    looked_at, sent = 0, evidence.acknowledged
    violations: list[Violation] = []
    stored = split(evidence.tables["replica_spans"], "key")
    histories = evidence.once(isr_histories)
    for (name,), part in sorted(split(sent, "key").items()):
        history = histories.get(str(name))
        if history is None:
            continue
        for known in _known(evidence, history, part, _epochs_at(stored.get((name,)), part)):
            looked_at += len(known.rows)
            violations += _too_small(history, part, known)
    return conclude(
        looked_at=looked_at,
        unit="acknowledged spans",
        violations=violations,
        needs=_HISTORY,
        holds="each while the ISR may have had min ISR",
        algorithm="states of the ISR that a leader may have known, by metadata log and probes",
        nothing="no record was acknowledged to acks=all"
        if not evidence.acknowledged.num_rows
        else "",
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
        yield _Known(
            states=states,
            rows=rows,
            t0=t0[rows],
            low=np.maximum(np.min(told, axis=0), states[0]),
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
