"""What brokers tell in calm, by hand."""

from checkers.run.late_answers import described_partitions_are_new
from checkers.verdict import CheckResult, Verdict
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import ALL, Cluster, change, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID


def says(cluster: Cluster, node: int, at: int, leader: int, epoch: int) -> Cluster:
    told = {"isr": ALL, "elr": [], "last_known_elr": []}
    return cluster.told(node, leader, epoch, at, kind="partition", key="t-0", **told)


def moved() -> Cluster:
    """Node 1 tells at 20 s that node 2 leads."""
    return says(started().commit(change("t-0", leader=2)), 1, 20_000, 2, 1)


def judged(cluster: Cluster) -> CheckResult:
    return described_partitions_are_new(cluster.run(runtime="sim", duration_ns=60_000_000_000))


def test_what_was_over_just_now_may_be_told() -> None:
    result = judged(says(moved(), 3, 21_000, 1, 0))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_what_was_over_long_before() -> None:
    result = judged(says(moved(), 3, 23_000, 1, 0))
    assert result.verdict is INVALID
    assert "another broker had described offset 10" in result.message


def test_behind_a_fault_there_is_no_calm() -> None:
    assert saw_nothing(judged(says(moved(), 3, 23_000, 1, 0).ended("kill", 3, 15_000)))


def test_who_is_asked_too_rarely_says_nothing_of_others() -> None:
    assert judged(says(says(moved(), 3, 10_000, 1, 0), 3, 40_000, 2, 1)).verdict is VALID
