"""P18, for brokers' answers: none describes a state of partitions that was over long before."""

from collections.abc import Iterator

import numpy as np

from checkers.check import check
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.restarts import may_forget
from checkers.evidence.starvation import Suspicion, sort_out, starved_between
from checkers.partitions.described_partitions import (
    FollowedAnswers,
    SeenAnswer,
    answer_in_words,
    asked_of_partitions,
    followed_answers,
    shown_answer,
    states_shown,
)
from checkers.partitions.leaders import NEED
from checkers.quorum.leadership import SECOND, bounds_of
from checkers.verdict import CheckResult

_UNIT = "answers about partitions in calm"
# Brokers that are well and connected learn of a committed record within milliseconds.
_LAG_S = {"sim": 2.0}
_LAG_REAL_S = 5.0


@check(
    "P18-told-partitions-are-new",
    applies=asked_of_partitions,
    source="KIP-966 liveness; KIP-500",
    rests_on=(Kind.METADATA_LOGS, Kind.PARTITION_PROBES, Kind.FAULTS),
)
def described_partitions_are_new(evidence: Evidence) -> CheckResult:
    """P18: In calm no broker describes a state of a partition that was over 2 s before, by what
    another broker had answered; or 5 s before, in real time.

    Calm is an election and longer after every fault. If the machine was starved in that time, or
    just before it, the run is an error. (KIP-966 liveness)
    """
    if evidence.timeline is None:
        return unread(_UNIT, NEED)
    followed = evidence.once(followed_answers)
    calm = [] if may_forget(evidence) else [s for s in followed.seen if _is_calm(evidence, s)]
    told = sort_out(evidence.info, _late(evidence, followed, calm))
    return conclude(
        looked_at=len(calm),
        unit=_UNIT,
        violations=told.accused,
        starved=told.starved,
        gaps=told.unmeasured,
        needs="answers to DescribeTopicPartitions",
        holds="none described a state that was over long before",
        algorithm="positions of answers in the metadata log, against earlier answers of others",
        nothing="no broker was asked in calm" if followed.looked_at else "",
    )


def _late(
    evidence: Evidence, followed: FollowedAnswers, calm: list[SeenAnswer]
) -> Iterator[Suspicion]:
    """Answers from an image that lacks what another broker had answered; for each broker the first
    of those that a starved machine does not explain, else the first."""
    lag = int(_LAG_S.get(evidence.info.runtime, _LAG_REAL_S) * SECOND)
    told = sorted((one.answer.answered, one.least) for one in followed.seen)
    times = np.array([t for t, _ in told], np.int64)
    highest = np.maximum.accumulate(np.array([least for _, least in told], np.int64))
    accused: set[int] = set()
    excused: set[int] = set()
    for one in calm:
        node, since = one.answer.node, one.answer.asked - lag
        place = int(np.searchsorted(times, since)) - 1
        if place < 0 or one.most >= highest[place] or node in accused:
            continue
        known = excused if starved_between(evidence.info, since, one.answer.answered) else accused
        if node not in known:
            known.add(node)
            violation = _stale(one, int(highest[place]), lag, followed)
            yield Suspicion(violation, since, one.answer.answered)


def _is_calm(evidence: Evidence, one: SeenAnswer) -> bool:
    begin, end = one.answer.asked, one.answer.answered
    since = begin - int(bounds_of(evidence).leader_within_s * SECOND)
    ends = (int(each["t_ns"]) for each in evidence.info.unasked_ends)
    hurt = any(fault.overlaps(since, end) for fault in evidence.faults)
    return not hurt and not any(at <= end for at in ends)


def _stale(one: SeenAnswer, known: int, lag: int, followed: FollowedAnswers) -> Violation:
    meanings, answer = followed.meanings, one.answer
    rows = range(answer.rows.start, answer.rows.stop)
    oldest = min(rows, key=lambda row: max(span.last for span in meanings.of(row)))
    said = meanings.said(oldest)
    text = f"node {answer.node} says {answer_in_words(said)}, which was over at offset "
    text += (
        f"{one.most + 1} of the metadata log; {lag / SECOND:g} s before, and with nothing wrong "
    )
    text += f"since, another broker had described offset {known}"
    shown = [shown_answer(answer, said), *states_shown(meanings.states(said["key"])[-4:])]
    return Violation(text, shown)
