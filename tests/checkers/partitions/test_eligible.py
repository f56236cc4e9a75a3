"""E1-E9 by hand: each rejects its own, and accepts what is next to it."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run
from checkers.partitions.eligible import (
    eligible_are_kept,
    elr_alone_keeps_epoch,
    elr_elected_with_empty_isr,
    elr_joined_from_isr,
    elr_only_below_min_isr,
    isr_and_elr_are_disjoint,
    no_other_is_elected,
    unclean_leader_recovers,
)
from checkers.partitions.leaderless import (
    can_be_led_again,
    lost_bytes_are_not_clean,
    unclean_registration_drops,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import MS, NodeTrace, make_run, node_events
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import (
    ALL,
    Cluster,
    Record,
    change,
    clear_elr,
    config,
    elr,
    partition,
    register,
    registration_change,
    started,
    topic,
    unregister,
)

VALID, INVALID = Verdict.VALID, Verdict.INVALID
Check = Callable[[Run], CheckResult | None]


def moved(isr: list[int], elr: list[int] | None = None, **rest: object) -> Record:
    known = {} if elr is None else {"eligibleLeaderReplicas": elr}
    return change("t-0", isr=isr, **known, **rest)


def fence(node: int) -> Record:
    return registration_change(node, 10 + node, fenced=1)


def unfence(node: int, epoch: int) -> Record:
    return registration_change(node, epoch, fenced=-1)


def judged(check: Check, cluster: Cluster, **info: object) -> CheckResult:
    result = check(cluster.run(**info))
    assert result is not None
    return result


def shrunk() -> Cluster:
    """ISR [1], and 2, then 3, fenced: ELR [2]."""
    first = started().commit(moved([1, 2]), fence(3))
    return first.commit(moved([1], [2]), fence(2))


def one_by_one() -> Cluster:
    """As `shrunk`, and 1 fenced: nobody leads, the ELR is [1, 2]."""
    return shrunk().commit(moved([], [1, 2], leader=-1, lastKnownElr=[1]), fence(1))


@pytest.mark.parametrize(
    "check",
    [
        isr_and_elr_are_disjoint,
        elr_only_below_min_isr,
        eligible_are_kept,
        elr_alone_keeps_epoch,
        elr_joined_from_isr,
        elr_elected_with_empty_isr,
        no_other_is_elected,
        unclean_leader_recovers,
        can_be_led_again,
        unclean_registration_drops,
        lost_bytes_are_not_clean,
    ],
)
def test_nothing_is_said_where_there_is_nothing_of_it(check: Check) -> None:
    assert saw_nothing(check(make_run()))
    assert saw_nothing(check(Cluster().run()))
    assert saw_nothing(check(started(with_elr=False).run()))


def test_a_partition_that_no_broker_can_lead_again() -> None:
    """A ClearElr while the ISR is empty (stranded-partition), or a last leader that is none."""
    assert judged(can_be_led_again, one_by_one()).verdict is VALID
    result = judged(can_be_led_again, one_by_one().commit(clear_elr("t"), fence(2)))
    assert result.verdict is INVALID
    assert result.message.startswith("t-0 has neither ISR, ELR nor a last known leader after the")
    assert judged(can_be_led_again, one_by_one().commit(clear_elr("u"))).verdict is VALID
    assert judged(can_be_led_again, shrunk().commit(clear_elr("t"))).verdict is VALID
    switched_off = one_by_one().commit(elr(0), clear_elr(""))
    assert judged(can_be_led_again, switched_off).verdict is VALID


@pytest.mark.parametrize(
    ("elr", "known", "verdict"),
    [
        ([], [-1], INVALID),
        ([], [], INVALID),
        ([], [1], VALID),
        ([2], [-1], VALID),
        ([], [1, 2], VALID),
        ([], [9], INVALID),
        ([9], [], INVALID),
        ([9], [1], VALID),
    ],
)
def test_what_is_left_beside_an_empty_isr(
    elr: list[int], known: list[int], verdict: Verdict
) -> None:
    cluster = shrunk().commit(moved([], elr, leader=-1, lastKnownElr=known))
    assert judged(can_be_led_again, cluster).verdict is verdict


def test_a_partition_is_stranded_once_and_again() -> None:
    """Every change while it is so is not another one."""
    cluster = one_by_one().commit(clear_elr("t")).commit(change("t-0", lastKnownElr=[-1]))
    assert judged(can_be_led_again, cluster).count == 1
    cluster.commit(moved([1], leader=1)).commit(moved([], leader=-1))
    assert judged(can_be_led_again, cluster).count == 2


def test_isr_and_elr_share_nobody() -> None:
    assert judged(isr_and_elr_are_disjoint, one_by_one()).verdict is VALID
    result = judged(isr_and_elr_are_disjoint, shrunk().commit(moved([1], [1, 2])))
    assert (result.verdict, result.message) == (INVALID, "t-0: [1] are in ISR and ELR at once")


def test_an_elr_beside_a_large_isr() -> None:
    assert judged(elr_only_below_min_isr, one_by_one()).verdict is VALID
    large = started().commit(moved([1, 2], [3]))
    assert judged(elr_only_below_min_isr, large).verdict is INVALID
    assert judged(elr_only_below_min_isr, large, settings={"min_isr": "3"}).verdict is VALID
    assert judged(elr_only_below_min_isr, large, settings={"min_isr": "1"}).verdict is INVALID


def test_min_isr_is_that_of_the_moment_and_never_more_than_replicas() -> None:
    minimum = "min.insync.replicas"
    later = started().commit(config(2, "t", minimum, "3")).commit(moved([1, 2], [3]))
    later.commit(config(2, "t", minimum, "2"), clear_elr("t"))
    assert judged(elr_only_below_min_isr, later).verdict is VALID
    cluster_wide = started().commit(config(4, "", minimum, "3")).commit(moved([1, 2], [3]))
    assert judged(elr_only_below_min_isr, cluster_wide).verdict is VALID
    capped = started().commit(config(2, "t", minimum, "9")).commit(moved(ALL, [3]))
    assert judged(elr_only_below_min_isr, capped).verdict is INVALID


def test_an_elr_that_a_new_min_isr_forbids_is_not_left() -> None:
    """Whether or not the partition ever changes again."""
    lower = shrunk().commit(config(2, "t", "min.insync.replicas", "1"))
    result = judged(elr_only_below_min_isr, lower)
    assert result.verdict is INVALID
    assert "the ELR [2] is left after a batch that set min ISR to 1" in result.message
    cleared = shrunk().commit(config(2, "t", "min.insync.replicas", "1"), clear_elr("t"))
    assert judged(elr_only_below_min_isr, cleared).verdict is VALID
    elsewhere = shrunk().commit(config(2, "u", "min.insync.replicas", "1"))
    assert judged(elr_only_below_min_isr, elsewhere).verdict is VALID


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        (change("t-0", eligibleLeaderReplicas=[]), VALID),
        (change("t-0", eligibleLeaderReplicas=[], leader=1), INVALID),
        (change("t-0", lastKnownElr=[2], leader=1), INVALID),
        (change("t-0", eligibleLeaderReplicas=[], isr=[1, 2], leader=2), VALID),
    ],
)
def test_an_elr_that_changes_alone_begins_no_leader_epoch(record: Record, verdict: Verdict) -> None:
    result = judged(elr_alone_keeps_epoch, shrunk().commit(record, register(2, 30)))
    assert result.verdict is verdict


def test_somebody_eligible_is_dropped() -> None:
    assert judged(eligible_are_kept, one_by_one()).verdict is VALID
    dropped = shrunk().commit(moved([1], []))
    result = judged(eligible_are_kept, dropped)
    assert result.message.startswith("t-0: [2] left both ISR and ELR")


@pytest.mark.parametrize(
    "records",
    [
        [moved([1], []), register(2, 40)],
        [unregister(2, 12), moved([1], [])],
        [clear_elr("t")],
        [clear_elr("")],
        [moved([1], [], replicas=[1, 3])],
    ],
    ids=["unclean registration", "unregistered", "cleared", "all cleared", "reassigned"],
)
def test_reasons_to_drop(records: list[Record]) -> None:
    assert judged(eligible_are_kept, shrunk().commit(*records)).verdict is VALID


def test_another_topic_cleared_is_no_reason() -> None:
    cluster = shrunk().commit(clear_elr("other")).commit(moved([1], []))
    assert judged(eligible_are_kept, cluster).verdict is INVALID


def test_the_rest_is_enough() -> None:
    cluster = started().commit(moved([1, 2]), fence(3))
    assert judged(eligible_are_kept, cluster).verdict is VALID


def test_the_elr_is_joined_from_the_isr() -> None:
    assert judged(elr_joined_from_isr, one_by_one()).verdict is VALID
    result = judged(elr_joined_from_isr, shrunk().commit(moved([1], [2, 3])))
    assert result.message == "t-0: [3] joined the ELR from outside the ISR"


def test_a_member_of_the_elr_leads_when_the_isr_is_empty() -> None:
    elected = one_by_one().commit(unfence(2, 12), moved([2], [1], leader=2))
    assert judged(elr_elected_with_empty_isr, elected).verdict is VALID
    # In one record with the last member's leaving.
    at_once = shrunk().commit(unfence(2, 12)).commit(moved([2], [1], leader=2), fence(1))
    assert judged(elr_elected_with_empty_isr, at_once).verdict is VALID


def test_a_member_of_the_elr_leads_instead_of_the_isr() -> None:
    early = shrunk().commit(unfence(2, 12), moved([2], [1], leader=2))
    result = judged(elr_elected_with_empty_isr, early)
    assert result.message == (
        "t-0: node 2 was elected from the ELR although [1] of the ISR were active"
    )
    more = one_by_one().commit(unfence(2, 12), moved([2, 3], [1], leader=2))
    assert "the ISR became [2,3]" in judged(elr_elected_with_empty_isr, more).message


def recovering(**rest: object) -> Record:
    return moved([3], [], leader=3, leaderRecoveryState=1, **rest)


def test_somebody_else_is_elected() -> None:
    cluster = one_by_one().commit(unfence(3, 13), recovering())
    result = judged(no_other_is_elected, cluster)
    assert result.verdict is INVALID
    assert result.message == ("t-0: node 3 was elected, from outside the ISR [] and the ELR [1,2]")
    allowed = judged(no_other_is_elected, cluster, settings={"min_isr": "2", "unclean": "on"})
    assert (allowed.verdict, allowed.facts["allowed"]) == (VALID, 1)
    by_itself = one_by_one().commit(config(2, "t", "unclean.leader.election.enable", "true"))
    by_itself.commit(unfence(3, 13), recovering())
    assert judged(no_other_is_elected, by_itself).verdict is INVALID, "nobody asked for that"
    alone = judged(no_other_is_elected, by_itself, gives=("metadata-logs",))
    assert alone.verdict is VALID, "of disks alone nobody knows who asked for what"


def test_the_last_known_leader_is_elected_when_nobody_is_eligible() -> None:
    emptied = one_by_one().commit(moved([], [2]), register(1, 40))
    emptied.commit(moved([], []), register(2, 50))
    elected = moved([1], [], leader=1, leaderRecoveryState=1, lastKnownElr=[])
    result = judged(no_other_is_elected, emptied.commit(unfence(1, 40), elected))
    assert (result.verdict, result.facts["allowed"]) == (VALID, 1)


def test_the_last_known_leader_is_elected_as_the_last_eligible_one_registers_unclean() -> None:
    left = one_by_one().commit(moved([], [2]), register(1, 40)).commit(unfence(1, 40))
    elected = moved([1], [], leader=1, leaderRecoveryState=1, lastKnownElr=[])
    result = judged(no_other_is_elected, left.commit(elected, register(2, 50)))
    assert (result.verdict, result.facts["allowed"]) == (VALID, 1)


def test_the_last_known_leader_is_elected_while_somebody_is_eligible() -> None:
    left = one_by_one().commit(moved([], [2]), register(1, 40))
    elected = moved([1], [], leader=1, leaderRecoveryState=1, lastKnownElr=[])
    result = judged(no_other_is_elected, left.commit(unfence(1, 40), elected))
    assert result.verdict is INVALID


def test_without_elr_the_last_known_leader_is_nobody() -> None:
    cluster = started(with_elr=False).commit(moved([1]), fence(2), fence(3))
    cluster.commit(change("t-0", leader=-1, lastKnownElr=[2]), fence(1))
    cluster.commit(unfence(2, 12), moved([2], leader=2, leaderRecoveryState=1))
    assert judged(no_other_is_elected, cluster).verdict is INVALID


def test_a_reassignment_elects_whom_it_adds() -> None:
    cluster = started().commit(moved([2, 3], leader=2, replicas=[2, 3]))
    cluster.commit(moved([1], leader=1, replicas=[1]))
    assert judged(no_other_is_elected, cluster).verdict is VALID


def test_a_member_of_the_elr_joins_the_isr_by_which_a_reassignment_is_done() -> None:
    """Its leader, which is no target, proposed the ISR."""
    moving = shrunk().commit(unfence(2, 12))
    moving.commit(change("t-0", replicas=[2, 1, 3], removingReplicas=[1, 3]))
    done = moved([2], [], leader=2, replicas=[2], removingReplicas=[])
    assert saw_nothing(judged(elr_elected_with_empty_isr, moving.commit(done)))


@pytest.mark.parametrize(
    ("record", "verdict"),
    [
        (recovering(), VALID),
        (moved([3], [], leader=3), INVALID),
        (moved([3, 2], [], leader=3, leaderRecoveryState=1), INVALID),
        (moved([3], [2], leader=3, leaderRecoveryState=1), INVALID),
    ],
    ids=["alone and recovering", "not recovering", "not alone", "with an ELR"],
)
def test_an_unclean_leader(record: Record, verdict: Verdict) -> None:
    cluster = one_by_one().commit(unfence(3, 13), record)
    assert judged(unclean_leader_recovers, cluster).verdict is verdict


def test_recovering_ends_before_others_join() -> None:
    cluster = one_by_one().commit(unfence(3, 13), recovering()).commit(unfence(2, 12))
    assert judged(unclean_leader_recovers, cluster.commit(moved([3, 2]))).verdict is INVALID
    cluster = one_by_one().commit(unfence(3, 13), recovering()).commit(unfence(2, 12))
    joined = cluster.commit(moved([3, 2], leaderRecoveryState=0))
    assert judged(unclean_leader_recovers, joined).verdict is VALID


# --- E5, E6 ---


def killed(kind: str = "kill") -> Cluster:
    """Broker 2, in the ELR, was ended."""
    return shrunk().ended(kind, 2, at=5)


def test_a_killed_broker_is_dropped_when_it_registers() -> None:
    dropped = killed().commit(moved([1], []), register(2, 40))
    result = judged(unclean_registration_drops, dropped)
    assert (result.verdict, result.looked_at) == (VALID, 1)
    kept = judged(unclean_registration_drops, killed().commit(register(2, 40)))
    assert kept.verdict is INVALID
    assert kept.message == (
        "node 2 registered at offset 14 after kill, and is still eligible to lead t-0"
    )
    assert kept.witness[0]["what"] == "ended the process before: kill of node 2"


def test_a_broker_that_was_stopped_stays_eligible() -> None:
    assert saw_nothing(unclean_registration_drops(killed("stop").commit(register(2, 40)).run()))


def test_the_same_process_registers_again() -> None:
    again = register(2, 12)
    assert saw_nothing(unclean_registration_drops(killed().commit(again).run()))


def test_where_numbers_differ_nothing_is_said() -> None:
    twice = killed().ended("kill", 2, at=9).commit(register(2, 40))
    assert saw_nothing(unclean_registration_drops(twice.run()))


def test_a_fault_that_did_not_bite_ended_nobody() -> None:
    cluster = killed("stop")
    cluster.rows["faults"][0]["bit"] = False
    cluster.ended("kill", 2, at=9).commit(register(2, 40))
    assert judged(unclean_registration_drops, cluster).verdict is INVALID


def test_who_is_dropped_once_is_dropped_everywhere() -> None:
    """By the log alone: an unclean registration, of which one partition was forgotten."""
    other = change("u-0", isr=[1], eligibleLeaderReplicas=[2])
    cluster = started().commit(topic("u"), partition("u-0", ALL, 1))
    cluster.commit(moved([1], [2]), other, fence(2))
    cluster.commit(moved([1], []), register(2, 40))
    result = judged(unclean_registration_drops, cluster)
    assert result.message.endswith("after an unclean shutdown, and is still eligible to lead u-0")


def test_lost_bytes_never_look_clean() -> None:
    assert saw_nothing(lost_bytes_are_not_clean(killed("kill").commit(register(2, 40)).run()))
    assert saw_nothing(
        lost_bytes_are_not_clean(killed("stop-then-power-off").commit(register(2, 40)).run())
    )
    result = judged(lost_bytes_are_not_clean, killed("power-off").commit(register(2, 40)))
    assert result.verdict is INVALID
    assert "after power-off" in result.message
    dropped = killed("power-off").commit(moved([1], []), register(2, 40))
    assert judged(lost_bytes_are_not_clean, dropped).verdict is VALID


def back_after(kind: str) -> Cluster:
    """2, of the ELR, registers after that, and is dropped."""
    return shrunk().ended(kind, 2, 0).commit(moved([1], []), register(2, 40))


@pytest.mark.parametrize(("kind", "verdict"), [("kill", VALID), ("stop", INVALID)])
def test_a_registration_is_a_reason_where_it_is_unclean(kind: str, verdict: Verdict) -> None:
    result = judged(eligible_are_kept, back_after(kind))
    assert result.verdict is verdict


def test_who_did_not_end_in_time_or_was_hit_again_may_be_unclean() -> None:
    slow = back_after("stop")
    slow.rows["faults"][0] |= {"t_bit": 10_000 * MS, "t_heal": 10_000 * MS}
    assert judged(eligible_are_kept, slow).verdict is VALID
    again = back_after("stop")
    again.rows["faults"][0]["t_healed"] = 5 * MS
    cut = {**back_after("power-off").rows["faults"][0], "ends_process": False, "fault_id": 1}
    again.add("faults", cut | {"t_start": 2 * MS, "t_healed": 3 * MS})
    assert judged(eligible_are_kept, again).verdict is VALID


@pytest.mark.parametrize(("previous", "verdict"), [(12, INVALID), (-1, VALID)])
def test_of_who_traces_it_is_what_it_asked_for(previous: int, verdict: Verdict) -> None:
    trace = NodeTrace(2).start()
    trace.emit("b.life", state="starting", epoch=40, previous=previous, fenced=True)
    cluster = shrunk().commit(moved([1], []), register(2, 40))
    run = cluster.run(target="node test")
    run = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    assert eligible_are_kept(run).verdict is verdict
