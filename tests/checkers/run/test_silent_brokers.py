"""A broker that is off is fenced, against metadata logs by hand."""

import pytest

from checkers.run.silent_brokers import silent_brokers_are_fenced
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, fault
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import Cluster, register, registration_change, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
SECOND = 1000 * MS


def judged(cluster: Cluster, off_s: float) -> CheckResult:
    """Of three nodes that are both, 1 was off from second 10 on, and 2 for a second. A session has
    25 s to end: 14 as in an election by Kafka's time-outs, its own 9, and 2."""
    broker = fault(1, "kill", 10_000, int((10 + off_s) * 1000))
    other = fault(2, "kill", 10_000, 11_000) | {"nodes": [2]}
    run = cluster.add("faults", broker, other).run(duration_ns=80 * SECOND)
    return silent_brokers_are_fenced(run)


def back(*, fenced: bool) -> Cluster:
    """It registers again, fenced before or not."""
    cluster = started()
    if fenced:
        cluster.commit(registration_change(1, 11, fenced=1))
    return cluster.commit(register(1, 31)).commit(register(2, 32))


@pytest.mark.parametrize(("fenced", "verdict"), [(True, VALID), (False, INVALID)])
def test_who_was_off_for_longer_than_a_session_is_fenced(fenced: bool, verdict: Verdict) -> None:
    result = judged(back(fenced=fenced), 26.2)
    assert (result.verdict, result.looked_at) == (verdict, 1)


def test_who_is_back_soon_need_not_be() -> None:
    assert saw_nothing(judged(back(fenced=False), 25.9))


def test_nothing_is_asked_while_links_are_slow() -> None:
    slow = fault(3, "slow-links", 12_000, 70_000)
    assert saw_nothing(judged(back(fenced=False).add("faults", slow), 60))
