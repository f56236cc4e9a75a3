"""Refusals that leaders need not have given, by metadata log, answers and times."""

import pytest

from checkers.partitions.refusals import leaders_do_not_deny_it, too_few_are_too_few
from checkers.verdict import Verdict
from tests.support.histories import MS
from tests.support.kafka_runs import ALL, Cluster, change, started

SECOND = 1000  # ms
WHOLE = {"isr": ALL, "elr": []}
SHRUNK = {"isr": [1], "elr": [2, 3]}
TOO_FEW, DENIED = "NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER"


def asked(cluster: Cluster, at: int, **state: object) -> None:
    """All brokers are asked at a time (ms) and say the same: n1 leads in epoch 0."""
    for node in ALL:
        cluster.told(node, 1, 0, at, kind="partition", key="t-0", **state)


def refused(cluster: Cluster, error: str, at: int, *, node: int = 1, again: bool = False) -> None:
    """A send that took a millisecond from `at` on."""
    cluster.sent("t-0", 0, 100)
    row = {"t0": at * MS, "t1": (at + 1) * MS, "outcome": "fail", "error": error, "node": node}
    cluster.rows["ops"][-1] |= row
    cluster.rows["spans"][-1] |= {"offset": None, "idempotent": again}


def whole() -> Cluster:
    cluster = started()
    asked(cluster, 0, **WHOLE)
    asked(cluster, 9 * SECOND, **WHOLE)
    return cluster


def test_replicas_are_not_too_few_while_all_are_in_the_isr() -> None:
    cluster = whole()
    refused(cluster, TOO_FEW, 5 * SECOND)
    result = too_few_are_too_few(cluster.run())
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert "answered NOT_ENOUGH_REPLICAS, and node 1 led in epoch 0" in result.message


def test_replicas_may_be_too_few_once_that_may_be_committed() -> None:
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    asked(cluster, 0, **WHOLE)
    asked(cluster, 9 * SECOND, **SHRUNK)
    refused(cluster, TOO_FEW, 8 * SECOND)
    result = too_few_are_too_few(cluster.run())
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 1)


def test_a_broker_that_heard_of_more_members_may_not_have_followed_yet() -> None:
    """Its answer tells of what its replicas follow a moment later."""
    cluster = started().commit(change("t-0", isr=[1], eligibleLeaderReplicas=[2, 3]))
    cluster.commit(change("t-0", isr=ALL, eligibleLeaderReplicas=[]))
    asked(cluster, 0, **SHRUNK)
    asked(cluster, 5 * SECOND, **WHOLE)
    refused(cluster, TOO_FEW, 7 * SECOND)
    assert too_few_are_too_few(cluster.run()).verdict is Verdict.VALID
    refused(cluster, TOO_FEW, 8 * SECOND)
    result = too_few_are_too_few(cluster.run())
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)


@pytest.mark.parametrize(
    ("at", "node", "again", "is_true"),
    [
        (5 * SECOND, 1, False, False),
        (5 * SECOND, 2, False, True),  # it does not lead
        (5 * SECOND, 1, True, True),  # somebody else may have been asked last
        (2 * SECOND, 1, False, True),  # it may have led since a moment only
    ],
)
def test_a_leader_does_not_say_that_it_does_not_lead(
    at: int, node: int, again: bool, is_true: bool
) -> None:
    cluster = whole()
    refused(cluster, DENIED, at, node=node, again=again)
    result = leaders_do_not_deny_it(cluster.run())
    assert result.looked_at == 1
    assert result.verdict is (Verdict.VALID if is_true else Verdict.INVALID)


def test_a_leader_that_something_is_wrong_with_may_say_so() -> None:
    cluster = whole()
    refused(cluster, DENIED, 5 * SECOND)
    cluster.ended("partition", 1, 4 * SECOND)
    assert leaders_do_not_deny_it(cluster.run()).verdict is Verdict.VALID


def test_a_leader_that_leads_in_another_epoch_by_then_may_say_so() -> None:
    cluster = started().commit(change("t-0", leader=1))
    asked(cluster, 0, **WHOLE)
    cluster.told(1, 1, 1, 9 * SECOND, kind="partition", key="t-0", **WHOLE)
    refused(cluster, DENIED, 5 * SECOND)
    assert leaders_do_not_deny_it(cluster.run()).verdict is Verdict.VALID


def test_nobody_refused_anything() -> None:
    for check in (too_few_are_too_few, leaders_do_not_deny_it):
        result = check(whole().run())
        assert (result.verdict, result.looked_at) == (Verdict.VALID, 0)
