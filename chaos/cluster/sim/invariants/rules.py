"""The rules: how a broken one is reported (by name, in one sentence, with the step), the rules of
answers, and unanswered requests."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from node.effects import TraceValue
from node.ids import NodeId


class Broken(Exception):
    """A rule does not hold; the caller that watches the node adds node and time."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant
        self.what = what


class InvariantViolated(Exception):
    """The run proves a bug. No AssertionError: those are the node's own, and only stop the node.

    `step` counts the steps of that life of the node from 1 (0: what it found on its disk), so a
    rerun of the seed can stop right there.
    """

    def __init__(self, broken: Broken, *, node: NodeId, life: int, step: int, at_ns: int) -> None:
        place = f"n{node}, life {life}, step {step}, t={at_ns / 1e9:.9f} s"
        super().__init__(f"{broken.invariant}: {broken.what}  ({place})")
        self.invariant = broken.invariant
        self.what = broken.what
        self.node = node
        self.life = life
        self.step = step
        self.at_ns = at_ns


# The promises of answers: the rules by which each is judged in the step in which it is sent.
#
# Named here, for the counts of what was judged, and for planted bugs.


Looked = Counter[str]  # how often each rule had something to judge

OF_BROKERS: Mapping[str, str] = {
    # --- partitions ---
    "acknowledged-is-in-the-log": "An acknowledged record is in its leader's log, at the offset in "
    "the answer.",
    "acknowledged-is-on-the-isr": "A record acknowledged with acks=all is in the logs of the whole "
    "ISR, of at least min ISR replicas, and below a published high watermark.",
    "told-records-are-the-logs": "The records in a Fetch answer are those of the log that it is "
    "read from; a consumer gets only committed ones.",
    "told-offsets-are-the-logs": "High watermarks, log start offsets and looked-up offsets in "
    "answers are those of the log.",
    "told-epochs-end-there": "OffsetForLeaderEpoch returns the largest epoch in the leader's log "
    "up to the requested one, and where the next one begins.",
    "acknowledged-deletions-are-done": "Records with an acknowledged deletion are gone from all "
    "replicas on running brokers.",
    "out-of-range-is-outside": "OFFSET_OUT_OF_RANGE is returned only for offsets that are not in "
    "the log or, in DeleteRecords, not committed.",
    "out-of-order-does-not-follow": "OUT_OF_ORDER_SEQUENCE_NUMBER and INVALID_PRODUCER_EPOCH are "
    "returned only for batches that may not follow their producer's last one in the log.",
    "leaders-do-not-deny-it": "A leader does not return NOT_LEADER_OR_FOLLOWER.",
    "refused-epochs-are-others": "FENCED_LEADER_EPOCH is returned for older epochs, and "
    "UNKNOWN_LEADER_EPOCH for newer ones.",
    "too-few-replicas-are-too-few": "NOT_ENOUGH_REPLICAS is returned only while the ISR is below "
    "min ISR.",
    "timed-out-was-waited-for": "REQUEST_TIMED_OUT is returned only after the requested time-out, "
    "while the ISR lacks the records.",
    "unknown-is-not-there": "UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID are returned only for "
    "what the metadata lacks.",
    "told-leaders-led": "Leaders and leader epochs in refusals are those of the metadata log.",
    "told-metadata-is-so": "Metadata describes partitions as the metadata log has them.",
    # --- groups ---
    "told-coordinators-lead": "FindCoordinator returns the leader of the group's partition of the "
    "offsets topic.",
    "coordinators-do-not-deny-it": "A group's coordinator does not return NOT_COORDINATOR, nor "
    "COORDINATOR_LOAD_IN_PROGRESS once it has answered.",
    "members-are-not-disowned": "A member of the current generation that was heard in time does "
    "not get ILLEGAL_GENERATION or UNKNOWN_MEMBER_ID.",
    "one-generation-answers": "A request of an old generation is not answered as if it were the "
    "current one, and all members that join a generation get the same answer about it.",
    "rebalances-have-a-cause": "A member with an assignment does not get REBALANCE_IN_PROGRESS "
    "unless a member has since joined, left or been silent.",
    "told-commits-were-committed": "A committed offset in an OffsetFetch answer was committed, and "
    "is no older than the last acknowledged one.",
    # --- controllers, to brokers ---
    "refused-proposals-are-wrong": "A refused AlterPartition has the fault that the error names: "
    "old epochs, or members that may not be in the ISR.",
    "strangers-are-strangers": "STALE_BROKER_EPOCH and BROKER_ID_NOT_REGISTERED are returned only "
    "to brokers that are not registered in the broker epoch of their request.",
    "told-isr-is-committed": "The ISR in an AlterPartition answer is committed.",
}

OF_CONTROLLERS: Mapping[str, str] = {
    "controllers-do-not-deny-it": "The active controller, which leads the quorum, returns neither "
    "NOT_CONTROLLER nor, for the metadata log, NOT_LEADER_OR_FOLLOWER.",
    "acknowledged-writes-are-committed": "What a controller acknowledges is in the committed log.",
    "told-quorum-is-so": "DescribeQuorum returns the leader, its epoch, a high watermark that was "
    "reached, and the voters by the leader's log.",
}

# A rule for both kinds of nodes has one name.
ANSWER_RULES: Mapping[str, str] = {**OF_CONTROLLERS, **OF_BROKERS}


# Requests that nodes received and have not answered.


class Heard(NamedTuple):
    """The step of this life in which it arrived, and the time by the node's clock."""

    request: object
    step: int
    at_ns: int


# Fields of the node's trace lines, by their types.


def number(fields: Mapping[str, TraceValue], name: str) -> int:
    value = fields[name]
    assert isinstance(value, int), f"{name} is {value!r}"
    return value
