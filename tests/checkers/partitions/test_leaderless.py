"""Partitions without a leader, and who led last, by hand."""

import pytest

from checkers.check import Check
from checkers.partitions.leaderless import eligible_are_elected, last_known_leader_led
from checkers.verdict import Verdict
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import Cluster, Record, change, registration_change, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
OFF = [registration_change(node, 10 + node, fenced=1) for node in (1, 2, 3)]
BACK = [registration_change(node, 10 + node, fenced=-1) for node in (1, 2, 3)]


def judged(check: Check, cluster: Cluster) -> Verdict:
    return check(cluster.run()).verdict


def all_off(**fields: object) -> Cluster:
    told = {"isr": [], "leader": -1, "eligibleLeaderReplicas": [1, 2], "lastKnownElr": [1]}
    return started().commit(*OFF, change("t-0", **{**told, **fields}))


def test_a_partition_that_always_has_a_leader() -> None:
    assert saw_nothing(eligible_are_elected(started().run()))
    assert saw_nothing(last_known_leader_led(started().run()))


def test_nobody_that_may_lead_is_active() -> None:
    assert judged(eligible_are_elected, all_off()) is VALID
    assert judged(eligible_are_elected, all_off().commit(BACK[2])) is VALID  # not eligible


def test_who_comes_back_is_elected() -> None:
    elected = change("t-0", leader=2, isr=[2], eligibleLeaderReplicas=[1])
    assert judged(eligible_are_elected, all_off().commit(BACK[1], elected)) is VALID
    assert judged(eligible_are_elected, all_off().commit(BACK[1]).commit(elected)) is VALID


def test_who_comes_back_is_never_elected() -> None:
    result = eligible_are_elected(all_off().commit(BACK[1]).run())
    assert result.verdict is INVALID
    assert result.message == (
        "t-0 has no leader in epoch 1, though of its ISR [] and ELR [1,2] node 2 is active, and "
        "may lead"
    )


@pytest.mark.parametrize(
    ("has", "verdict"), [("two", INVALID), ("another", VALID)], ids=["its disk", "another disk"]
)
def test_who_comes_back_without_the_replicas_disk_may_not_lead(has: str, verdict: Verdict) -> None:
    placed = change("t-0", directories=["one", "two", "three"])
    told = {"isr": [], "leader": -1, "eligibleLeaderReplicas": [1, 2], "lastKnownElr": [1]}
    cluster = started().commit(placed).commit(*OFF, change("t-0", **told))
    detail = {"brokerId": 2, "brokerEpoch": 12, "fenced": -1, "logDirs": [has]}
    cluster.commit(Record(type="BrokerRegistrationChange", detail=detail))
    assert judged(eligible_are_elected, cluster) is verdict


def test_who_comes_back_is_elected_too_late() -> None:
    late = all_off().commit(BACK[1])
    for _ in range(4):
        late.commit(BACK[2])
    late.commit(change("t-0", leader=2, isr=[2], eligibleLeaderReplicas=[1]))
    assert judged(eligible_are_elected, late) is INVALID


@pytest.mark.parametrize(("isr", "verdict"), [([3], VALID), ([2], INVALID)])
def test_while_there_is_an_isr_only_its_members_may_lead(isr: list[int], verdict: Verdict) -> None:
    cluster = all_off(isr=isr, eligibleLeaderReplicas=[]).commit(BACK[1])
    assert judged(eligible_are_elected, cluster) is verdict


def test_with_both_empty_it_is_the_last_known_leader() -> None:
    nobody = all_off(eligibleLeaderReplicas=[])
    assert judged(eligible_are_elected, nobody.commit(BACK[1])) is VALID
    assert judged(eligible_are_elected, nobody.commit(BACK[0])) is INVALID


def last(*before: Record, named: list[int]) -> Cluster:
    cluster = started()
    for record in before:
        cluster.commit(record)
    return cluster.commit(change("t-0", isr=[], leader=-1, lastKnownElr=named))


def test_who_is_named_led_last() -> None:
    assert judged(last_known_leader_led, last(named=[1])) is VALID
    assert judged(last_known_leader_led, last(change("t-0", leader=2), named=[2])) is VALID


@pytest.mark.parametrize("named", [[1], [3], [1, 2]])
def test_who_is_named_did_not_lead_last(named: list[int]) -> None:
    cluster = last(change("t-0", leader=2), named=named)
    result = last_known_leader_led(cluster.run())
    assert result.verdict is INVALID
    assert result.message.endswith("is recorded as the last leader, but that was node 2")
