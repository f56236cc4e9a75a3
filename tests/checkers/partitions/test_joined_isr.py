"""Who joins an ISR, as leaders' traces and the metadata log tell it, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.check import Check
from checkers.partitions.joined_isr import joined_by_this_life, joined_with_all
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, node_events
from tests.support.kafka_runs import change, register, registration_change, started, topic_id

VALID, INVALID = Verdict.VALID, Verdict.INVALID
AT = {"topic": topic_id("t"), "index": 0}
SECOND_LIFE = 50  # broker 3's epoch in it; those of the first lives are below


def proposing(
    *, broker_epoch: int = SECOND_LIFE, end: int = 9, hwm: int = 5, start: int = 9, before: int = 1
) -> NodeTrace:
    """Node 1 leads, and proposes node 3 for the ISR of partition epoch `before`."""
    trace = NodeTrace(node=1)
    trace.start()
    trace.emit("p.role", role="leader", epoch=0, end=start, hwm=hwm, **AT)
    proved = {"replica": 3, "broker_epoch": broker_epoch, "offset": end, "hwm": hwm}
    return trace.emit("p.join", epoch=0, partition_epoch=before, **proved, **AT)


def judged(check: Check, trace: NodeTrace) -> Verdict:
    """Node 3 leaves the ISR (partition epoch 1), is back in another life, and joins again (2)."""
    cluster = started().commit(change("t-0", isr=[1, 2]))
    cluster.commit(register(3, SECOND_LIFE), registration_change(3, SECOND_LIFE, fenced=-1))
    run = cluster.commit(change("t-0", isr=[1, 2, 3])).run()
    return check(replace(run, tables={**run.tables, "node_events": node_events([trace])})).verdict


@pytest.mark.parametrize(
    ("broker_epoch", "before", "verdict"),
    [
        (SECOND_LIFE, 1, VALID),
        (SECOND_LIFE - 1, 1, INVALID),
        (-1, 1, INVALID),
        (SECOND_LIFE - 1, 0, VALID),  # it was refused: that change did something else
    ],
)
def test_a_broker_joins_in_the_epoch_of_its_fetch(
    broker_epoch: int, before: int, verdict: Verdict
) -> None:
    trace = proposing(broker_epoch=broker_epoch, before=before)
    assert judged(joined_by_this_life, trace) is verdict


@pytest.mark.parametrize(
    ("proposed", "verdict"),
    [((SECOND_LIFE - 1, SECOND_LIFE), VALID), ((SECOND_LIFE, SECOND_LIFE - 1), INVALID)],
)
def test_what_is_proposed_last_is_carried_out(proposed: tuple[int, int], verdict: Verdict) -> None:
    """A controller that refuses, since the broker shuts down, leaves the partition's epoch."""
    first, last = proposed
    trace = proposing(broker_epoch=first)
    proved = {"replica": 3, "broker_epoch": last, "offset": 9, "hwm": 5}
    trace.emit("p.join", epoch=0, partition_epoch=1, **proved, **AT)
    assert judged(joined_by_this_life, trace) is verdict


@pytest.mark.parametrize(
    ("end", "hwm", "start", "verdict"),
    [
        (9, 5, 9, VALID),
        (9, 9, 0, VALID),
        (8, 5, 9, INVALID),
        (8, 9, 0, INVALID),
        (-1, 0, 0, INVALID),
    ],
)
def test_a_broker_joins_with_all_that_is_committed_and_that_its_leader_began_with(
    end: int, hwm: int, start: int, verdict: Verdict
) -> None:
    assert judged(joined_with_all, proposing(end=end, hwm=hwm, start=start)) is verdict


def test_nobody_that_proposes_nothing_is_accused() -> None:
    trace = NodeTrace(node=1)
    trace.start()
    assert judged(joined_by_this_life, trace) is VALID
    assert judged(joined_with_all, trace) is VALID
