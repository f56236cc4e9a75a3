"""P1, P2 and P3 by hand: each rejects its own, and accepts what is next to it."""

from collections.abc import Callable

import pytest

from checkers.history.sealed_run import Run
from checkers.partitions.leaders import (
    leader_in_isr,
    one_leader_per_partition_epoch,
    only_active_brokers_lead,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import batch, make_run
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    ALL,
    Cluster,
    change,
    elr,
    partition,
    register,
    registration_change,
    remove_topic,
    started,
    topic,
    unregister,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN

Check = Callable[[Run], CheckResult | None]


def judged(check: Check, cluster: Cluster, **info: object) -> CheckResult:
    result = check(cluster.run(**info))
    assert result is not None
    return result


def fence(cluster: Cluster, node: int) -> Cluster:
    return cluster.commit(registration_change(node, 10 + node, fenced=1))


# --- P1 ---


def test_epochs_of_batches_fit_the_log() -> None:
    cluster = (
        started().commit(change("t-0", leader=2)).replica(1, "t-0", [(0, 5, 2, 0), (2, 7, 1, 1)])
    )
    result = judged(one_leader_per_partition_epoch, cluster)
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_a_batch_of_an_epoch_in_which_nobody_led() -> None:
    cluster = started().commit(change("t-0", leader=-1)).replica(2, "t-0", [(0, 5, 1, 1)])
    result = judged(one_leader_per_partition_epoch, cluster)
    assert result.verdict is INVALID
    assert (
        result.message
        == "the log of t-0 on node 2 holds batches of epoch 1, in which there was no leader"
    )


def test_a_batch_of_an_epoch_that_never_was() -> None:
    cluster = started().replica(2, "t-0", [(0, 5, 1, 7)])
    assert judged(one_leader_per_partition_epoch, cluster).verdict is INVALID


def test_epochs_that_go_down_along_a_replica() -> None:
    spans = [(0, 5, 1, 0), (1, 6, 1, 1), (2, 7, 1, 0)]
    cluster = started().commit(change("t-0", leader=2)).replica(1, "t-0", spans)
    result = judged(one_leader_per_partition_epoch, cluster)
    assert result.verdict is INVALID
    assert "has epoch 0 at offset 2, behind epoch 1" in result.message


def test_a_replica_of_an_older_topic_of_that_name_has_its_own_epochs() -> None:
    cluster = started().replica(2, "t-0", [(0, 5, 1, 7)], topic_id="another")
    assert judged(one_leader_per_partition_epoch, cluster).verdict is VALID


@pytest.mark.parametrize(("leader", "verdict"), [(1, VALID), (2, INVALID), (-1, VALID)])
def test_what_a_broker_says_of_an_epoch(leader: int, verdict: Verdict) -> None:
    cluster = started().told(3, leader, 0, 5, kind="partition", key="t-0")
    assert judged(one_leader_per_partition_epoch, cluster).verdict is verdict


def test_of_a_topic_that_was_made_twice_nobody_knows_which_one_is_meant() -> None:
    again = topic("t", "again"), partition("t-0", ALL, 2, topicId="again")
    cluster = started().commit(remove_topic("t")).commit(*again)
    cluster.told(3, 3, 0, 5, kind="partition", key="t-0")
    assert judged(one_leader_per_partition_epoch, cluster).verdict is VALID


def test_epochs_begin_anew_only_with_a_new_topic() -> None:
    later = started().commit(change("t-0", leader=2)).commit(partition("t-0", ALL, 1))
    result = judged(one_leader_per_partition_epoch, later)
    assert result.message == "t-0 went from leader epoch 1 back to 0"


# --- P2 ---


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"isr": [1, 2]}, VALID),
        ({"isr": [2, 3]}, INVALID),
        ({"isr": [2, 3], "leader": 2}, VALID),
        ({"isr": [2], "leader": -1}, VALID),
        ({"isr": [1, 4]}, INVALID),
        ({"isr": [1, 1]}, INVALID),
        ({"isr": [1], "eligibleLeaderReplicas": [5]}, INVALID),
        ({"isr": [1, 4], "replicas": [1, 2, 4]}, VALID),
    ],
)
def test_leaders_and_members(fields: dict[str, object], verdict: Verdict) -> None:
    assert judged(leader_in_isr, started().commit(change("t-0", **fields))).verdict is verdict


def test_without_a_readable_log_every_row_says_so() -> None:
    cluster = Cluster()
    assert judged(leader_in_isr, cluster).verdict is UNKNOWN
    assert saw_nothing(one_leader_per_partition_epoch(cluster.run()))
    assert saw_nothing(only_active_brokers_lead(cluster.run()))


def test_our_own_node_has_no_partitions() -> None:
    info = make_run(batches=[batch(node, 0, 0, 1) for node in (1, 2, 3)]).info
    for check in (one_leader_per_partition_epoch, leader_in_isr, only_active_brokers_lead):
        assert not check.applies(info)


# --- P3 ---


def test_a_fenced_broker_joins() -> None:
    cluster = (
        started().commit(change("t-0", isr=[1, 2])).commit(registration_change(3, 13, fenced=1))
    )
    assert judged(only_active_brokers_lead, cluster).verdict is VALID
    result = judged(only_active_brokers_lead, cluster.commit(change("t-0", isr=ALL)))
    assert result.verdict is INVALID
    assert result.message == "node 3 joined the ISR of t-0 while it was fenced"


def test_unfencing_comes_before_the_change_in_one_batch() -> None:
    cluster = started().commit(change("t-0", isr=[1, 2]), registration_change(3, 13, fenced=1))
    cluster.commit(registration_change(3, 13, fenced=-1), change("t-0", isr=ALL))
    assert judged(only_active_brokers_lead, cluster).verdict is VALID


def test_a_broker_that_is_shutting_down_is_elected() -> None:
    stopping = registration_change(2, 12, inControlledShutdown=1)
    late = started().commit(stopping).commit(change("t-0", leader=2))
    result = judged(only_active_brokers_lead, late)
    assert result.message == "node 2 was elected leader of t-0 while it was shutting down"
    # Two events in one batch: elected, and then it shuts down as well (seen in 4.3.1).
    both = started().commit(change("t-0", leader=2), stopping, change("t-0", leader=3))
    assert judged(only_active_brokers_lead, both).verdict is VALID


def test_a_broker_that_is_shutting_down_leads_on() -> None:
    stopping = registration_change(1, 11, inControlledShutdown=1)
    result = judged(only_active_brokers_lead, started().commit(stopping))
    assert result.message == "node 1 leads t-0 while it is shutting down"
    handed_over = started().commit(stopping, change("t-0", isr=[2, 3], leader=2))
    assert judged(only_active_brokers_lead, handed_over).verdict is VALID


def test_an_unregistered_broker_is_elected() -> None:
    cluster = started().commit(unregister(2, 12), change("t-0", leader=2))
    assert judged(only_active_brokers_lead, cluster).message.endswith("not registered")


def test_a_fenced_broker_stays_in_an_isr() -> None:
    result = judged(only_active_brokers_lead, fence(started(), 3))
    assert result.message == "node 3 is in the ISR of t-0 while it is fenced"
    alone = started(with_elr=False).commit(change("t-0", isr=[3], leader=3))
    assert judged(only_active_brokers_lead, fence(alone, 3)).verdict is VALID
    with_elr = started().commit(change("t-0", isr=[3], leader=3))
    assert judged(only_active_brokers_lead, fence(with_elr, 3)).verdict is INVALID


def test_the_last_of_an_isr_stays_in_it_as_long_as_nothing_changes_with_elr() -> None:
    alone = fence(started(with_elr=False).commit(change("t-0", isr=[3], leader=3)), 3)
    enabled = alone.commit(elr(1)).commit(registration_change(1, 11, fenced=0))
    assert judged(only_active_brokers_lead, enabled).verdict is VALID
    enabled.commit(change("t-0", leader=-1))
    assert judged(only_active_brokers_lead, enabled).verdict is INVALID
    disabled = fence(started().commit(change("t-0", isr=[3], leader=3)).commit(elr(0)), 3)
    assert judged(only_active_brokers_lead, disabled).verdict is VALID


def test_a_registration_fences() -> None:
    cluster = started().commit(register(3, 40))
    assert judged(only_active_brokers_lead, cluster).verdict is INVALID
    dropped = started().commit(change("t-0", isr=[1, 2]), register(3, 40))
    assert judged(only_active_brokers_lead, dropped).verdict is VALID
