"""High watermarks, ISRs and cuts as brokers trace them, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.check import Check
from checkers.history.sealed_run import Run
from checkers.partitions.joined_isr import isr_as_committed, no_committed_record_cut
from checkers.partitions.partition_watermarks import (
    high_watermark_rises,
    maximal_isr_holds_all,
    moved_with_min_isr,
)
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, node_events
from tests.support.kafka_runs import change, config, started, topic_id

VALID, INVALID = Verdict.VALID, Verdict.INVALID
AT = {"topic": topic_id("t"), "index": 0}


def leader(hwm: int = 0) -> NodeTrace:
    """Node 1 begins to lead, with the ISR that is committed."""
    trace = NodeTrace(node=1)
    trace.start()
    trace.emit("p.role", role="leader", epoch=0, end=hwm, hwm=hwm, **AT)
    return isr(trace, 0, [1, 2, 3])


def isr(trace: NodeTrace, partition_epoch: int, committed: list[int], *more: int) -> NodeTrace:
    told = {"isr": ids(*committed), "maximal": ids(*committed, *more)}
    return trace.emit("p.isr", partition_epoch=partition_epoch, epoch=0, **told, **AT)


def ids(*nodes: int) -> list[dict[str, int]]:
    return [{"id": node} for node in nodes]


def moved(trace: NodeTrace, hwm: int, end: int, *ends: int) -> NodeTrace:
    """`ends`: of the logs of 2 and 3, as the leader knows them."""
    told = [{"id": node, "end": at} for node, at in zip((2, 3), ends, strict=True)]
    return trace.emit("p.hwm", epoch=0, hwm=hwm, end=end, ends=told, **AT)


def cut(at: int, cut_epoch: int, hwm: int = 0) -> NodeTrace:
    trace = NodeTrace(node=2)
    trace.start()
    trace.emit("p.role", role="follower", epoch=1, end=9, hwm=0, **AT)
    return trace.emit("p.truncate", epoch=1, end=at, hwm=hwm, cut_epoch=cut_epoch, **AT)


def run_of(*traces: NodeTrace) -> Run:
    """Behind partition epoch 0 the ISR shrinks to [1,2], then to [1]."""
    cluster = started().commit(change("t-0", isr=[1, 2])).commit(change("t-0", isr=[1]))
    run = cluster.run()
    return replace(run, tables={**run.tables, "node_events": node_events(list(traces))})


def judged(check: Check, *traces: NodeTrace) -> Verdict:
    return check(run_of(*traces)).verdict


def test_who_tells_nothing_is_not_accused() -> None:
    trace = NodeTrace(node=1)
    trace.start()
    for check in (moved_with_min_isr, maximal_isr_holds_all, high_watermark_rises):
        assert judged(check, trace) is VALID


@pytest.mark.parametrize(
    ("partition_epoch", "committed", "verdict"),
    [(0, [1, 2, 3], VALID), (1, [1, 2], VALID), (2, [1], INVALID)],
)
def test_a_high_watermark_moves_with_min_isr_only(
    partition_epoch: int, committed: list[int], verdict: Verdict
) -> None:
    trace = moved(isr(leader(), partition_epoch, committed), 5, 5, 5, 5)
    assert judged(moved_with_min_isr, trace) is verdict


@pytest.mark.parametrize(("asked", "verdict"), [("1", VALID), ("2", INVALID)])
def test_the_least_min_isr_that_was_ever_set_is_enough_if_it_was_asked_for(
    asked: str, verdict: Verdict
) -> None:
    cluster = started().commit(change("t-0", isr=[1]))
    run = cluster.commit(config(2, "t", "min.insync.replicas", "1")).run(
        settings={"min_isr": asked}
    )
    trace = moved(isr(leader(), 1, [1]), 5, 5, 5, 5)
    run = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    assert moved_with_min_isr(run).verdict is verdict


def test_the_same_high_watermark_again_is_no_move() -> None:
    assert judged(moved_with_min_isr, moved(isr(leader(7), 2, [1]), 7, 9, 7, 7)) is VALID


@pytest.mark.parametrize(
    ("committed", "pending", "ends", "verdict"),
    [
        ([1, 2, 3], [], (5, 5), VALID),
        ([1, 2, 3], [], (5, 4), INVALID),
        ([1, 2, 3], [], (5, -1), INVALID),
        ([1, 2], [], (5, 4), VALID),
        ([1, 2], [3], (5, 4), INVALID),
    ],
)
def test_all_of_the_maximal_isr_have_what_is_below(
    committed: list[int], pending: list[int], ends: tuple[int, int], verdict: Verdict
) -> None:
    trace = moved(isr(leader(), 3 - len(committed), committed, *pending), 5, 6, *ends)
    assert judged(maximal_isr_holds_all, trace) is verdict


@pytest.mark.parametrize(
    ("first", "then", "end", "verdict"),
    [(5, 6, 6, VALID), (5, 4, 6, INVALID), (5, 7, 6, INVALID)],
)
def test_a_high_watermark_rises_within_the_log(
    first: int, then: int, end: int, verdict: Verdict
) -> None:
    trace = moved(moved(leader(), first, first, 9, 9), then, end, 9, 9)
    assert judged(high_watermark_rises, trace) is verdict


def test_in_another_leader_epoch_it_may_begin_lower() -> None:
    trace = moved(leader(), 5, 5, 9, 9)
    trace.emit("p.role", role="leader", epoch=2, end=9, hwm=3, **AT)
    assert judged(high_watermark_rises, moved(isr(trace, 1, [1, 2]), 4, 9, 9, 9)) is VALID


@pytest.mark.parametrize(
    ("partition_epoch", "committed", "verdict"),
    [
        (1, [1, 2], VALID),
        (1, [2, 1], VALID),
        (1, [1], INVALID),
        (0, [1, 2], INVALID),
        (9, [1], VALID),
    ],
)
def test_the_isr_is_the_one_that_is_committed(
    partition_epoch: int, committed: list[int], verdict: Verdict
) -> None:
    assert judged(isr_as_committed, isr(leader(), partition_epoch, committed)) is verdict


@pytest.mark.parametrize(
    ("at", "cut_epoch", "verdict"),
    [(5, 0, VALID), (4, 0, INVALID), (4, 1, VALID), (4, -1, VALID)],
)
def test_nothing_is_cut_off_that_its_leader_called_committed(
    at: int, cut_epoch: int, verdict: Verdict
) -> None:
    published = moved(leader(), 5, 9, 9, 9)
    assert judged(no_committed_record_cut, published, cut(at, cut_epoch)) is verdict


@pytest.mark.parametrize(("hwm", "verdict"), [(5, VALID), (6, INVALID)])
def test_nothing_is_cut_off_that_the_follower_itself_calls_committed(
    hwm: int, verdict: Verdict
) -> None:
    """Of an epoch of which no leader told a high watermark."""
    assert judged(no_committed_record_cut, cut(5, 0, hwm)) is verdict


def test_after_more_losses_than_the_isr_can_bear_a_cut_is_allowed() -> None:
    published = moved(leader(), 5, 9, 9, 9)
    cluster = started().ended("power-off", 1, 10).ended("power-off", 3, 20)
    run = cluster.commit(change("t-0", isr=[2])).run()
    run = replace(run, tables={**run.tables, "node_events": node_events([published, cut(4, 0)])})
    assert no_committed_record_cut(run).verdict is not INVALID
