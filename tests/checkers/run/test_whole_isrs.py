"""ISRs in calm, by hand. An election may take 14 s, brokers 18 s, and each partition 10 ms."""

import pytest

from checkers.run.whole_isrs import isrs_become_whole
from checkers.verdict import CheckResult, Verdict
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import ALL, Cluster, Record, change, partition, started, topic

VALID, INVALID, ERROR = Verdict.VALID, Verdict.INVALID, Verdict.ERROR
SHORT = [1, 2]
BACK = 10_000  # when broker 3 is started again, in ms
BOUND = 32_010


def says(cluster: Cluster, at: int, isr: list[int], node: int = 1, leader: int = 1) -> Cluster:
    told = {"isr": isr, "elr": [], "last_known_elr": []}
    return cluster.told(node, leader, 0, at, kind="partition", key="t-0", **told)


def back(*answers: tuple[int, list[int]]) -> Cluster:
    """Answers of node 1, so long after broker 3 is back."""
    cluster = started().ended("kill", 3, BACK)
    for after, isr in answers:
        says(cluster, BACK + after, isr)
    return cluster


def judged(cluster: Cluster, **info: object) -> CheckResult:
    run = cluster.run(**{"runtime": "sim", "duration_ns": 120_000_000_000, **info})
    return isrs_become_whole(run)


def test_an_isr_that_is_whole_in_time() -> None:
    result = judged(back((1000, SHORT), (BOUND - 10, SHORT), (BOUND + 10, ALL), (60_000, ALL)))
    assert (result.verdict, result.looked_at) == (VALID, 1)


def test_an_isr_that_stays_short_and_what_was_acknowledged_meanwhile() -> None:
    cluster = back((1000, SHORT), (40_000, SHORT))
    cluster.sent("t-0", 0, 1)
    cluster.rows["ops"][-1].update(t0=20_000_000_000, t1=20_001_000_000)
    result = judged(cluster)
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message.startswith("t-0: led by node 1 with ISR [1, 2] for 40.0 s")
    assert "1 write to acks=all acknowledged meanwhile" in result.message


def test_one_answer_of_any_broker_is_enough() -> None:
    assert judged(says(back((40_000, SHORT)), BACK + 39_000, ALL, node=2)).verdict is VALID


def test_it_may_not_shrink_again_for_good() -> None:
    assert judged(back((1000, ALL), (2000, SHORT), (40_000, SHORT))).verdict is INVALID


def test_the_time_before_a_fault_counts_for_itself() -> None:
    answers = back((20_000, SHORT), (50_000, SHORT))
    assert saw_nothing(judged(answers.ended("kill", 2, BACK + 21_000)))


def test_the_load_may_be_disturbed_by_nothing_at_all() -> None:
    assert judged(says(says(started(), 1000, ALL), 50_000, SHORT)).verdict is INVALID


def test_more_partitions_have_more_time() -> None:
    many = back((BOUND + 50, SHORT))
    assert judged(many).verdict is INVALID
    for number in range(10):
        many.commit(topic(f"m{number}"), partition(f"m{number}-0", ALL, 1))
    assert saw_nothing(judged(many))


def test_without_a_leader_nothing_can_follow() -> None:
    assert judged(says(started().ended("kill", 3, BACK), 60_000, SHORT, leader=-1)).verdict is VALID


def test_a_partition_that_moves_is_not_judged() -> None:
    cluster = back((60_000, SHORT)).commit(change("t-0", replicas=[1, 2], addingReplicas=[]))
    assert saw_nothing(judged(cluster))


@pytest.mark.parametrize(("late_share", "verdict"), [(0.0, INVALID), (0.5, ERROR)])
def test_a_starved_machine_is_an_excuse(late_share: float, verdict: Verdict) -> None:
    pressure = {"longest_late_ms": 1.0, "late_share": late_share, "cpu_share": 0.1}
    result = judged(back((60_000, SHORT)), runtime="docker", pressure=pressure)
    assert result.verdict is verdict


# --- partitions that no broker was asked about ---


def shrunk(*then: Record, committed: int) -> Cluster:
    """The ISR of `t-0` shrinks with broker 3; by then (ms) a leader told of it as committed."""
    cluster = started().commit(change("t-0", isr=SHORT)).ended("kill", 3, BACK)
    cluster.told(1, 1, 1, committed, high_watermark=cluster.end)
    for record in then:
        cluster.commit(record)
    return cluster


def test_by_the_metadata_log_an_isr_stays_short() -> None:
    result = judged(shrunk(committed=BACK + 1000))
    assert (result.verdict, result.count) == (INVALID, 1)
    assert result.message.startswith("t-0: led by node 1 with ISR [1, 2] for 109.0 s")


@pytest.mark.parametrize(("later", "verdict"), [(BOUND - 10, VALID), (BOUND + 10, INVALID)])
def test_by_the_metadata_log_an_isr_is_whole_in_time(later: int, verdict: Verdict) -> None:
    """Two answers of a leader that works on bound the time of the change."""
    cluster = shrunk(change("t-0", isr=ALL), committed=BACK)
    cluster.told(1, 1, 1, BACK + later, high_watermark=cluster.end - 1)
    cluster.told(1, 1, 1, BACK + later + 1, high_watermark=cluster.end)
    result = judged(cluster)
    assert result.verdict is verdict, result.message
    assert result.looked_at == 1


def test_a_shrink_without_a_known_time_accuses_nobody() -> None:
    cluster = started().commit(change("t-0", isr=SHORT)).ended("kill", 3, BACK)
    assert saw_nothing(judged(cluster))


def test_by_the_metadata_log_a_partition_without_a_leader_is_left_to_others() -> None:
    assert judged(shrunk(change("t-0", leader=-1), committed=BACK)).verdict is VALID
