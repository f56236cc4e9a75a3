"""Answers of partition leaders: refusals are true by the metadata log when they are sent; no record
is shown that too few replicas have (P8)."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import NO_LEADER, Timeline
from checkers.evidence.isr_history import (
    FOREVER_NS,
    HIDDEN,
    LAG_NS,
    SETTLED_NS,
    IsrHistory,
    isr_histories,
)
from checkers.evidence.partition_logs import columns, split
from checkers.history.events import value_name
from checkers.partitions.leaders import names, state
from checkers.partitions.refused_offsets import Refused, judged, known_states, sums
from checkers.verdict import CheckResult

_TOO_FEW, _NO_LEADER = "NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"
_MIN_ISR = "min.insync.replicas"


@check(
    "too-few-replicas-are-too-few",
    applies=of_partition_logs,
    source="KIP-966; min.insync.replicas",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES),
)
def too_few_are_too_few(evidence: Evidence) -> CheckResult:
    """A broker answers NOT_ENOUGH_REPLICAS only if the ISR may have been smaller than min ISR.

    In one of the states of the ISR that a leader may have known while the operation ran (as for
    P17, plus two seconds for what it may not have heard of yet): an operation that is sent again is
    refused by the node that is asked last. Not judged if min ISR changed meanwhile.
    """
    return judged(evidence, _TOO_FEW, _no_state_is_too_small, holds="each may have been true")


@check(
    "leaders-do-not-deny-it",
    applies=of_partition_logs,
    source="KIP-500: a broker leads by the metadata that it has replayed",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES, Kind.FAULTS),
)
def leaders_do_not_deny_it(evidence: Evidence) -> CheckResult:
    """A broker that knew that it leads, and led in one epoch all along, does not answer
    NOT_LEADER_OR_FOLLOWER.

    It had answered that it leads two seconds before it was asked or earlier; in every state that
    can have been committed by the end of the operation it leads in the same epoch; and nothing had
    been wrong with any node since those two seconds. For operations that were sent once: for others
    it is unknown which node was asked last.
    """
    return judged(evidence, _NO_LEADER, _led_all_along, holds="each may have been true")


def _no_state_is_too_small(_: Evidence, found: Timeline, refused: Refused) -> NDArray[np.bool_]:
    history = refused.history
    if _changes_min_isr(found, refused.key, int(history.offsets[0])):
        return np.zeros(len(refused.t0), np.bool_)
    leads = np.array([one.leader != NO_LEADER for one in history.states])
    is_fine = np.array([len(one.isr) for one in history.states]) >= history.min_isr
    small, led = sums(leads & ~is_fine), sums(leads)
    low, high = known_states(refused, set(history.answered))
    untrue: NDArray[np.bool_] = (small[high + 1] == small[low]) & (led[high + 1] > led[low])
    untrue &= low != HIDDEN
    return untrue


def _changes_min_isr(found: Timeline, key: str, made: int) -> bool:
    """Whether min ISR changes after the batch in which the partition was created."""
    topic = key.rpartition("-")[0]
    after = min((batch.base for batch in found.batches if batch.base > made), default=made + 1)
    return any(
        each.offset >= after and each.of[2] == _MIN_ISR and each.of[1] in (topic, "")
        for each in found.settings
    )


def _led_all_along(evidence: Evidence, _: Timeline, refused: Refused) -> NDArray[np.bool_]:
    history, node = refused.history, refused.node
    told = history.answered.get(node)
    if told is None:
        return np.zeros(len(refused.t0), np.bool_)
    epochs = np.array([one.leader_epoch for one in history.states], np.int64)
    lacking = sums(np.array([one.leader != node for one in history.states]))
    low, high = known_states(refused, (node,))
    is_one_reign = (lacking[high + 1] == lacking[low]) & (epochs[low] == epochs[high])
    has_told = told.t1.min() < refused.t0 - LAG_NS - SETTLED_NS
    untrue: NDArray[np.bool_] = is_one_reign & has_told & (low != HIDDEN)
    untrue &= _sent_once(evidence, refused)
    return untrue & ~_hurt(evidence, refused)


def _sent_once(evidence: Evidence, refused: Refused) -> NDArray[np.bool_]:
    spans = evidence.tables["spans"]
    again = spans.filter(pc.or_kleene(pc.invert(spans["sent"]), spans["idempotent"]))["op_id"]
    sent_again: NDArray[np.bool_] = np.isin(refused.rows["op_id"].to_numpy(), again.to_numpy())
    return ~sent_again


def _hurt(evidence: Evidence, refused: Refused) -> NDArray[np.bool_]:
    """Was anything wrong with any node since `LAG_NS` before?"""
    hurt = np.zeros(len(refused.t0), np.bool_)
    for fault in evidence.faults:
        hurt |= (fault.t_start < refused.t1) & (refused.t0 - LAG_NS < fault.over_ns)
    return hurt


# P8, as clients see it: no record is shown to clients that too few replicas have.


_ISR_HISTORY = (
    "the metadata log, what brokers answered about partitions, and what clients sent and were given"
)

_NOT_GIVEN = "no consumer was given a record"
_UNTOLD = -1  # for a leader epoch: a library's consumer may not report it


@check(
    "P8-shown-with-min-isr",
    applies=of_partition_logs,
    source="KIP-966, Additional High Watermark advancement requirement; KAFKA-15583",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES),
)
def shown_with_min_isr(evidence: Evidence) -> CheckResult:
    """P8: No consumer is given a record, whatever acks it came with, while the ISR is smaller than
    min ISR.

    A high watermark rises only while the ISR has min.insync.replicas members. So the ISR was that
    large in at least one of the states in which it may have been, from before the record was sent
    until a consumer had it. The first of them is the one with which the leader of the record's
    epoch had answered before, the last one that can have been committed by then. A record of
    unknown sending time accuses no node. `withheld` are those that were answered while the ISR was
    too small, and given to a consumer later.
    """
    if evidence.timeline is None:
        return unread("given spans", _ISR_HISTORY)
    given, sent = split(evidence.polled, "key"), split(_sent(evidence), "key")
    looked_at = withheld = 0
    violations: list[Violation] = []
    for key, history in sorted(evidence.once(isr_histories).items()):
        if (key,) not in given or (key,) not in sent:
            continue
        shown = _shown(evidence, history, given[key,], sent[key,])
        looked_at += int((shown.low != HIDDEN).sum())
        withheld += int((shown.was_answered & _too_small(history, shown.low, shown.answered)).sum())
        early = np.flatnonzero(_too_small(history, shown.low, shown.high)).tolist()
        violations += [_too_early(history, given[key,], shown, at) for at in early]
    result = conclude(
        looked_at=looked_at,
        unit="sends that a consumer was given",
        violations=violations,
        needs=_ISR_HISTORY,
        holds="each after the ISR may have had min ISR",
        algorithm="states of the ISR from each send to each poll, by metadata log and probes",
        nothing=evidence.below_snapshots if evidence.polled.num_rows else _NOT_GIVEN,
    )
    return replace(result, facts={"withheld": withheld})


def _sent(evidence: Evidence) -> pa.Table:
    spans = evidence.tables["spans"]
    return spans.filter(spans["sent"])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """Each time that a send was given to a consumer: the poll's row, when it was sent and given,
    and the states of the ISR: the first possible one, the last one by which the send was answered,
    if it ever was, and the last one by which the record was given."""

    rows: Ints
    t0: Ints
    t1: Ints
    low: Ints
    was_answered: NDArray[np.bool_]
    answered: Ints
    high: Ints


def _shown(evidence: Evidence, history: IsrHistory, given: pa.Table, sent: pa.Table) -> _Shown:
    ops = evidence.tables["ops"]
    (t1,) = columns(ops.take(given["op_id"]), "t1")
    sent = sent.sort_by("value")
    sending = ops.take(sent["op_id"])
    (t0,) = columns(sending, "t0")
    answered = sending["t1"].fill_null(FOREVER_NS).to_numpy()
    (written,) = columns(sent, "value")
    value, records = columns(given, "value", "records")
    epoch = given["epoch"].fill_null(_UNTOLD).to_numpy().astype(np.int64)
    begin, end = np.searchsorted(written, value), np.searchsorted(written, value + records)
    rows = np.repeat(np.arange(len(value)), end - begin)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(end - begin) - (end - begin), end - begin)
    sends = np.repeat(begin, end - begin) + within
    return _Shown(
        rows=rows,
        t0=t0[sends],
        t1=t1[rows],
        low=_first_states(history, epoch[rows], t0[sends]),
        was_answered=answered[sends] < FOREVER_NS,
        answered=history.last_by(answered[sends]),
        high=history.last_by(t1[rows]),
    )


def _first_states(history: IsrHistory, epoch: Ints, t0: Ints) -> Ints:
    """The states that the leader of an epoch may have known when it got a record that was sent at
    `t0`."""
    of_epoch = np.array([one.leader_epoch for one in history.states], np.int64)
    low = np.full(len(t0), history.first, np.int64)
    for number in np.unique(epoch).tolist():
        led = np.flatnonzero(of_epoch == number)
        if len(led):
            mine = epoch == number
            known = history.known_before(history.states[led[0]].leader, t0[mine])
            # The epoch of the first state may have begun in one that is hidden.
            low[mine] = known if led[0] == 0 else np.maximum(known, led[0])
    return low


def _too_small(history: IsrHistory, low: Ints, high: Ints) -> NDArray[np.bool_]:
    """Whether the ISR had min ISR in no state from `low` to `high`; HIDDEN ones may have had."""
    size = np.array([len(one.isr) for one in history.states], np.int64)
    pairs, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    found = [
        begin != HIDDEN
        and size[begin : max(begin, end) + 1].max()
        < history.min_isr[begin : max(begin, end) + 1].min()
        for begin, end in pairs.tolist()
    ]
    return np.array(found, np.bool_)[which.reshape(-1)]


def _too_early(history: IsrHistory, given: pa.Table, shown: _Shown, at: int) -> Violation:
    low, high = int(shown.low[at]), int(shown.high[at])
    between = np.arange(low, max(low, high) + 1)
    span = given.slice(int(shown.rows[at]), 1).to_pylist()[0]
    current, needed = history.states[between[-1]], int(history.min_isr[between].min())
    text = f"{span['key']}, offset {span['offset']}: given to a consumer, but since it was sent "
    text += f"the ISR was [{names(current.isr)}]; min ISR is {needed}"
    polled = {name: span[name] for name in ("op_id", "key", "offset", "records")}
    polled["value"] = value_name(span["value"])
    known = [
        {
            "what": "state of the ISR",
            "offset": int(history.offsets[one]),
            **state(history.states[one]),
        }
        for one in between.tolist()
    ]
    times = [
        {"what": "sent", "t_ns": int(shown.t0[at])},
        {"what": "given", "t_ns": int(shown.t1[at]), **polled},
    ]
    return Violation(text, [*times, *known])
