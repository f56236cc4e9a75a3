"""The quorum by disks and answers alone: Q1, Q2, Q3, Q7, Q11 and M1, by hand."""

import json

import pytest

from checkers.check import Check
from checkers.evidence.evidence import Evidence
from checkers.quorum.agreement import (
    epochs_on_disks,
    later_leaders_hold_committed,
    metadata_logs_agree,
    reported_high_watermarks,
)
from checkers.quorum.elections import one_leader_per_epoch, one_vote_per_epoch
from checkers.suite import judge
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import batch, disk, make_run
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    ALL,
    NODES,
    Cluster,
    Record,
    change,
    leader_change,
    partition,
    register,
    started,
    topic,
)

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
NO_OP = Record(type="NoOp")


def judged(check: Check, cluster: Cluster, **info: object) -> CheckResult:
    result = check(cluster.run(**info))
    assert result is not None
    return result


def elected(leader: int = 2, epoch: int = 3, granting: tuple[int, ...] = (2, 3)) -> Cluster:
    """Node 1 led epoch 1; another one wrote its LeaderChange at offset 10."""
    cluster = started()
    return cluster.commit(leader_change(leader, granting), epoch=epoch)


@pytest.mark.parametrize(
    "check", [epochs_on_disks, reported_high_watermarks, later_leaders_hold_committed]
)
def test_what_traces_tell_is_not_asked_of_disks(check: Check) -> None:
    assert not check.applies(make_run(batches=[batch(1, 0, 0, 1)], disks=[disk(1)]).info)


# --- Q1 ---


@pytest.mark.parametrize(("stored", "verdict"), [(3, VALID), (4, VALID), (2, INVALID)])
def test_the_epoch_of_the_log(stored: int, verdict: Verdict) -> None:
    cluster = elected().add("disks", *(disk(node, epoch=stored) for node in NODES))
    assert judged(epochs_on_disks, cluster).verdict is verdict


def test_the_epoch_that_a_leader_told() -> None:
    cluster = elected().add("disks", *(disk(node, epoch=3) for node in NODES))
    assert judged(epochs_on_disks, cluster.told(1, 2, 3, 5, high_watermark=9)).verdict is VALID
    result = judged(epochs_on_disks, cluster.told(1, 3, 4, 9, high_watermark=9))
    assert result.message == "node 3 was in epoch 4, but its disk holds 3"
    assert judged(epochs_on_disks, cluster.ended("wipe", 3, at=20)).verdict is VALID


def test_no_disk_is_unknown() -> None:
    assert judged(epochs_on_disks, Cluster()).verdict is UNKNOWN


# --- Q2, Q3 ---


@pytest.mark.parametrize(("leader", "verdict"), [(2, VALID), (3, INVALID), (-1, VALID)])
def test_the_leader_that_an_answer_names(leader: int, verdict: Verdict) -> None:
    cluster = elected().told(1, leader, 3, 5, high_watermark=9)
    assert judged(one_leader_per_epoch, cluster).verdict is verdict


@pytest.mark.parametrize(("voted", "verdict"), [(2, VALID), (3, INVALID), (-1, VALID)])
def test_the_votes_that_a_leader_names(voted: int, verdict: Verdict) -> None:
    disks = [disk(node, epoch=3, voted=voted if node == 3 else -1) for node in NODES]
    result = judged(one_vote_per_epoch, elected().add("disks", *disks))
    assert result.verdict is verdict


# --- Q7 ---


def test_high_watermarks_that_rise() -> None:
    assert saw_nothing(reported_high_watermarks(elected().run()))
    cluster = elected().told(1, 1, 1, 5, high_watermark=4).told(1, 1, 1, 6, high_watermark=-1)
    cluster.told(2, 2, 3, 9, high_watermark=11).told(2, 1, 1, 20, high_watermark=8)
    assert judged(reported_high_watermarks, cluster).verdict is VALID


def test_a_new_leader_that_begins_lower() -> None:
    cluster = elected().told(1, 1, 1, 5, high_watermark=9).told(2, 2, 3, 9, high_watermark=8)
    result = judged(reported_high_watermarks, cluster)
    assert result.message == (
        "the leader of epoch 3, node 2, had high watermark 8, below 9 of epoch 1"
    )


def test_one_leader_that_goes_back() -> None:
    later = elected().told(1, 1, 1, 5, high_watermark=9).told(1, 1, 1, 7, high_watermark=8)
    assert judged(reported_high_watermarks, later).verdict is INVALID
    overlapping = elected().told(1, 1, 1, 5, high_watermark=9).told(1, 1, 1, 5, high_watermark=8)
    assert judged(reported_high_watermarks, overlapping).verdict is VALID


# --- Q11 ---


def test_later_leaders_begin_above() -> None:
    cluster = elected().told(1, 1, 1, 5, high_watermark=10).told(2, 2, 3, 9, high_watermark=11)
    assert judged(later_leaders_hold_committed, cluster).verdict is VALID


def test_a_leader_without_what_was_committed() -> None:
    cluster = elected().told(1, 1, 1, 5, high_watermark=11)
    result = judged(later_leaders_hold_committed, cluster)
    assert result.message == (
        "node 2 became leader of epoch 3 with a log that ended at 10, "
        "but 11 was committed in epoch 1"
    )


def test_a_high_watermark_before_the_own_record_is_committed() -> None:
    cluster = elected().told(2, 2, 3, 5, high_watermark=10)
    assert judged(later_leaders_hold_committed, cluster).verdict is INVALID


def test_a_log_that_ends_below_what_was_committed() -> None:
    cluster = elected().told(2, 2, 3, 5, high_watermark=12)
    assert "ends at 11" in judged(later_leaders_hold_committed, cluster).message


# --- M1, and which log is the committed one ---


def test_logs_that_agree_or_lag() -> None:
    cluster = elected().commit(NO_OP, epoch=3, nodes=[1, 2]).commit(NO_OP, epoch=3, nodes=[2])
    assert judged(metadata_logs_agree, cluster).verdict is VALID


def test_an_uncommitted_tail_of_an_old_leader() -> None:
    cluster = started()
    end = cluster.end
    cluster.commit(NO_OP, NO_OP, epoch=1, nodes=[1])
    cluster.end = end
    cluster.commit(leader_change(2, [2, 3]), epoch=2, nodes=[2, 3])
    assert judged(metadata_logs_agree, cluster).verdict is VALID


def test_a_difference_below_a_batch_of_the_same_leader() -> None:
    cluster = started()
    end = cluster.end
    cluster.commit(NO_OP, NO_OP, epoch=1, nodes=[1])
    cluster.end = end
    cluster.commit(leader_change(2, [2, 3]), epoch=2, nodes=[2, 3])
    cluster.commit(NO_OP, epoch=2, nodes=[2, 3])
    cluster.end += 1
    cluster.commit(NO_OP, epoch=2, nodes=[1])
    cluster.end -= 1
    cluster.commit(NO_OP, epoch=2, nodes=[2, 3])
    result = judged(metadata_logs_agree, cluster)
    assert result.verdict is INVALID
    assert result.message.startswith("the metadata logs of node 1 and node 2 differ at offset 10")


def test_committed_is_what_a_majority_of_the_controllers_has() -> None:
    cluster = elected().commit(NO_OP, epoch=3, nodes=[1, 2]).commit(NO_OP, epoch=3, nodes=[2])
    found = Evidence(cluster.run()).committed_log
    assert found is not None
    assert (found.node, found.end, found.batches[-1].last) == (2, 12, 11)
    brokers = {"1": "broker", "2": "controller", "3": "broker"}
    alone = Evidence(cluster.run(roles=brokers))
    assert alone.voters.newest.nodes == (2,)
    assert (only := alone.committed_log) is not None
    assert only.end == 13
    assert Evidence(Cluster().run()).committed_log is None


def test_a_stale_log_is_not_the_committed_one() -> None:
    """However long it is: a newer leader's wins."""
    cluster = started()
    end = cluster.end
    cluster.commit(*[NO_OP] * 5, epoch=1, nodes=[1])
    cluster.end = end
    cluster.commit(leader_change(2, [2, 3]), epoch=2, nodes=[2, 3])
    found = Evidence(cluster.run()).committed_log
    assert found is not None
    assert (found.node, found.end) == (2, end + 1)


# --- the image ---


def test_a_log_that_begins_with_a_snapshot() -> None:
    """What it says is where things stand; records below its end may follow, and count no more."""
    cluster = Cluster(end=20)
    snapshot = [Record(type="SnapshotHeader"), register(1, 11, fenced=False), topic("t")]
    state = partition("t-0", ALL, 1, leaderEpoch=7, partitionEpoch=30)
    for node in NODES:
        for record in (*snapshot, state, Record(type="SnapshotFooter")):
            row = {"node": node, "offset": 21, "epoch": 2, "type": record.type}
            cluster.add("log_records", row | {"detail": _json(record)})
    cluster.commit(change("t-0", leader=2), epoch=2).commit(NO_OP, epoch=2)  # 20, 21: in it
    cluster.commit(change("t-0", leader=3), epoch=2)
    found = Evidence(cluster.run()).timeline
    assert found is not None
    one = found.partitions["t-0"]
    assert (found.start, one.leader, one.leader_epoch, one.partition_epoch) == (22, 3, 8, 31)
    assert len(list(found.changes())) == 1


def _json(record: Record) -> str | None:
    return None if record.detail is None else json.dumps(record.detail)


def test_the_suite_praises_nothing_that_it_did_not_see() -> None:
    """A run of Kafka without any evidence: no check about nodes says valid, but that nothing was
    done that it is about, and that its disks are of one cluster, which they say themselves."""
    rows = {row.check: row for row in judge(Cluster().run(finished=True)).results}
    about_nodes = [row for name, row in rows.items() if name[0] in "QPEM" and name[1].isdigit()]
    about_nodes.remove(rows["Q20-one-cluster"])
    assert about_nodes
    assert all(saw_nothing(row) for row in about_nodes)
    idle = {name for name, row in rows.items() if row in about_nodes and row.verdict is VALID}
    assert idle == {"M6-acknowledged-topics-committed"}
    assert not any(row.verdict is Verdict.ERROR for row in rows.values())
