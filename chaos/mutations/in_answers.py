"""Answers of brokers that are not true when they are given, though little comes of it, or nothing:
who must find them looks at each answer in the step in which it is given.

A leader that moves, an ISR that shrinks, a coordinator that is cut off, and operators and members
who are at work while brokers come and go show them.
"""

from chaos.mutations.mutation import Mutation


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
        wrong="what all of the ISR are to have is acknowledged once the leader has it",
        real="acks=1; the motivation of KIP-966",
    ),
    _planted(
        "A-OUT-OF-RANGE",
        "slow-roll",
        "out-of-range-is-outside",
        wrong="a new leader calls an offset out of range that its log has",
        real="KAFKA-7897; what KIP-207 is about",
    ),
    _planted(
        "A-OUT-OF-ORDER",
        "slow-roll",
        "out-of-order-does-not-follow",
        "log-offsets",
        wrong="a new leader knows nothing of idempotent producers, and refuses what comes next",
        real="KAFKA-5793; what KIP-360 is about",
    ),
    _planted(
        "A-DENY-LEAD",
        "slow-roll",
        "leaders-do-not-deny-it",
        wrong="a leader says that it does not lead while a change of its ISR is under way",
        real="any refusal that stands for 'not now'",
    ),
    _planted(
        "A-TOLD-AHEAD",
        "slow-roll",
        "told-offsets-are-the-logs",
        "P16-no-committed-record-cut",
        wrong="consumers and followers are told that all is committed that the leader has",
        real="the rule of KIP-966, left out of an answer",
    ),
    _planted(
        "A-TOO-FEW",
        "slow-roll",
        "too-few-replicas-are-too-few",
        wrong="a leader whose ISR has just min ISR members refuses acks=all",
        real="a comparison, by one",
    ),
    _planted(
        "G-ACK-WRITTEN",
        "stranded-coordinator",
        "told-commits-were-committed",
        "committed-offsets-are-kept",
        wrong="a coordinator acknowledges offsets, and tells of them, that nobody else has yet",
        real="KAFKA-20634 in the other order",
    ),
    _planted(
        "G-DISOWN",
        _MOVING,
        "members-are-not-disowned",
        wrong="a member is told that its generation is over as soon as another one joins",
        real="what the rebalance time-out of KIP-62 is there for",
    ),
    _planted(
        "G-OLD-GENERATION",
        _MOVING,
        "one-generation-answers",
        wrong="a member of a generation that is over is told that all is well",
        real="a zombie member: two of them read one partition",
    ),
    _planted(
        "G-UNREST",
        _MOVING,
        "rebalances-have-a-cause",
        wrong="a member is told to join again although nobody came or went",
        real="a group that never comes to rest",
    ),
    _planted(
        "A-EPOCH-END",
        _MOVING,
        "told-epochs-end-there",
        wrong="an older epoch is told to end where the log does",
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
        wrong="partitions are acknowledged that were not written down",
        real="a success that stands for 'later'",
    ),
    _planted(
        "A-REFUSE-ISR",
        "slow-roll",
        "refused-proposals-are-wrong",
        wrong="the third member of an ISR is called ineligible, whoever it is",
        real="a count in the place of a look at who is registered",
    ),
    _planted(
        "A-STALE-BROKER",
        "slow-roll",
        "strangers-are-strangers",
        wrong="a broker that is about to shut down is told that its epoch is over",
        real="KIP-841, the other way round",
    ),
)
