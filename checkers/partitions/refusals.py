"""What leaders of partitions refuse, against the metadata log: each refusal is true when it is
said."""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import check, of_partition_logs
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER, Timeline
from checkers.evidence.isr_history import LAG_NS, SETTLED_NS, IsrHistory, isr_histories
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.partitions.held import NEED
from checkers.partitions.leaders import names, state
from checkers.verdict import CheckResult

_TOO_FEW, _NO_LEADER = "NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"
_MIN_ISR = "min.insync.replicas"
_HISTORY = f"{NEED}, the metadata log, and what clients sent"


class _Refused(NamedTuple):
    """Refusals of one partition, where `node` was asked first."""

    key: str
    node: int
    rows: pa.Table
    t0: Ints
    t1: Ints
    history: IsrHistory


@check(
    "too-few-replicas-are-too-few",
    applies=of_partition_logs,
    source="KIP-966; min.insync.replicas",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES),
)
def too_few_are_too_few(evidence: Evidence) -> CheckResult:
    """NOT_ENOUGH_REPLICAS is said only where the ISR may have been smaller than min ISR.

    In one of the states of the ISR that a leader may have known while the operation ran (as P17 has
    them, with two seconds more for what it may not have heard of yet): one that is sent again and
    again is refused by whoever is asked last. Not judged where min ISR was changed meanwhile.
    """
    return _judged(evidence, _TOO_FEW, _no_state_is_too_small, holds="each may have been true")


@check(
    "leaders-do-not-deny-it",
    applies=of_partition_logs,
    source="KIP-500: a broker leads by the metadata that it has replayed",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES, Kind.FAULTS),
)
def leaders_do_not_deny_it(evidence: Evidence) -> CheckResult:
    """NOT_LEADER_OR_FOLLOWER is not said by a broker that knew, and led in one epoch all along.

    It had told itself that it leads, two seconds before it was asked or earlier; in no state that
    can have been committed by the end of the operation does it lead no more, or in another epoch;
    and nothing had been wrong with any node since those two seconds. Of operations that were sent
    once: of others nobody knows who was asked last.
    """
    return _judged(evidence, _NO_LEADER, _led_all_along, holds="each may have been true")


_Untrue = Callable[[Evidence, Timeline, _Refused], NDArray[np.bool_]]


def _judged(evidence: Evidence, error: str, untrue: _Untrue, *, holds: str) -> CheckResult:
    found = evidence.timeline
    if found is None:
        return unread("refusals", _HISTORY)
    looked_at = 0
    violations: list[Violation] = []
    for refused in _refusals(evidence, error):
        looked_at += refused.rows.num_rows
        false = untrue(evidence, found, refused)
        violations += [_told(refused, error, at) for at in np.flatnonzero(false).tolist()]
    return conclude(
        looked_at=looked_at,
        unit=f"answers of {error}",
        violations=violations,
        needs=_HISTORY,
        holds=holds,
        algorithm="states of a partition that a leader may have known, by metadata log and probes",
        nothing=f"no node said {error} to a client",
    )


def _refusals(evidence: Evidence, error: str) -> Iterator[_Refused]:
    ops = evidence.tables["ops"]
    said = ops.filter(pc.and_(pc.equal(ops["f"], "send"), pc.equal(ops["error"], error)))
    said = said.filter(pc.and_(said["t1"].is_valid(), pc.greater_equal(said["node"], 0)))
    histories = evidence.once(isr_histories)
    for (name, node), rows in sorted(split(said, "key", "node").items()):
        history = histories.get(str(name))
        if history is not None:
            t0, t1 = columns(rows, "t0", "t1")
            yield _Refused(str(name), int(node), rows, t0, t1, history)


def _no_state_is_too_small(_: Evidence, found: Timeline, refused: _Refused) -> NDArray[np.bool_]:
    history = refused.history
    if _changes_min_isr(found, refused.key, int(history.offsets[0])):
        return np.zeros(len(refused.t0), np.bool_)
    leads = np.array([one.leader != NO_LEADER for one in history.states])
    is_fine = np.array([len(one.isr) for one in history.states]) >= history.min_isr
    small, led = _sums(leads & ~is_fine), _sums(leads)
    low, high = _known(refused, set(history.told))
    untrue: NDArray[np.bool_] = (small[high + 1] == small[low]) & (led[high + 1] > led[low])
    return untrue


def _known(refused: _Refused, nodes: Collection[int]) -> tuple[Ints, Ints]:
    """The first and the last state that any of these may have gone by."""
    history, before = refused.history, refused.t0 - LAG_NS
    known = [history.known_before(node, before) for node in nodes]
    low: Ints = np.min(known, axis=0) if known else np.zeros(len(before), np.int64)
    return low, np.maximum(history.last_by(refused.t1), low)


def _sums(these: NDArray[np.bool_]) -> Ints:
    """How many of the first so many."""
    sums: Ints = np.concatenate([[0], np.cumsum(these)])
    return sums


def _changes_min_isr(found: Timeline, key: str, made: int) -> bool:
    """After the batch in which the partition was made."""
    topic = key.rpartition("-")[0]
    after = min((batch.base for batch in found.batches if batch.base > made), default=made + 1)
    return any(
        each.offset >= after and each.of[2] == _MIN_ISR and each.of[1] in (topic, "")
        for each in found.settings
    )


def _led_all_along(evidence: Evidence, _: Timeline, refused: _Refused) -> NDArray[np.bool_]:
    history, node = refused.history, refused.node
    told = history.told.get(node)
    if told is None:
        return np.zeros(len(refused.t0), np.bool_)
    epochs = np.array([one.leader_epoch for one in history.states], np.int64)
    lacking = _sums(np.array([one.leader != node for one in history.states]))
    low, high = _known(refused, (node,))
    is_one_reign = (lacking[high + 1] == lacking[low]) & (epochs[low] == epochs[high])
    has_told = told.t1.min() < refused.t0 - LAG_NS - SETTLED_NS
    untrue: NDArray[np.bool_] = is_one_reign & has_told & _sent_once(evidence, refused)
    return untrue & ~_hurt(evidence, refused)


def _sent_once(evidence: Evidence, refused: _Refused) -> NDArray[np.bool_]:
    spans = evidence.tables["spans"]
    again = spans.filter(pc.or_kleene(pc.invert(spans["sent"]), spans["idempotent"]))["op_id"]
    sent_again: NDArray[np.bool_] = np.isin(refused.rows["op_id"].to_numpy(), again.to_numpy())
    return ~sent_again


def _hurt(evidence: Evidence, refused: _Refused) -> NDArray[np.bool_]:
    """Was anything wrong with any node since `LAG_NS` before?"""
    hurt = np.zeros(len(refused.t0), np.bool_)
    for fault in evidence.faults:
        hurt |= (fault.t_start < refused.t1) & (refused.t0 - LAG_NS < fault.over_ns)
    return hurt


def _told(refused: _Refused, error: str, at: int) -> Violation:
    row = refused.rows.slice(at, 1).to_pylist()[0]
    history = refused.history
    lows, highs = _known(refused, set(history.told))
    low, high = int(lows[at]), int(highs[at])
    current = history.states[high]
    text = f"{refused.key}: node {refused.node} answered {error}, and node {current.leader} led in "
    text += f"epoch {current.leader_epoch}, with the ISR [{names(current.isr)}]; min ISR is "
    text += f"{int(history.min_isr[high])}"
    asked = {"what": f"answered {error}", "t_ns": row["t0"], "op_id": row["op_id"]}
    known = [
        {
            "what": "state of the ISR",
            "offset": int(history.offsets[place]),
            **state(history.states[place]),
        }
        for place in range(low, high + 1)
    ]
    return Violation(text, [asked, *known])
