"""Refusals of partition leaders, against the metadata log: each is true when it is sent."""

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.check import check, of_partition_logs
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import NO_LEADER, Timeline
from checkers.evidence.isr_history import LAG_NS, SETTLED_NS
from checkers.evidence.planned import Kind
from checkers.partitions.refused import Refused, judged, known_states, sums
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
    low, high = known_states(refused, set(history.told))
    untrue: NDArray[np.bool_] = (small[high + 1] == small[low]) & (led[high + 1] > led[low])
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
    told = history.told.get(node)
    if told is None:
        return np.zeros(len(refused.t0), np.bool_)
    epochs = np.array([one.leader_epoch for one in history.states], np.int64)
    lacking = sums(np.array([one.leader != node for one in history.states]))
    low, high = known_states(refused, (node,))
    is_one_reign = (lacking[high + 1] == lacking[low]) & (epochs[low] == epochs[high])
    has_told = told.t1.min() < refused.t0 - LAG_NS - SETTLED_NS
    untrue: NDArray[np.bool_] = is_one_reign & has_told & _sent_once(evidence, refused)
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
