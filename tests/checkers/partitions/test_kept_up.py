"""High watermarks that wait for somebody who is gone, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.partitions.partition_watermarks import high_watermark_keeps_up
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, node_events
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import change, config, started, topic_id

VALID, INVALID = Verdict.VALID, Verdict.INVALID
AT = {"topic": topic_id("t"), "index": 0}
End = tuple[int, int, int]  # broker, end of its log, whether it is active


def leader() -> NodeTrace:
    trace = NodeTrace(node=1)
    trace.start()
    return trace.emit("p.role", role="leader", epoch=0, end=0, hwm=0, **AT)


def told_isr(
    trace: NodeTrace, committed: list[int], hwm: int, *ends: End, more: tuple[int, ...] = ()
) -> NodeTrace:
    """Of the partition epoch that has that ISR, below; its own log ends at 9."""
    return trace.emit(
        "p.isr",
        partition_epoch=3 - len(committed),
        epoch=0,
        isr=[{"id": node} for node in committed],
        maximal=[{"id": node} for node in (*committed, *more)],
        hwm=hwm,
        end=9,
        ends=[{"id": node, "end": end, "active": active} for node, end, active in ends],
        **AT,
    )


def judged(trace: NodeTrace, least: str = "2") -> CheckResult:
    """Behind partition epoch 0 the ISR shrinks to [1,2], then to [1]."""
    cluster = started().commit(config(2, "t", "min.insync.replicas", least))
    run = cluster.commit(change("t-0", isr=[1, 2])).commit(change("t-0", isr=[1])).run()
    run = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    return high_watermark_keeps_up(run)


@pytest.mark.parametrize(
    ("hwm", "third", "verdict"),
    [
        (8, (3, 4, 0), VALID),
        (7, (3, 4, 0), INVALID),  # it left, and is waited for
        (4, (3, 4, 1), VALID),  # it left, and may be back at once
        (3, (3, 4, 1), INVALID),
        (4, (3, -1, 0), INVALID),  # nothing was heard of it, and it left
    ],
)
def test_who_left_holds_nobody_up(hwm: int, third: End, verdict: Verdict) -> None:
    assert judged(told_isr(leader(), [1, 2], hwm, (2, 8, 1), third)).verdict is verdict


def test_who_may_be_in_the_isr_is_waited_for() -> None:
    trace = told_isr(leader(), [1, 2], 4, (2, 8, 1), (3, 4, 0), more=(3,))
    assert judged(trace).verdict is VALID
    trace = told_isr(leader(), [1, 2], 3, (2, 8, 1), (3, 4, 0), more=(3,))
    assert judged(trace).verdict is INVALID


def test_who_was_not_heard_of_is_waited_for() -> None:
    assert saw_nothing(judged(told_isr(leader(), [1, 2], 0, (2, -1, 1), (3, 4, 0))))


def test_below_min_isr_nothing_moves() -> None:
    alone = told_isr(leader(), [1], 4, (2, 8, 0), (3, 8, 0))
    assert saw_nothing(judged(alone))
    assert judged(alone, least="1").verdict is VALID, "it was 2 once: nothing is asked"


def test_a_move_is_judged_by_the_isr_before_it() -> None:
    trace = told_isr(leader(), [1, 2], 8, (2, 8, 1), (3, 4, 0))
    ends = [{"id": 2, "end": 9, "active": 1}, {"id": 3, "end": 4, "active": 0}]
    assert judged(trace.emit("p.hwm", epoch=0, hwm=9, end=9, ends=ends, **AT)).looked_at == 2
    trace = told_isr(leader(), [1, 2], 7, (2, 7, 1), (3, 4, 0))
    late = judged(trace.emit("p.hwm", epoch=0, hwm=8, end=9, ends=ends, **AT))
    assert late.verdict is INVALID
    assert "left its high watermark at 8" in late.message


def test_a_line_that_does_not_tell_of_the_others_accuses_nobody() -> None:
    trace = leader().emit(
        "p.isr", partition_epoch=1, epoch=0, isr=[{"id": 1}, {"id": 2}], maximal=[], **AT
    )
    assert saw_nothing(judged(trace))
