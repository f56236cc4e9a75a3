"""P17: sends that were acknowledged while the ISR was too small, by metadata log and answers."""

import random
from copy import deepcopy

import pytest

from checkers.evidence.evidence import Evidence
from checkers.evidence.isr_history import isr_histories
from checkers.partitions.acknowledged_and_read import acknowledged_with_min_isr
from checkers.verdict import Verdict
from tests.support.histories import MS
from tests.support.kafka_runs import ALL, Cluster, Record, change, config, started

SECOND = 1000  # ms
SHRUNK = {"isr": [1], "elr": [2, 3]}
WHOLE = {"isr": ALL, "elr": []}


def shrunk_and_whole_again() -> Cluster:
    """Within one leader epoch the ISR shrinks to its leader, and later holds all again."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    return cluster.commit(change("t-0", isr=ALL, eligibleLeaderReplicas=[]))


def asked(cluster: Cluster, at: int, **state: object) -> None:
    """All brokers are asked at a time (ms) and say the same."""
    for node in ALL:
        cluster.told(node, 1, 0, at, kind="partition", key="t-0", **state)


def acknowledged(cluster: Cluster, offset: int, at: int) -> None:
    """A send that took a millisecond from `at` on."""
    cluster.sent("t-0", offset, 100 + offset)
    cluster.rows["ops"][-1] |= {"t0": at * MS, "t1": (at + 1) * MS}


def test_sends_that_are_acknowledged_while_every_broker_says_that_the_isr_is_too_small() -> None:
    """The ISR is whole again in the same epoch, a minute later."""
    cluster = shrunk_and_whole_again()
    for number in range(60):
        asked(cluster, number * SECOND, **SHRUNK)
    asked(cluster, 62 * SECOND, **WHOLE)
    for offset in range(50):
        acknowledged(cluster, offset, offset * SECOND + 500)
    cluster.replica(1, "t-0", [(0, 100, 50, 0)])
    result = acknowledged_with_min_isr(cluster.run())
    assert (result.verdict, result.count) == (Verdict.INVALID, 50)
    assert "while the ISR was [1] and min ISR is 2" in result.message


def test_sends_of_a_leader_that_told_of_a_small_isr_and_never_of_another() -> None:
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    asked(cluster, 0, **WHOLE)
    asked(cluster, 1 * SECOND, **SHRUNK)
    acknowledged(cluster, 0, 500)
    acknowledged(cluster, 1, 2 * SECOND)
    cluster.replica(1, "t-0", [(0, 100, 2, 0)])
    result = acknowledged_with_min_isr(cluster.run())
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert "offset 1: acknowledged to acks=all by node 1 in epoch 0" in result.message


def test_a_leader_that_has_not_heard_of_the_shrinking_accuses_nobody() -> None:
    """What other brokers know, the leader may not know yet."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    for node in (2, 3):
        cluster.told(node, 1, 0, 0, kind="partition", key="t-0", **SHRUNK)
    acknowledged(cluster, 0, 2 * SECOND)
    cluster.replica(1, "t-0", [(0, 100, 1, 0)])
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.VALID


def test_brokers_that_are_cut_off_may_be_late() -> None:
    """No answer tells of the whole ISR, but a link was cut: it may have been whole for long."""
    cluster = shrunk_and_whole_again()
    asked(cluster, 0, **SHRUNK)
    asked(cluster, 9 * SECOND, **SHRUNK)
    acknowledged(cluster, 0, 1 * SECOND)
    cluster.replica(1, "t-0", [(0, 100, 1, 0)])
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.INVALID
    cluster.ended("partition", 1, 8 * SECOND)
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.VALID


def test_a_high_watermark_of_the_quorum_dates_a_change() -> None:
    """The leader of the quorum had not committed the growth of the ISR when it was asked."""
    cluster = shrunk_and_whole_again()
    grown = cluster.end - 1
    cluster.told(1, 1, 0, 0, kind="partition", key="t-0", **SHRUNK)
    acknowledged(cluster, 0, 1 * SECOND)
    cluster.replica(1, "t-0", [(0, 100, 1, 0)])
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.VALID
    cluster.told(1, 1, 1, 2 * SECOND, high_watermark=grown)
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.VALID  # who knows if it led
    cluster.told(1, 1, 1, 3 * SECOND, high_watermark=grown + 1)
    assert acknowledged_with_min_isr(cluster.run()).verdict is Verdict.INVALID


def test_a_record_that_no_disk_holds_any_more_was_acknowledged_all_the_same() -> None:
    """Its loss may be allowed by then; that it was acknowledged was not."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    asked(cluster, 0, **WHOLE)
    asked(cluster, 1 * SECOND, **SHRUNK)
    acknowledged(cluster, 0, 500)
    acknowledged(cluster, 1, 2 * SECOND)
    empty = acknowledged_with_min_isr(cluster.run())
    cluster.replica(1, "t-0", [(0, 100, 1, 0)])
    cut_off = acknowledged_with_min_isr(cluster.run())
    for result in (empty, cut_off):
        assert (result.verdict, result.count, result.looked_at) == (Verdict.INVALID, 1, 2)
        assert "offset 1: acknowledged to acks=all by node 1 in epoch 0" in result.message
        assert result.message.endswith("it is on no disk any more")


@pytest.mark.parametrize(("node", "verdict"), [(1, "INVALID"), (2, "VALID"), (-1, "VALID")])
def test_of_what_is_on_no_disk_only_states_of_the_node_that_acknowledged_count(
    node: int, verdict: str
) -> None:
    """Node 2 leads later, with a whole ISR; of a library's send nobody knows whose it was."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    asked(cluster, 1 * SECOND, **SHRUNK)
    cluster.commit(change("t-0", leader=2, isr=ALL, eligibleLeaderReplicas=[]))
    acknowledged(cluster, 0, 2 * SECOND)
    cluster.rows["ops"][-1]["node"] = node
    result = acknowledged_with_min_isr(cluster.run())
    assert result.verdict is Verdict[verdict], result.message
    assert result.looked_at == 1


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_random_courses_of_the_isr(seed: int, stored: bool) -> None:
    """A broker that heeds min ISR is never accused, whatever is asked and however late it learns;
    one that does not is, once its own answers frame what it acknowledged."""
    rng = random.Random(seed)
    cluster, course = started(), []
    at = 0
    for _ in range(rng.randrange(2, 9)):
        at += rng.randrange(4, 12) * SECOND
        isr = sorted({1, *rng.sample(ALL, rng.randrange(1, 4))})
        elr = [node for node in ALL if node not in isr] if len(isr) < 2 else []
        cluster.commit(change("t-0", isr=isr, eligibleLeaderReplicas=elr))
        course.append((at, isr, elr))
    states = [(0, list(ALL), list[int]()), *course]
    heeds = rng.random() < 0.5
    broken, offset = 0, 0
    for began, isr, elr in states:
        for node in ALL:
            late = rng.randrange(0, 900)
            known = {"isr": isr, "elr": elr}
            cluster.told(node, 1, 0, began + late, kind="partition", key="t-0", **known)
            cluster.told(node, 1, 0, began + 3900, kind="partition", key="t-0", **known)
        if len(isr) >= 2 or not heeds:
            acknowledged(cluster, offset, began + 1500)
            offset += 1
            broken += len(isr) < 2
    if stored:
        cluster.replica(1, "t-0", [(0, 100, max(offset, 1), 0)])
    result = acknowledged_with_min_isr(cluster.run())
    assert (result.verdict is Verdict.INVALID) == (broken > 0), result.message
    assert result.count <= broken


def test_a_min_isr_that_is_lower_for_a_while_between_two_changes() -> None:
    """The ISR has two of three; the minimum is 3, then 2, and 3 again before the ISR is whole."""
    minimum = "min.insync.replicas"
    cluster = started().commit(config(2, "t", minimum, "3")).commit(change("t-0", isr=[1, 2]))
    for at in (0, 4 * SECOND):
        asked(cluster, at, isr=[1, 2], elr=[])
    acknowledged(cluster, 0, 1 * SECOND)
    cluster.replica(1, "t-0", [(0, 100, 1, 0)])
    settings = {"min_isr": "2"}
    whole = [config(2, "t", minimum, "3")], [change("t-0", isr=ALL)]
    raised = deepcopy(cluster)
    for records in whole:
        raised.commit(*records)
    asked(raised, 5 * SECOND, **WHOLE)
    assert acknowledged_with_min_isr(raised.run(settings=settings)).verdict is Verdict.INVALID
    for records in ([config(2, "t", minimum, "2")], *whole):
        cluster.commit(*records)
    asked(cluster, 5 * SECOND, **WHOLE)
    assert acknowledged_with_min_isr(cluster.run(settings=settings)).verdict is Verdict.VALID


@pytest.mark.parametrize("seed", range(40))
def test_the_lowest_min_isr_between_changes_is_that_of_every_moment(seed: int) -> None:
    """Against a walk through all records, with values of the topic, of all brokers, and none."""
    rng = random.Random(seed)
    cluster, minimum = started(), "min.insync.replicas"
    values: dict[tuple[int, str], int] = {}
    moments: list[list[int]] = [[]]
    usual = 1

    def in_force() -> int:
        return min(values.get((2, "t"), values.get((4, ""), usual)), len(ALL))

    def note(record: Record, of: tuple[int, str] | None = None, value: int | None = None) -> None:
        cluster.commit(record)
        if of is None:
            moments.append([])
        elif value is None:
            values.pop(of, None)
        else:
            values[of] = value
        moments[-1].append(in_force())

    for number in range(rng.randint(1, 12)):
        if rng.random() < 0.3:
            note(change("t-0", isr=rng.choice([[1], [1, 2], ALL]), leaderEpoch=number))
        else:
            of, value = rng.choice([(2, "t"), (4, ""), (2, "u")]), rng.choice([1, 2, 3, 9, None])
            note(config(*of, minimum, None if value is None else str(value)), of, value)
    found = isr_histories(Evidence(cluster.run(settings={"min_isr": str(usual)})))["t-0"].min_isr
    assert list(found)[1:] == [min(each) for each in moments[1:]]
