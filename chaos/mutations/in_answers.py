"""Answers of brokers that are not true when they are given, though little comes of it, or nothing:
who must find them looks at each answer in the step in which it is given.

A leader that moves, an ISR that shrinks, and a coordinator that is cut off show them.
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
)
