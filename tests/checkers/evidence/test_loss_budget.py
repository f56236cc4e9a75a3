"""What may be lost, by the metadata log on the disks: full recoveries need no answer to be seen."""

from dataclasses import replace

import numpy as np
import pytest

from checkers.evidence.evidence import Evidence
from checkers.evidence.loss_budget import LossBudget, LossWindow, loss_budget
from checkers.evidence.promised import always
from tests.support.histories import MS, NodeTrace, node_events, op
from tests.support.kafka_runs import (
    ALL,
    Cluster,
    Record,
    change,
    config,
    register,
    registration_change,
    started,
)

SECOND = 1000  # ms


def ended(cluster: Cluster, kind: str, node: int, at: int, until: int) -> None:
    cluster.ended(kind, node, at)
    cluster.rows["faults"][-1] |= {"t_heal": until * MS, "t_healed": (until + 100) * MS}


def back(cluster: Cluster, node: int, epoch: int, *, without: list[int]) -> None:
    """It drops out, registers anew, and the ISR is whole again."""
    cluster.commit(change("t-0", isr=without), registration_change(node, 10 + node, fenced=1))
    cluster.commit(register(node, epoch))
    cluster.commit(registration_change(node, epoch, fenced=-1))
    cluster.commit(change("t-0", isr=ALL))


def killed_then_cut(*, told: bool) -> Cluster:
    """A kill of 3, minutes of calm, and a power cut of 2."""
    cluster = started()
    ended(cluster, "kill", 3, 1 * SECOND, 5 * SECOND)
    back(cluster, 3, 40, without=[1, 2])
    if told:
        cluster.told(1, 1, 1, 3 * SECOND, kind="partition", key="t-0", isr=[1, 2], elr=[])
    for at in range(10, 100, 10):
        cluster.told(1, 1, 0, at * SECOND, kind="partition", key="t-0", isr=ALL, elr=[])
        cluster.told(1, 1, 1, at * SECOND, high_watermark=cluster.end)
    ended(cluster, "power-off", 2, 120 * SECOND, 125 * SECOND)
    cluster.commit(change("t-0", isr=[1, 3]), registration_change(2, 12, fenced=1))
    return cluster.commit(register(2, 50))


def budget(cluster: Cluster, **info: object) -> LossBudget:
    return Evidence(cluster.run(**info)).once(loss_budget)


@pytest.mark.parametrize("told", [True, False])
def test_a_kill_whose_exit_from_the_isr_no_answer_shows_does_not_spend_it_for_ever(
    told: bool,
) -> None:
    found = budget(killed_then_cut(told=told))
    assert (found.sure["t-0"], found.possible["t-0"], found.worst) == ((), (), 1)


def test_two_at_once_are_too_many_until_all_are_in_sync_again() -> None:
    cluster = started()
    ended(cluster, "kill", 3, 1 * SECOND, 5 * SECOND)
    ended(cluster, "power-off", 2, 2 * SECOND, 6 * SECOND)
    cluster.commit(change("t-0", isr=[1]), register(3, 40), register(2, 41))
    cluster.told(1, 1, 1, 8 * SECOND, high_watermark=cluster.end)
    cluster.commit(change("t-0", isr=ALL))
    cluster.told(1, 1, 1, 9 * SECOND, high_watermark=cluster.end)
    found = budget(cluster)
    (sure,), (possible,) = found.sure["t-0"], found.possible["t-0"]
    assert (sure.from_ns, sure.until_ns) == (2 * SECOND * MS, 8 * SECOND * MS)
    assert possible.from_ns == 2 * SECOND * MS
    assert 9 * SECOND * MS <= possible.until_ns <= (9 * SECOND + 1) * MS
    assert found.worst == 2


@pytest.mark.parametrize(
    ("kept", "is_told"),
    [
        ((0, 1, 2, 3, 4, 5), True),
        ((), False),
        ((0, 1, 2, 3, 5), False),  # when the last one began is gone
    ],
)
def test_a_process_that_died_before_it_registered_is_told_of_by_traces_alone(
    kept: tuple[int, ...], is_told: bool
) -> None:
    """3 is killed twice and registers once: which of its processes that was, only those know."""
    cluster = started()
    ended(cluster, "kill", 3, 1 * SECOND, 2 * SECOND)
    ended(cluster, "kill", 3, 3 * SECOND, 4 * SECOND)
    back(cluster, 3, 40, without=[1, 2])
    cluster.told(1, 1, 1, 8 * SECOND, high_watermark=cluster.end)
    cluster.told(1, 1, 1, 9 * SECOND, high_watermark=cluster.end + 1)
    ended(cluster, "power-off", 2, 120 * SECOND, 125 * SECOND)
    cluster.commit(change("t-0", isr=[1, 3]), registration_change(2, 12, fenced=1))
    trace = NodeTrace(node=3)
    for at, epoch in ((0, -1), (2, -1), (4, 40)):
        trace.restart(0, at=at * SECOND * MS)
        trace.emit("b.life", state="starting", epoch=epoch, previous=-1, fenced=True)
    trace.lines = [trace.lines[place] for place in kept]
    run = cluster.run()
    run = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    found = Evidence(run).once(loss_budget)
    assert bool(found.possible["t-0"]) is not is_told
    assert found.sure["t-0"] == ()


def test_without_a_log_answers_cannot_tell_whether_all_were_in_sync_again() -> None:
    cluster = killed_then_cut(told=False).replica(1, "t-0", [(0, 100, 1, 0)])
    cluster.rows |= {"log_records": [], "log_batches": []}
    found = budget(cluster)
    assert found.sure["t-0"] == ()
    assert [window.from_ns for window in found.possible["t-0"]] == [120 * SECOND * MS]


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [
        (("disk-slow", "disk-slow"), False),
        (("partition", "power-off"), False),
        (("kill", "kill"), False),
        (("kill", "power-off"), True),
        (("power-off", "kill"), True),
        (("wipe", "power-off"), True),
        (("stop", "power-off"), False),
        (("pause", "power-off"), False),
    ],
)
def test_one_rule_by_what_the_fault_does(kinds: tuple[str, str], allowed: bool) -> None:
    """Whatever a fault is called: what counts is that it ends a process uncleanly, and may lose."""
    cluster = started()
    for number, kind in enumerate(kinds):
        ended(cluster, kind, 2 + number, (1 + number) * SECOND, 9 * SECOND)
    assert bool(budget(cluster).possible["t-0"]) is allowed


def test_a_power_cut_after_which_nobody_came_back_counts() -> None:
    """Its cure failed, so nobody looked whether it had bitten; that does not undo it."""
    cluster = started()
    for node in (1, 2, 3):
        cluster.ended("power-off", node, SECOND)
        cluster.rows["faults"][-1] |= {"t_heal": 2 * SECOND * MS, "t_healed": None, "bit": False}
    assert budget(cluster).possible["t-0"]
    assert budget(cluster).worst == 3


def synced_then_all_cut(
    *, before: str = "", short: bool = False, kind: str = "power-off", synced: int = 3
) -> int:
    """Up to when, in ms, an acknowledgement meant that no disk could lose the record; -1: never.

    All disks are synced at 5 s, and all powers fail at 10 s. `before` is a fault at 2 s, `short` a
    time in which 3 was not in the ISR; so many disks are `synced`.
    """
    cluster = started()
    cluster.told(1, 1, 1, 1 * SECOND, high_watermark=cluster.end)
    if short:
        cluster.commit(change("t-0", isr=[1, 2]), change("t-0", isr=ALL))
    if before:
        ended(cluster, before, 3, 2 * SECOND, 3 * SECOND)
    cluster.ended("sync-disks", 1, 5 * SECOND)
    cluster.rows["faults"][-1]["nodes"] = ALL[:synced]
    cluster.told(1, 1, 1, 6 * SECOND, high_watermark=cluster.end)
    cluster.told(1, 1, 1, 9 * SECOND, high_watermark=cluster.end + 1)
    for node in ALL:
        ended(cluster, kind, node, 10 * SECOND, 11 * SECOND)
        cluster.rows["faults"][-1]["fault_id"] = 7
    cluster.commit(change("t-0", isr=[], elr=[]))
    (window, *_) = budget(cluster).possible["t-0"]
    return max(-1, window.synced_ns // MS)


def test_what_all_disks_had_synced_no_power_cut_may_take() -> None:
    assert synced_then_all_cut() == 5 * SECOND


def test_a_sync_counts_only_where_nothing_was_wrong_before_it() -> None:
    assert synced_then_all_cut(before="kill") == -1
    assert synced_then_all_cut(before="partition") == -1
    assert synced_then_all_cut(short=True) == -1
    assert synced_then_all_cut(synced=2) == -1
    assert synced_then_all_cut(kind="wipe") == -1
    assert synced_then_all_cut(before="move-replicas") == 5 * SECOND


def test_records_are_losable_by_when_they_were_acknowledged() -> None:
    window = LossWindow(from_ns=10, until_ns=20, spent=3, synced_ns=5)
    windows = {"t-0": (window,)}
    found = LossBudget(
        lowest=2,
        worst=3,
        sure=windows,
        possible=windows,
        min_isr={"t-0": always(2)},
        unclean_elections=False,
    )
    key, sent = np.zeros(4, np.int32), np.array([1, 1, 12, 25])
    answered = np.array([4, 5, 13, 26])
    for losable in (found.allows_loss, found.may_allow_loss):
        assert losable(["t-0"], key, sent, answered).tolist() == [False, True, True, False]


# --- what was promised ---


def cut_once(*records: Record, at: int = 5) -> Cluster:
    """A power cut of broker 1 at 5 s, and these records in the metadata log before it."""
    cluster = started().commit(*records) if records else started()
    ended(cluster, "power-off", 1, at * SECOND, (at + 1) * SECOND)
    cluster.commit(change("t-0", isr=[2, 3]), registration_change(1, 11, fenced=1))
    return cluster.commit(register(1, 50))


def losable(cluster: Cluster, acknowledged: int, **info: object) -> tuple[bool, bool]:
    """Whether the loss of a record that was acknowledged at so many seconds is surely allowed, and
    whether it may be."""
    found = budget(cluster, **info)
    at = np.array([acknowledged * SECOND * MS])
    asked = ["t-0"], np.zeros(1, np.int32), at, at
    return bool(found.allows_loss(*asked)[0]), bool(found.may_allow_loss(*asked)[0])


MINIMUM = "min.insync.replicas"


def test_what_the_metadata_log_says_by_itself_promises_nobody_less() -> None:
    for lowered in (config(2, "t", MINIMUM, "1"), config(4, "", MINIMUM, "1")):
        assert losable(cut_once(lowered), 1) == (False, False)
    assert losable(cut_once(), 1, settings={"min_isr": "1"}) == (True, True)
    outside = config(2, "t", "unclean.leader.election.enable", "true")
    cluster = cut_once(outside).commit(change("t-0", isr=[], leader=-1))
    cluster.commit(change("t-0", isr=[1], leader=1, leaderRecoveryState=1))
    assert losable(cluster, 1) == (False, False)
    asked = {"min_isr": "2", "unclean": "on"}
    assert losable(cluster, 1, settings=asked) == (True, True)


def lowered(at: int, *, outcome: str = "ok") -> Cluster:
    """Clients ask for a min ISR of 1 at some second, and the power fails at 5 s."""
    cluster = cut_once()
    row = op("set-min-isr", 1, 0, 1, key="cluster", outcome=outcome)
    row |= {"t0": at * SECOND * MS, "t1": at * SECOND * MS + MS}
    return cluster.add("ops", row)


def test_a_record_is_promised_by_the_min_isr_that_was_in_force() -> None:
    before = lowered(2)
    assert losable(before, 3) == (True, True), "acknowledged when one was enough"
    assert losable(before, 1) == (False, True), "it was two when it was acknowledged"
    assert losable(lowered(2, outcome="info"), 3) == (False, True), "nobody knows"
    assert losable(lowered(2, outcome="fail"), 3) == (False, False)


def test_who_lowers_it_afterwards_excuses_nothing() -> None:
    assert losable(lowered(7), 3) == (False, False)
    assert losable(lowered(7), 1) == (False, False)


def test_replicas_that_were_asked_for_and_never_made_excuse_nothing() -> None:
    alone = started()
    for rows in alone.rows["log_records"]:
        if rows["type"] == "Partition":
            rows["detail"] = str(rows["detail"]).replace("[1, 2, 3]", "[1]")
    ended(alone, "power-off", 1, 5 * SECOND, 6 * SECOND)
    alone.commit(change("t-0", isr=[], leader=-1))
    asked = {"min_isr": "2", "replication": "3"}
    assert losable(alone, 1, settings=asked) == (False, False)
    assert losable(alone, 1, settings={"min_isr": "2", "replication": "1"}) == (True, True)
