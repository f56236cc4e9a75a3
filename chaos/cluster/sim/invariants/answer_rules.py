"""What answers promise: the rules by which each is judged in the step in which it is given.

They are named here, for those who count what was looked at, and plant bugs.
"""

from collections import Counter
from collections.abc import Mapping

Looked = Counter[str]  # how often each rule had something to judge

OF_BROKERS: Mapping[str, str] = {
    # --- partitions ---
    "acknowledged-is-in-the-log": "A record stands at the offset that was told of it in its "
    "leader's log.",
    "acknowledged-is-on-the-isr": "What acks=all acknowledges is in the logs of the whole ISR, of "
    "min ISR replicas at least, and below a high watermark that was published.",
    "told-records-are-the-logs": "What a Fetch brings stands so in the log that it is read from, "
    "and is committed, if a consumer asked.",
    "told-offsets-are-the-logs": "High watermarks, log starts, and offsets that are looked up are "
    "those of the log.",
    "told-epochs-end-there": "Who asks where an epoch ends is told the largest one up to it that "
    "the leader's log has, and where the next one begins.",
    "acknowledged-deletions-are-done": "What is acknowledged as deleted is gone from all replicas "
    "whose brokers are up.",
    "out-of-range-is-outside": "OFFSET_OUT_OF_RANGE is said of offsets that are not in the log, or "
    "are not committed, where records are to be deleted.",
    "out-of-order-does-not-follow": "OUT_OF_ORDER_SEQUENCE_NUMBER and INVALID_PRODUCER_EPOCH are "
    "said of batches that may not follow what the log has of their producer.",
    "leaders-do-not-deny-it": "NOT_LEADER_OR_FOLLOWER is not said by who leads.",
    "refused-epochs-are-others": "FENCED_LEADER_EPOCH is said of older epochs, and "
    "UNKNOWN_LEADER_EPOCH of newer ones.",
    "too-few-replicas-are-too-few": "NOT_ENOUGH_REPLICAS is said while the ISR is below min ISR.",
    "timed-out-was-waited-for": "REQUEST_TIMED_OUT is said of what was waited for as long as was "
    "asked, and is not on the ISR.",
    "unknown-is-not-there": "UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID are said of what the "
    "metadata does not have.",
    "told-leaders-led": "Who is told to lead, and in which epoch, does so by the metadata log.",
    "told-metadata-is-so": "Metadata tells of partitions as the metadata log has them.",
    # --- groups ---
    "told-coordinators-lead": "FindCoordinator names who leads the partition of that group.",
    "coordinators-do-not-deny-it": "NOT_COORDINATOR is not said by who coordinates, nor "
    "COORDINATOR_LOAD_IN_PROGRESS by who has answered already.",
    "members-are-not-disowned": "ILLEGAL_GENERATION and UNKNOWN_MEMBER_ID are not said to a member "
    "of that generation that was heard of in time.",
    "one-generation-answers": "Who speaks of a generation is not answered as if no later one had "
    "begun, and all who join one are told the same of it.",
    "rebalances-have-a-cause": "REBALANCE_IN_PROGRESS is not said to a member that was told its "
    "share, while nobody has joined or left since, and no member was silent.",
    "told-commits-were-committed": "An offset that a group is told to have committed was "
    "committed, and is no older than what was acknowledged.",
    # --- controllers, to brokers ---
    "refused-proposals-are-wrong": "A leader that asks for another ISR is refused it by what is "
    "wrong with it: epochs that are over, or members that may not be in it.",
    "strangers-are-strangers": "STALE_BROKER_EPOCH and BROKER_ID_NOT_REGISTERED are said to who is "
    "not registered in the broker epoch that it speaks of.",
    "told-isr-is-committed": "A leader that asks for another ISR is told of the one that is "
    "committed.",
}

OF_CONTROLLERS: Mapping[str, str] = {
    "controllers-do-not-deny-it": "NOT_CONTROLLER, or NOT_LEADER_OR_FOLLOWER of the metadata "
    "log, is not said by who leads the quorum, and is active.",
    "acknowledged-writes-are-committed": "What a controller acknowledges stands in the log that is "
    "committed.",
    "told-quorum-is-so": "DescribeQuorum tells of the leader, its epoch, a high watermark that was "
    "reached, and who votes by the leader's log.",
}

# What is told and refused by both kinds of nodes has one name.
ANSWER_RULES: Mapping[str, str] = {**OF_CONTROLLERS, **OF_BROKERS}
