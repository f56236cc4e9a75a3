"""What brokers tell of their lives, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.partitions.joined_isr import clean_as_claimed
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, fault, make_run, node_events
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import started

VALID, INVALID = Verdict.VALID, Verdict.INVALID


def life(trace: NodeTrace, previous: int, *states: tuple[str, int]) -> None:
    """A process, by what it told: states, each with the broker epoch."""
    trace.restart(0)
    for state, epoch in states:
        trace.emit("b.life", state=state, epoch=epoch, previous=previous, fenced=False)


@pytest.mark.parametrize(
    ("end", "previous", "verdict"),
    [
        ("vouching", 7, VALID),
        ("vouching", -1, VALID),
        ("vouching", 6, INVALID),
        ("shutting-down", 7, INVALID),
        ("running", -1, VALID),
    ],
)
def test_a_clean_shutdown_is_one_that_was_vouched_for(
    end: str, previous: int, verdict: Verdict
) -> None:
    trace = NodeTrace(node=1)
    life(trace, -1, ("starting", -1), ("running", 7), (end, 7))
    life(trace, previous, ("starting", -1))
    assert judged(trace) is verdict


def test_what_was_vouched_for_counts_once() -> None:
    trace = NodeTrace(node=1)
    life(trace, -1, ("vouching", 7))
    life(trace, 7, ("starting", -1))
    assert judged(trace) is VALID
    life(trace, 7, ("starting", -1))
    assert judged(trace) is INVALID


def test_the_first_process_of_a_disk_finds_no_such_file() -> None:
    trace = NodeTrace(node=1)
    life(trace, 3, ("starting", -1))
    assert judged(trace) is INVALID


def test_a_disk_that_forgets_what_it_synced_may_bring_the_file_back() -> None:
    trace = NodeTrace(node=1)
    life(trace, 3, ("starting", -1))
    lying = fault(1, "power-off", 0, 100) | {"damages_bytes": True}
    assert saw_nothing(clean_as_claimed(make_run(traces=[trace], faults=[lying])))
    sound = fault(1, "power-off", 0, 100)
    assert clean_as_claimed(make_run(traces=[trace], faults=[sound])).verdict is INVALID


def judged(trace: NodeTrace) -> Verdict:
    run = started().run()
    return clean_as_claimed(
        replace(run, tables={**run.tables, "node_events": node_events([trace])})
    ).verdict


@pytest.mark.parametrize(("kind", "verdict"), [("stop", INVALID), ("kill", VALID)])
def test_what_was_vouched_for_in_good_order_is_named(kind: str, verdict: Verdict) -> None:
    trace = NodeTrace(node=1)
    life(trace, -1, ("running", 7), ("vouching", 7))
    trace.emit("n.stop", code=0, reason="told to")
    life(trace, -1, ("starting", -1))
    cluster = started().ended(kind, 1, 0)
    cluster.rows["faults"][0]["t_healed"] = trace.clock
    run = cluster.run(target="node test")
    ended = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    assert clean_as_claimed(ended).verdict is verdict
