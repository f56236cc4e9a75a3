"""What brokers tell of partitions, against the metadata log, by hand."""

import pytest

from checkers.partitions.described_partitions import described_partitions_were
from checkers.verdict import CheckResult, Verdict
from tests.support.kafka_runs import (
    ALL,
    Cluster,
    change,
    partition,
    registration_change,
    remove_topic,
    started,
    topic,
)

VALID, INVALID = Verdict.VALID, Verdict.INVALID


def says(
    cluster: Cluster,
    node: int,
    at: int,
    leader: int,
    epoch: int,
    isr: list[int],
    key: str = "t-0",
    **rest: object,
) -> Cluster:
    lists = {"isr": isr, "elr": [], "last_known_elr": []}
    told = {**lists, **rest}
    return cluster.told(node, leader, epoch, at, kind="partition", key=key, **told)


def moved() -> Cluster:
    """From node 1 to node 2, which is alone soon."""
    cluster = started().commit(change("t-0", leader=2))
    return cluster.commit(change("t-0", isr=[2], eligibleLeaderReplicas=[1, 3]))


def judged(cluster: Cluster, **info: object) -> CheckResult:
    return described_partitions_were(cluster.run(**info))


def test_what_is_later_and_later_in_the_log() -> None:
    cluster = says(says(moved(), 1, 0, 1, 0, ALL), 1, 10, 2, 1, ALL)
    cluster = says(says(cluster, 1, 20, 2, 1, [2], elr=[3, 1]), 3, 20, 1, 0, [3, 2, 1])
    result = judged(cluster)
    assert (result.verdict, result.looked_at) == (VALID, 4)


@pytest.mark.parametrize(
    ("leader", "epoch", "isr", "elr"),
    [
        (3, 1, ALL, []),
        (2, 2, ALL, []),
        (1, 1, ALL, []),
        (2, 1, [2, 1], []),
        (2, 1, [2], []),
        (2, 1, [2], [1]),
        (-1, 1, ALL, []),
    ],
)
def test_what_never_was(leader: int, epoch: int, isr: list[int], elr: list[int]) -> None:
    result = judged(says(moved(), 1, 0, leader, epoch, isr, elr=elr))
    assert result.verdict is INVALID
    assert result.message.endswith("the metadata log never had that")


def test_a_leader_that_is_fenced_may_be_left_out() -> None:
    fenced = moved().commit(registration_change(2, 12, fenced=1))
    assert judged(says(fenced, 1, 0, -1, 1, [2], elr=[1, 3])).verdict is VALID


def test_a_broker_that_goes_back() -> None:
    cluster = says(says(moved(), 1, 0, 2, 1, ALL), 1, 10, 1, 0, ALL)
    result = judged(cluster)
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 says that node 1 leads t-0 in epoch 0, with the ISR [1,2,3], which was over at "
        "offset 10 of the metadata log, but had described offset 10 before"
    )


def test_another_broker_may_be_behind() -> None:
    assert judged(says(says(moved(), 1, 0, 2, 1, ALL), 2, 10, 1, 0, ALL)).verdict is VALID


def test_partitions_of_one_answer_stood_so_at_one_time() -> None:
    cluster = started().commit(partition("t-1", ALL, 1))
    cluster.commit(change("t-0", leader=2)).commit(change("t-1", leader=2))
    cluster = says(says(cluster, 1, 0, 1, 0, ALL), 1, 0, 2, 1, ALL, key="t-1")
    result = judged(cluster)
    assert result.verdict is INVALID
    assert result.message.endswith("and about other partitions what was never so at the same time")


def test_a_topic_of_a_name_that_was_used_before() -> None:
    cluster = started().commit(remove_topic("t")).commit(topic("t", "another"))
    cluster.commit(partition("t-0", [1, 2], 1, topicId="another"))
    cluster = says(says(cluster, 1, 0, 1, 0, ALL), 1, 10, 1, 0, [1, 2])
    assert judged(cluster).verdict is VALID
    assert judged(says(cluster, 1, 20, 1, 0, ALL)).verdict is INVALID


def test_where_a_majority_may_have_forgotten_it_is_allowed() -> None:
    """One disk is enough, where voters are known by their ids alone."""
    cluster = says(moved(), 1, 0, 3, 1, ALL)
    assert judged(cluster.ended("kill", 1, 0)).verdict is INVALID
    result = judged(cluster.ended("wipe", 1, 0))
    assert (result.verdict, result.facts) == (VALID, {"allowed": 1})
