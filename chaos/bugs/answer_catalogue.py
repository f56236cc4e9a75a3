"""Answers of brokers that are false when they are given, mostly without consequences: only a check
of each answer in the step in which it is given can find them.

They show with a leader that moves, an ISR that shrinks, a coordinator that is cut off, and
operators and members that are active while brokers restart.
"""

from chaos.bugs.planted import Mutation


def _planted(
    name: str, scenario: str, *checks: str, wrong: str, real: str, duration_s: float = 40.0
) -> Mutation:
    return Mutation(
        id=name,
        wrong=wrong,
        real=real,
        checks=checks,
        scenario=scenario,
        duration_s=duration_s,
        settings={"elr": "on"},
        simulated=True,
    )


_MOVING = "roll-while-moving"

IN_ANSWERS = (
    _planted(
        "A-ACK-EARLY",
        "slow-roll",
        "acknowledged-is-on-the-isr",
        "P10-leaders-hold-acknowledged",
        "log-durability",
        wrong="acks=all is acknowledged once the leader has the records",
        real="acks=1; the motivation of KIP-966",
    ),
    _planted(
        "A-OUT-OF-RANGE",
        "slow-roll",
        "out-of-range-is-outside",
        wrong="a new leader answers OFFSET_OUT_OF_RANGE for an offset in its log",
        real="KAFKA-7897; what KIP-207 is about",
    ),
    _planted(
        "A-OUT-OF-ORDER",
        "slow-roll",
        "out-of-order-does-not-follow",
        "log-offsets",
        wrong="a new leader knows no idempotent producers, and refuses the next sequence",
        real="KAFKA-5793; what KIP-360 is about",
    ),
    _planted(
        "A-DENY-LEAD",
        "slow-roll",
        "leaders-do-not-deny-it",
        wrong="a leader answers that it does not lead while a change of its ISR is pending",
        real="any refusal that stands for 'not now'",
    ),
    _planted(
        "A-TOLD-AHEAD",
        "slow-roll",
        "told-offsets-are-the-logs",
        "P16-no-committed-record-cut",
        wrong="Fetch answers have the log end as the high watermark",
        real="the rule of KIP-966, left out of an answer",
    ),
    _planted(
        "A-TOO-FEW",
        "slow-roll",
        "too-few-replicas-are-too-few",
        wrong="a leader with exactly min ISR members in its ISR refuses acks=all",
        real="a comparison, by one",
    ),
    _planted(
        "G-ACK-WRITTEN",
        "stranded-coordinator",
        "told-commits-were-committed",
        "committed-offsets-are-kept",
        wrong="a coordinator acknowledges and returns offsets that no other replica has yet",
        real="KAFKA-20634 in the other order",
    ),
    _planted(
        "G-DISOWN",
        _MOVING,
        "members-are-not-disowned",
        wrong="a member gets ILLEGAL_GENERATION as soon as another one joins",
        real="what the rebalance time-out of KIP-62 is there for",
    ),
    _planted(
        "G-OLD-GENERATION",
        _MOVING,
        "one-generation-answers",
        wrong="heartbeats of an old generation succeed",
        real="a zombie member: two of them read one partition",
    ),
    _planted(
        "G-UNREST",
        _MOVING,
        "rebalances-have-a-cause",
        wrong="a member gets REBALANCE_IN_PROGRESS although no member joined or left",
        real="a group that is never stable",
    ),
    _planted(
        "A-EPOCH-END",
        _MOVING,
        "told-epochs-end-there",
        wrong="OffsetForLeaderEpoch returns the log end for an older epoch",
        real="what KIP-320 is about",
    ),
    _planted(
        "A-DELETE-EARLY",
        _MOVING,
        "acknowledged-deletions-are-done",
        wrong="a deletion of records is acknowledged once the leader has done it",
        real="KIP-107: the low watermark is that of all",
    ),
    _planted(
        "A-GROWN-UNWRITTEN",
        _MOVING,
        "acknowledged-writes-are-committed",
        "topics-as-asked-for",
        wrong="new partitions are acknowledged that were not written",
        real="a success that stands for 'later'",
    ),
    _planted(
        "A-REFUSE-ISR",
        "slow-roll",
        "refused-proposals-are-wrong",
        wrong="the third member of any ISR is refused as ineligible",
        real="a count instead of a look at the registrations",
    ),
    _planted(
        "A-STALE-BROKER",
        "slow-roll",
        "strangers-are-strangers",
        wrong="a broker that is about to shut down gets STALE_BROKER_EPOCH",
        real="KIP-841, the other way round",
    ),
)
