"""Writes that are answered long after they were committed, by hand."""

from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run
from checkers.run.answered_at_once import answered_when_committed
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import (
    MS,
    NodeTrace,
    batch,
    config_record,
    make_run,
    node_events,
    with_snapshots,
    write,
)
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import Cluster, change, started, topic_id

VALID, INVALID = Verdict.VALID, Verdict.INVALID
AT = {"topic": topic_id("t"), "index": 0}
LIMIT = 100  # ms


def leads(node: int, epoch: int, *marks: tuple[int, int]) -> NodeTrace:
    """And calls committed what is below each mark, at that time in ms; it lives for 10 s."""
    trace = NodeTrace(node).start()
    trace.emit("p.role", marks[0][0] * MS, role="leader", epoch=epoch, end=0, hwm=0, **AT)
    ids = [{"id": each} for each in (1, 2, 3)]
    trace.emit("p.isr", partition_epoch=0, epoch=epoch, isr=ids, maximal=ids, **AT)
    for at, mark in marks:
        trace.emit("p.hwm", at * MS, epoch=epoch, hwm=mark, end=mark, ends=[], **AT)
    return trace.emit("n.stop", 10_000 * MS, code=0, reason="told to")


def sent(answered: int | None, *, outcome: str = "ok", stored: int = 0) -> Cluster:
    """At 10 ms, and committed at 50 ms, in leader epoch 0."""
    cluster = started().sent("t-0", 0, 100)
    cluster.rows["ops"][0] |= {"t0": 10 * MS, "outcome": outcome}
    cluster.rows["ops"][0]["t1"] = None if answered is None else answered * MS
    if outcome != "ok":
        cluster.rows["spans"][0]["offset"] = None
    return cluster.replica(1, "t-0", [(0, 100, 1, stored)])


def judged(cluster: Cluster, *traces: NodeTrace) -> CheckResult:
    told = traces or (leads(1, 0, (50, 1)),)
    run = cluster.run(target="node test", runtime="sim", duration_ns=20_000 * MS)
    return answered_when_committed(
        replace(run, tables={**run.tables, "node_events": node_events(list(told))})
    )


@pytest.mark.parametrize(
    ("answered", "verdict"), [(51, VALID), (50 + LIMIT, VALID), (51 + LIMIT, INVALID)]
)
def test_what_is_committed_is_answered_at_once(answered: int, verdict: Verdict) -> None:
    result = judged(sent(answered))
    assert (result.verdict, result.looked_at) == (verdict, 1)


@pytest.mark.parametrize("outcome", ["info", "fail"])
def test_what_times_out_though_it_is_committed(outcome: str) -> None:
    result = judged(sent(1_000, outcome=outcome))
    assert result.verdict is INVALID
    assert (
        "was answered 0.95 s later, though node 1 had committed all below 1 of t-0"
        in result.message
    )


def test_what_is_never_answered() -> None:
    result = judged(sent(None, outcome="info"))
    assert result.verdict is INVALID
    assert "was never answered" in result.message


def test_what_was_answered_before_did_not_wait() -> None:
    assert saw_nothing(judged(sent(40)))


def test_what_is_sent_again_after_that_waits_from_then_on() -> None:
    cluster = sent(1_000)
    cluster.rows["ops"][0]["t0"] = 950 * MS
    assert judged(cluster).verdict is VALID


@pytest.mark.parametrize(("node", "verdict"), [(1, VALID), (2, INVALID)])
def test_a_fault_of_the_leader_excuses_it(node: int, verdict: Verdict) -> None:
    assert judged(sent(1_000).ended("pause", node, 60)).verdict is verdict
    assert judged(sent(1_000).ended("pause", node, 40)).verdict is INVALID  # it was over
    assert judged(sent(1_000).ended("pause", node, 160)).verdict is INVALID  # it was due


def test_a_fault_may_have_swallowed_the_request_before_the_commit() -> None:
    assert judged(sent(1_000).ended("shut-out-clients", 1, 40)).verdict is VALID
    assert judged(sent(1_000).ended("shut-out-clients", 2, 40)).verdict is INVALID
    assert judged(sent(1_000).ended("shut-out-clients", 1, 9)).verdict is INVALID  # none was sent


def test_the_next_leader_answers_for_itself() -> None:
    later = leads(2, 1, (120, 1))
    cluster = sent(1_000).commit(change("t-0", leader=2))
    assert saw_nothing(judged(cluster, leads(1, 0, (50, 1)), later))


def polled(asked: int, answered: int, *, node: int = 1, **info: object) -> CheckResult:
    """Of the record that is committed at 50 ms; node 1 leads from 20 ms on."""
    cluster = started().polled("t-0", 0, 100)
    cluster.rows["ops"][0] |= {"t0": asked * MS, "t1": answered * MS, "node": node}
    run = cluster.run(target="node test", runtime="sim", duration_ns=20_000 * MS, **info)
    led = NodeTrace(1).start()
    led.emit("p.role", 20 * MS, role="leader", epoch=0, end=0, hwm=0, **AT)
    ids = [{"id": each} for each in (1, 2, 3)]
    led.emit("p.isr", partition_epoch=0, epoch=0, isr=ids, maximal=ids, **AT)
    led.emit("p.hwm", 50 * MS, epoch=0, hwm=1, end=1, ends=[], **AT)
    led.emit("n.stop", 10_000 * MS, code=0, reason="told to")
    return answered_when_committed(
        replace(run, tables={**run.tables, "node_events": node_events([led])})
    )


@pytest.mark.parametrize(
    ("asked", "answered", "verdict"),
    [(30, 140, VALID), (30, 160, INVALID), (400, 490, VALID), (400, 510, INVALID)],
)
def test_who_polls_is_given_what_is_committed(asked: int, answered: int, verdict: Verdict) -> None:
    result = polled(asked, answered)
    assert (result.verdict, result.looked_at) == (verdict, 1)


def test_polls_that_may_have_waited_for_something_else() -> None:
    assert saw_nothing(polled(30, 500, node=2))
    assert saw_nothing(polled(10, 500))  # before it led
    assert saw_nothing(polled(30, 500, load={"transactional": True}))


def written(answered: int, *traces: NodeTrace) -> Run:
    asked = write(7, 0, 1) | {"t0": 10 * MS, "t1": answered * MS}
    led = NodeTrace(1).start().state("leader", 1, leader=1, at=20 * MS)
    led.emit("q.hwm", 50 * MS, hwm=6, epoch=1, role="leader")
    led.emit("n.stop", 10_000 * MS, code=0, reason="told to")
    return make_run(
        ops=[asked],
        traces=[led, *traces],
        records=[config_record(1, 5, "r-0", 7)],
        batches=[batch(1, 5, 5, 1)],
        runtime="sim",
        duration_ns=20_000 * MS,
    )


@pytest.mark.parametrize(("answered", "verdict"), [(149, VALID), (151, INVALID)])
def test_registers_are_answered_as_well(answered: int, verdict: Verdict) -> None:
    result = answered_when_committed(written(answered))
    assert (result.verdict, result.looked_at) == (verdict, 1)


def test_where_what_a_snapshot_holds_stood_nothing_tells() -> None:
    late = written(1_000)
    bare = replace(late, tables={**late.tables, "log_records": late.tables["log_records"][:0]})
    held = with_snapshots(bare, config_record(1, 5, "r-0", 7))
    assert saw_nothing(answered_when_committed(held))


def test_a_leader_that_is_followed_by_another_in_time_need_not_answer() -> None:
    other = NodeTrace(2).start().state("candidate", 2, voted=2, at=140 * MS)
    assert saw_nothing(answered_when_committed(written(1_000, other)))
