"""P8 as clients see it: records that were given while the ISR was too small."""

import random

import pytest

from checkers.partitions.refusals import shown_with_min_isr
from checkers.verdict import Verdict
from tests.support.histories import MS
from tests.support.kafka_runs import ALL, Cluster, change, partition, started, topic

SECOND = 1000  # ms
SHRUNK = {"isr": [1], "elr": [2, 3]}
WHOLE: dict[str, object] = {"isr": ALL, "elr": []}


def asked(cluster: Cluster, at: int, **state: object) -> None:
    """All brokers are asked at a time (ms) and say the same."""
    for node in ALL:
        cluster.told(node, 1, 0, at, kind="partition", key="t-0", **state)


def sent(cluster: Cluster, value: int, at: int, records: int = 1) -> None:
    cluster.sent("t-0", value - 100, value, records, acks=1)
    cluster.rows["ops"][-1] |= {"t0": at * MS, "t1": (at + 1) * MS}


def given(
    cluster: Cluster, value: int, at: int, *, records: int = 1, epoch: int | None = 0
) -> None:
    """A poll that took from `at` to a millisecond later."""
    cluster.polled("t-0", value - 100, value, records)
    cluster.rows["ops"][-1] |= {"t0": at * MS, "t1": (at + 1) * MS}
    cluster.rows["spans"][-1] |= {"epoch": epoch}


def shrinks_and_grows() -> Cluster:
    """The ISR is its leader alone from second 1 to second 20, as all brokers say."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    cluster.commit(change("t-0", isr=ALL, eligibleLeaderReplicas=[]))
    asked(cluster, 0, **WHOLE)
    for second in range(1, 20):
        asked(cluster, second * SECOND, **SHRUNK)
    asked(cluster, 20 * SECOND, **WHOLE)
    return cluster


@pytest.mark.parametrize(
    ("sent_at", "given_at", "verdict"),
    [
        (500, 900, Verdict.VALID),  # before
        (500, 9500, Verdict.VALID),  # it may have been committed before
        (3500, 4500, Verdict.INVALID),
        (3500, 16_500, Verdict.INVALID),
        (3500, 17_500, Verdict.VALID),  # who is asked at 19 s may be as late as that
        (3500, 21_000, Verdict.VALID),
        (1050, 4500, Verdict.VALID),  # the leader may just have learnt of it, not its partition
    ],
)
def test_a_record_that_came_and_was_given(sent_at: int, given_at: int, verdict: Verdict) -> None:
    cluster = shrinks_and_grows()
    sent(cluster, 100, sent_at)
    given(cluster, 100, given_at)
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict, result.looked_at) == (verdict, 1), result.message
    if verdict is Verdict.INVALID:
        assert result.message == (
            "t-0, offset 0: given to a consumer, but since it was sent the ISR was [1]; "
            "min ISR is 2"
        )


@pytest.mark.parametrize(
    ("hidden_on", "told_at", "expected"),
    [
        ((1, 2, 3), None, (Verdict.VALID, 0)),  # it may have been committed in a hidden state
        ((1, 2, 3), 1000, (Verdict.INVALID, 1)),  # its leader knew of the snapshot's state before
        ((1, 2), None, (Verdict.VALID, 1)),  # the third log has all states
        ((1, 2), 1000, (Verdict.INVALID, 1)),
    ],
)
def test_the_states_that_a_snapshot_hides_may_have_had_min_isr(
    hidden_on: tuple[int, ...], told_at: int | None, expected: tuple[Verdict, int]
) -> None:
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    small = partition("t-0", [1], 1, eligibleLeaderReplicas=[2, 3], partitionEpoch=1)
    cluster.hide_head(topic("t"), small, nodes=hidden_on)
    if told_at is not None:
        asked(cluster, told_at, **SHRUNK)
    sent(cluster, 100, 3500)
    given(cluster, 100, 4500)
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict, result.looked_at) == expected, result.message


def test_each_send_of_a_poll_is_looked_at() -> None:
    """One poll gives three sends, the last of which came too late."""
    cluster = shrinks_and_grows()
    sent(cluster, 100, 200, records=2)
    sent(cluster, 102, 500)
    sent(cluster, 103, 3500, records=4)
    given(cluster, 100, 4500, records=7)
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict, result.count, result.looked_at) == (Verdict.INVALID, 1, 3)


def test_of_a_record_without_its_epoch_any_leader_may_have_been_the_one() -> None:
    cluster = shrinks_and_grows()
    sent(cluster, 100, 3500)
    given(cluster, 100, 4500, epoch=None)
    assert shown_with_min_isr(cluster.run()).verdict is Verdict.VALID


def test_where_nothing_that_was_given_is_known_to_have_been_sent_nobody_knows() -> None:
    cluster = shrinks_and_grows()
    sent(cluster, 300, 3500)
    given(cluster, 100, 4500)
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict, result.looked_at) == (Verdict.UNKNOWN, 0)


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_send_that_was_never_answered_is_not_one_that_was_withheld(is_answered: bool) -> None:
    """Its time is not the beginning of time, in which the ISR was another one."""
    cluster = shrinks_and_grows()
    sent(cluster, 100, 3500)
    if not is_answered:
        cluster.rows["ops"][-1] |= {"t1": None, "outcome": "info"}
    given(cluster, 100, 21_000)
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict, result.facts) == (Verdict.VALID, {"withheld": int(is_answered)})


def test_without_the_metadata_log_nobody_knows() -> None:
    cluster = shrinks_and_grows()
    sent(cluster, 100, 3500)
    given(cluster, 100, 4500)
    cluster.rows["log_records"], cluster.rows["log_batches"] = [], []
    assert shown_with_min_isr(cluster.run()).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("seed", range(100))
def test_random_courses_of_the_isr(seed: int) -> None:
    """Who waits for min ISR is never accused, however late anybody learns; who does not is."""
    rng = random.Random(seed)
    cluster, states, at = started(), [(0, list(ALL), list[int]())], 0
    for _ in range(rng.randrange(2, 9)):
        at += rng.randrange(4, 12) * SECOND
        isr = sorted({1, *rng.sample(ALL, rng.randrange(1, 4))})
        elr = [node for node in ALL if node not in isr] if len(isr) < 2 else []
        cluster.commit(change("t-0", isr=isr, eligibleLeaderReplicas=elr))
        states.append((at, isr, elr))
    heeds, broken, waiting, value = rng.random() < 0.5, 0, list[int](), 100
    for began, isr, elr in states:
        for node in ALL:
            late = rng.randrange(900)
            for moment in (began + late, began + 3900):
                cluster.told(node, 1, 0, moment, kind="partition", key="t-0", isr=isr, elr=elr)
        sent(cluster, value, began + 1200)
        waiting.append(value)
        value += 1
        if len(isr) >= 2 or not heeds:
            for each in waiting:
                given(cluster, each, began + 1700)
            broken += sum(each == value - 1 for each in waiting) if len(isr) < 2 else 0
            waiting.clear()
    result = shown_with_min_isr(cluster.run())
    assert (result.verdict is Verdict.INVALID) == (broken > 0), result.message
    assert heeds is False or result.verdict is Verdict.VALID
