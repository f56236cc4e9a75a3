"""Nothing is acknowledged to acks=all by too few: P17."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import Ints, IsrHistory, isr_histories
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.partitions.held import NEED
from checkers.partitions.leaders import names, state
from checkers.verdict import CheckResult

_HISTORY = f"{NEED}, the metadata log, and what clients sent"


@check(
    "P17-acknowledged-with-min-isr",
    applies=of_partition_logs,
    source="KIP-966",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES),
)
def acknowledged_with_min_isr(evidence: Evidence) -> CheckResult:
    """P17: nothing is acknowledged to acks=all while the ISR is smaller than min ISR.

    The leader epoch of a record is that of its batch on a disk. The states of the ISR that its
    leader may have known while the operation ran are those of that epoch in the metadata log: from
    the last one that the leader itself had told of before, to the last one that can have been
    committed by its end. In all of them the ISR was too small.
    """
    found = evidence.timeline
    if found is None:
        return unread("acknowledged spans", _HISTORY)
    looked_at, sent = 0, evidence.acknowledged
    violations: list[Violation] = []
    stored = split(evidence.tables["replica_spans"], "key")
    histories = evidence.once(isr_histories)
    for (name,), part in sorted(split(sent, "key").items()):
        key = str(name)
        if (key,) not in stored or key not in histories:
            continue
        epochs = _epochs_at(stored[key,], part)
        looked_at += int(np.count_nonzero(epochs >= 0))
        violations += _too_small(evidence, histories[key], part, epochs)
    return conclude(
        looked_at=looked_at,
        unit="acknowledged spans",
        violations=violations,
        needs=_HISTORY,
        holds="each while the ISR may have had min ISR",
        algorithm="states of the ISR that a leader may have known, by metadata log and probes",
        nothing="nothing was acknowledged to acks=all"
        if not evidence.acknowledged.num_rows
        else "",
    )


def _epochs_at(stored: pa.Table, sent: pa.Table) -> Ints:
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


# The image of a broker's metadata is put in place a moment before its partitions follow it.
_SETTLED_NS = 100_000_000


def _too_small(
    evidence: Evidence, history: IsrHistory, sent: pa.Table, epochs: Ints
) -> Iterator[Violation]:
    """Spans during which the ISR had min ISR in no state that the leader may have known."""
    ops = evidence.tables["ops"].take(sent["op_id"])
    t0, t1 = (ops[name].to_numpy() for name in ("t0", "t1"))
    of_epoch = np.array([one.leader_epoch for one in history.states], np.int64)
    size = np.array([len(one.isr) for one in history.states], np.int64)
    last = np.searchsorted(history.not_before, t1, side="right") - 1
    for epoch in np.unique(epochs[epochs >= 0]).tolist():
        states = np.flatnonzero(of_epoch == epoch)
        if not len(states):
            continue
        rows = np.flatnonzero(epochs == epoch)
        first = _known_before(history, history.states[states[0]].leader, t0[rows])
        low, high = np.maximum(first, states[0]), np.minimum(last[rows], states[-1])
        for begin, end in np.unique(np.stack([low, high], axis=1), axis=0).tolist():
            between = slice(begin, end + 1)
            if begin > end or size[between].max() >= history.min_isr[between].min():
                continue
            for at in rows[(low == begin) & (high == end)].tolist():
                yield _too_early(sent.slice(at, 1).to_pylist()[0], int(t0[at]), history, begin, end)


def _known_before(history: IsrHistory, leader: int, t0: Ints) -> Ints:
    """The state that a leader knew at least, by its own answers, when an operation was invoked."""
    told = history.told.get(leader)
    if told is None:
        return np.zeros(len(t0), np.int64)
    answered = np.maximum.accumulate(told.t1)
    place = np.searchsorted(answered, t0 - _SETTLED_NS, side="left") - 1
    return np.where(place >= 0, told.low[place], 0)


def _too_early(
    span: dict[str, Any], t0: int, history: IsrHistory, begin: int, end: int
) -> Violation:
    current, needed = history.states[end], int(history.min_isr[begin : end + 1].min())
    text = f"{span['key']}, offset {span['offset']}: acknowledged to acks=all by node "
    text += f"{current.leader} in epoch {current.leader_epoch}, while the ISR was "
    text += f"[{names(current.isr)}] and min ISR is {needed}"
    known = [
        {"what": "state of the ISR", "offset": int(history.offsets[at]), **state(one)}
        for at, one in enumerate(history.states[begin : end + 1], start=begin)
    ]
    sent = {name: span[name] for name in ("op_id", "key", "offset", "value", "records")}
    return Violation(text, [{"what": "acknowledged", "t_ns": t0, **sent}, *known])
