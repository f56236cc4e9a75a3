"""P9, P10, P11, P13 and P17 against disk images by hand: replicas, and what clients were told."""

from collections.abc import Callable

import numpy as np
import pytest

from checkers.evidence.partition_logs import stretches
from checkers.history.sealed_run import Run
from checkers.partitions.acknowledged_and_read import (
    acknowledged_everywhere,
    acknowledged_with_min_isr,
    leaders_hold_acknowledged,
    reads_are_stored,
)
from checkers.partitions.replica_agreement import eligible_hold_all, replicas_agree
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import disk, make_run, op
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    ALL,
    NODES,
    Cluster,
    change,
    config,
    partition,
    register,
    registration_change,
    remove_topic,
    started,
    topic,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
Check = Callable[[Run], CheckResult | None]
CHECKS = (
    eligible_hold_all,
    replicas_agree,
    leaders_hold_acknowledged,
    acknowledged_everywhere,
    reads_are_stored,
    acknowledged_with_min_isr,
)
UNCLEAN = {"min_isr": "2", "unclean": "on"}
TEN = [(0, 100, 4, 0), (4, 200, 6, 0)]  # spans: offset, value, records, epoch


def judged(check: Check, cluster: Cluster, **info: object) -> CheckResult:
    result = check(cluster.run(**info))
    assert result is not None
    return result


def replicated(*, lagging: int = 0, with_elr: bool = True) -> Cluster:
    """Ten records at all three; node 3 has the first span only, if it is the one that lags."""
    cluster = started(with_elr=with_elr)
    for node in NODES:
        cluster.replica(node, "t-0", TEN[:1] if node == lagging else TEN)
    return cluster


def unclean(cluster: Cluster) -> Cluster:
    """2 and 3 leave, 1 is fenced, and 3 is elected all the same."""
    cluster.commit(
        change("t-0", isr=[1]), *(registration_change(n, 10 + n, fenced=1) for n in (2, 3))
    )
    cluster.commit(change("t-0", isr=[], leader=-1), registration_change(1, 11, fenced=1))
    cluster.commit(registration_change(3, 13, fenced=-1))
    return cluster.commit(change("t-0", isr=[3], leader=3, leaderRecoveryState=1))


@pytest.mark.parametrize("check", CHECKS)
def test_nothing_is_said_where_there_is_nothing_of_it(check: Check) -> None:
    assert saw_nothing(check(make_run()))
    assert saw_nothing(check(Cluster().run()))
    assert saw_nothing(check(started().run()))


# --- P11 ---


def test_replicas_that_agree() -> None:
    result = judged(replicas_agree, replicated())
    assert (result.verdict, result.looked_at) == (VALID, 3)


def test_other_bytes_below_both_high_watermarks() -> None:
    cluster = started().replica(1, "t-0", TEN).replica(2, "t-0", [TEN[0], (4, 999, 6, 0)])
    result = judged(replicas_agree, cluster)
    assert result.message == "t-0: nodes 1 and 2 differ at offset 4, below both high watermarks"
    assert [row["crc"] for row in result.witness] == [200, 999]


def test_other_bytes_above_one_of_the_high_watermarks() -> None:
    cluster = started().commit(change("t-0", isr=[1, 3])).replica(1, "t-0", TEN)
    cluster.replica(2, "t-0", [TEN[0], (4, 999, 6, 0)], high_watermark=9)
    assert judged(replicas_agree, cluster).verdict is VALID


@pytest.mark.parametrize("mark", [9, None])
def test_in_the_isr_no_checkpoint_excuses_other_bytes(mark: int | None) -> None:
    cluster = started().replica(1, "t-0", TEN)
    cluster.replica(2, "t-0", [TEN[0], (4, 999, 6, 0)])
    cluster.rows["replicas"][-1]["high_watermark"] = mark
    assert judged(replicas_agree, cluster).verdict is INVALID


def test_a_batch_that_one_replica_lacks() -> None:
    cluster = started().replica(1, "t-0", TEN)
    cluster.replica(2, "t-0", TEN[:1], high_watermark=10)
    result = judged(replicas_agree, cluster)
    assert result.verdict is INVALID
    assert result.witness[1]["what"] == "has no batch there"


def deleted(cluster: Cluster, before: int) -> Cluster:
    """A client asks for the records of t-0 below this offset to be deleted."""
    number = len(cluster.rows["ops"])
    row = op("delete-records", before, 2 * number, 2 * number + 1, key="t-0")
    return cluster.add("ops", row | {"op_id": number})


def test_what_was_asked_to_be_deleted_is_not_compared() -> None:
    cluster = started().replica(1, "t-0", TEN).replica(2, "t-0", TEN[1:], log_start=4)
    assert judged(replicas_agree, cluster).verdict is INVALID, "nobody asked for that"
    assert judged(replicas_agree, deleted(cluster, 4)).verdict is VALID


def test_before_the_first_checkpoint_nothing_is_known_to_be_below_it() -> None:
    cluster = started()
    for node in NODES:
        cluster.replica(node, "t-0", TEN, high_watermark=0)
    assert saw_nothing(replicas_agree(cluster.run()))


def test_a_replica_that_is_alone_has_none_to_agree_with() -> None:
    alone = started().replica(1, "t-0", TEN)
    for replication, verdict in (("1", VALID), ("2", UNKNOWN)):
        settings = {"min_isr": "1", "replication": replication}
        assert judged(replicas_agree, alone, settings=settings).verdict is verdict


def test_topics_that_are_to_be_compacted_differ() -> None:
    cluster = started().commit(config(2, "t", "cleanup.policy", "compact"))
    cluster.replica(1, "t-0", TEN).replica(2, "t-0", [(4, 999, 6, 0)])
    asked = {"configs": {"cleanup.policy": "compact"}}
    assert saw_nothing(replicas_agree(cluster.run(load=asked)))
    assert judged(replicas_agree, cluster).verdict is INVALID, "the controller alone says so"


def test_after_an_unclean_election_replicas_may_differ() -> None:
    cluster = unclean(started()).replica(1, "t-0", TEN).replica(3, "t-0", [(0, 999, 10, 0)])
    assert judged(replicas_agree, cluster).verdict is INVALID, "nobody had asked for it"
    result = judged(replicas_agree, cluster, settings=UNCLEAN)
    assert (result.verdict, result.facts["allowed"]) == (VALID, 1)
    assert "a leader was elected uncleanly, as was asked for" in result.message


# --- where logs begin ---


@pytest.mark.parametrize("check", [eligible_hold_all, leaders_hold_acknowledged, replicas_agree])
@pytest.mark.parametrize("start", [4, 10])
def test_no_log_begins_later_than_somebody_asked_for(check: Check, start: int) -> None:
    def begun(*nodes: int) -> Cluster:
        cluster = started().sent("t-0", 0, 100, 4).sent("t-0", 4, 200, 6)
        for node in NODES:
            head = {"log_start": start, "log_end": 10, "high_watermark": 10}
            held = TEN[1:] if start == 4 else []
            cluster.replica(node, "t-0", *((held,) if node in nodes else (TEN,)))
            cluster.rows["replicas"][-1].update(head if node in nodes else {})
        return cluster

    assert judged(check, begun(1)).verdict is INVALID
    assert judged(check, deleted(begun(1), start)).verdict is not INVALID
    assert judged(check, deleted(begun(1), start - 1)).verdict is INVALID


# --- P9 ---


def test_members_that_hold_all() -> None:
    result = judged(eligible_hold_all, replicated())
    assert (result.verdict, result.looked_at) == (VALID, 3)


@pytest.mark.parametrize("spot", ["checkpoint", "acknowledged", "answer"])
def test_a_member_that_lacks_something(spot: str) -> None:
    """Whoever tells of the high watermark."""
    marks = {"high_watermark": 10 if spot == "checkpoint" else 0}
    cluster = started().replica(1, "t-0", TEN, **marks).replica(2, "t-0", TEN[:1], high_watermark=4)
    if spot == "acknowledged":
        cluster.sent("t-0", 8, 204, 2)
    elif spot == "answer":
        cluster.polled("t-0", 0, 100).rows["spans"][-1]["high_watermark"] = 10
    result = judged(eligible_hold_all, cluster)
    assert result.message == (
        "t-0: node 2 may lead but its log ends at 4, below the high watermark 10"
    )


def test_who_left_the_isr_may_lack_something() -> None:
    cluster = replicated(lagging=3).commit(change("t-0", isr=[1, 2]))
    assert judged(eligible_hold_all, cluster).verdict is VALID


def test_a_member_of_the_elr_that_does_not_run() -> None:
    gone = change("t-0", isr=[1], eligibleLeaderReplicas=[3])
    cluster = replicated(lagging=3).commit(gone, registration_change(3, 13, fenced=1))
    assert judged(eligible_hold_all, cluster).verdict is VALID
    cluster.add("disks", *(disk(node, clean_shutdown=13 if node == 3 else None) for node in NODES))
    assert judged(eligible_hold_all, cluster).verdict is INVALID


def test_where_nobody_runs_nobody_may_lead() -> None:
    fenced = [registration_change(node, 10 + node, fenced=1) for node in NODES]
    cluster = replicated().commit(*fenced)
    assert saw_nothing(judged(eligible_hold_all, cluster))


# --- P10, P13 ---


def test_what_was_acknowledged_is_at_the_last_leader() -> None:
    cluster = replicated(lagging=3).sent("t-0", 2, 102, 2).sent("t-0", 4, 200, 6)
    result = judged(leaders_hold_acknowledged, cluster)
    assert (result.verdict, result.looked_at) == (VALID, 8)
    result = judged(leaders_hold_acknowledged, cluster.commit(change("t-0", leader=3)))
    assert result.message == (
        "t-0, offset 4: 0/200 was acknowledged and is missing "
        "on the disk of node 3, the last leader"
    )


def test_what_was_acknowledged_is_on_all_replicas_once_they_are_whole() -> None:
    sent = replicated().sent("t-0", 2, 102, 2).sent("t-0", 4, 200, 6)
    result = judged(acknowledged_everywhere, sent, finished=True)
    assert (result.verdict, result.looked_at) == (VALID, 24)
    lagging = replicated(lagging=3).sent("t-0", 4, 200, 6)
    result = judged(acknowledged_everywhere, lagging, finished=True)
    assert result.message == (
        "t-0, offset 4: 0/200 was acknowledged and is missing on the disk of node 3, a replica"
    )
    for rest in ({"finished": False}, {"finished": True, "stuck": "it is not whole"}):
        assert saw_nothing(acknowledged_everywhere(lagging.run(**rest)))


def test_another_value_stands_where_it_was_acknowledged() -> None:
    assert judged(leaders_hold_acknowledged, replicated().sent("t-0", 3, 200)).verdict is INVALID
    over_the_edge = replicated().sent("t-0", 3, 103, 2)
    assert judged(leaders_hold_acknowledged, over_the_edge).verdict is INVALID


def test_acks_of_less_than_all_promise_nothing() -> None:
    assert saw_nothing(leaders_hold_acknowledged(replicated().sent("t-0", 50, 1, acks=1).run()))


def test_a_leader_that_cannot_be_read_proves_nothing() -> None:
    damaged = started().replica(1, "t-0", TEN, problem="torn", whole=False).sent("t-0", 4, 200)
    assert judged(leaders_hold_acknowledged, damaged).verdict is UNKNOWN
    absent = started().replica(2, "t-0", TEN).sent("t-0", 4, 200)
    assert judged(leaders_hold_acknowledged, absent).verdict is UNKNOWN


def test_topics_that_were_deleted_or_made_anew_are_left_out() -> None:
    deleted = replicated().commit(remove_topic("t")).sent("t-0", 50, 1)
    assert saw_nothing(leaders_hold_acknowledged(deleted.run()))
    again = deleted.commit(topic("t"), partition("t-0", ALL, 1))
    assert saw_nothing(leaders_hold_acknowledged(again.run()))


def test_loss_after_an_unclean_election_is_allowed() -> None:
    cluster = unclean(replicated(lagging=3)).sent("t-0", 4, 200, 6)
    assert judged(leaders_hold_acknowledged, cluster).verdict is INVALID
    result = judged(leaders_hold_acknowledged, cluster, settings=UNCLEAN)
    assert (result.verdict, result.facts["allowed"]) == (VALID, 1)


def cut(cluster: Cluster, *nodes: int) -> Cluster:
    """Power cuts, each with the registration behind it; nobody joins the ISR again."""
    for number, node in enumerate(nodes):
        cluster.ended("power-off", node, at=5 + number)
        isr = [one for one in ALL if one not in nodes[: number + 1]]
        leader = {"leader": isr[0]} if isr else {"leader": -1}
        cluster.commit(change("t-0", isr=isr, **leader), register(node, 40 + number))
    return cluster


def test_loss_within_the_budget_is_an_accusation() -> None:
    cluster = cut(replicated(lagging=3).sent("t-0", 4, 200, 6), 1)
    cluster.commit(change("t-0", leader=3))
    assert judged(leaders_hold_acknowledged, cluster).verdict is INVALID


def test_loss_beyond_the_budget_is_allowed() -> None:
    cluster = cut(replicated(lagging=3).sent("t-0", 4, 200, 6), 1, 2)
    result = judged(leaders_hold_acknowledged, cluster)
    assert result.verdict is VALID
    assert "min ISR of its replicas or more were shut down uncleanly" in result.message


def test_a_whole_isr_in_between_renews_the_budget() -> None:
    cluster = cut(replicated(lagging=3).sent("t-0", 4, 200, 6), 1)
    cluster.commit(registration_change(1, 40, fenced=-1), change("t-0", isr=[1, 2, 3]))
    cluster.ended("power-off", 2, at=9)
    cluster.commit(change("t-0", isr=[1, 3], leader=3), register(2, 50))
    untold = judged(leaders_hold_acknowledged, cluster)
    assert untold.verdict is UNKNOWN
    assert "it is not known when the ISR was complete again" in untold.message
    cluster.told(3, 2, 1, 8, kind="partition", key="t-0", isr=[1, 2, 3], elr=[])
    assert judged(leaders_hold_acknowledged, cluster).verdict is INVALID


def test_what_was_read_stays() -> None:
    assert judged(reads_are_stored, replicated().polled("t-0", 0, 100, 4)).verdict is VALID
    changed = judged(reads_are_stored, replicated().polled("t-0", 0, 101, 1))
    assert changed.verdict is INVALID
    assert "101 was read and is missing" in changed.message
    vanished = replicated(lagging=3).polled("t-0", 9, 205).commit(change("t-0", leader=3))
    assert judged(reads_are_stored, vanished).verdict is INVALID
    short = started().replica(1, "t-0", TEN[1:], log_start=4).polled("t-0", 0, 100, 4)
    assert judged(reads_are_stored, short.polled("t-0", 4, 200)).verdict is INVALID
    assert judged(reads_are_stored, deleted(short, 4)).verdict is VALID


# --- P17 ---


@pytest.mark.parametrize(
    ("largest", "verdict"), [([1], INVALID), ([1, 2], VALID)], ids=["always too small", "once"]
)
def test_acknowledged_by_a_small_isr(largest: list[int], verdict: Verdict) -> None:
    cluster = started().commit(change("t-0", isr=[1], leader=1))
    cluster.commit(change("t-0", isr=largest))
    cluster.replica(1, "t-0", [(0, 100, 4, 0), (4, 200, 6, 1)]).sent("t-0", 0, 100, 4)
    assert judged(acknowledged_with_min_isr, cluster).verdict is VALID
    result = judged(acknowledged_with_min_isr, cluster.sent("t-0", 5, 201))
    assert result.verdict is verdict
    if verdict is INVALID:
        assert result.message == (
            "t-0, offset 5: acknowledged to acks=all by node 1 in epoch 1, while the ISR was [1] "
            "and min ISR is 2"
        )


# --- stretches ---


def test_stretches_join_what_goes_on_and_hold_what_lies_within() -> None:
    joined = stretches(np.array([3, 0]), np.array([13, 10]), np.array([2, 3]))
    assert (joined.offset.tolist(), joined.records.tolist()) == ([0], [5])
    asked = [(0, 10, 5), (2, 12, 2), (2, 12, 4), (2, 11, 1), (-1, 9, 1)]
    offset, value, records = (np.array(column) for column in zip(*asked, strict=True))
    assert joined.holds(offset, value, records).tolist() == [True, True, False, False, False]
