"""Replicas that a broker should have removed, against histories by hand."""

from dataclasses import replace

import pytest

from checkers.partitions.stray_replicas import no_stray_replicas
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, node_events
from tests.support.kafka_runs import Cluster, change, remove_topic, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID


def broker(*states: str, replayed: int, then: tuple[str, ...] = ()) -> NodeTrace:
    """Broker 3, which replays up to there between those states."""
    trace = NodeTrace(node=3)
    trace.start()
    for state in states:
        live(trace, state)
    trace.emit("c.record", offset=replayed, record="Topic")
    for state in then:
        live(trace, state)
    return trace


def live(trace: NodeTrace, state: str) -> None:
    trace.emit("b.life", state=state, epoch=13, previous=-1, fenced=False)


def judged(cluster: Cluster, trace: NodeTrace) -> CheckResult:
    """Broker 3 has a replica of `t` on its disk at the end."""
    run = cluster.replica(3, "t-0", [(0, 7, 1, 0)]).run()
    run = replace(run, tables={**run.tables, "node_events": node_events([trace])})
    return no_stray_replicas(run)


@pytest.mark.parametrize(
    ("states", "behind", "then", "verdict"),
    [
        (("starting", "running"), 0, ("shutting-down",), INVALID),
        (("starting", "running"), 1, ("shutting-down",), VALID),  # it had not replayed it
        (("starting",), 0, ("shutting-down",), VALID),  # it never came so far
        (("starting", "running", "shutting-down"), 0, (), VALID),  # it was leaving by then
        (("starting", "running"), 0, (), VALID),  # how it ended nobody knows
    ],
)
def test_what_was_deleted_is_removed(
    states: tuple[str, ...], behind: int, then: tuple[str, ...], verdict: Verdict
) -> None:
    cluster = started().commit(remove_topic("t"))
    trace = broker(*states, replayed=cluster.end - 1 - behind, then=then)
    assert judged(cluster, trace).verdict is verdict


@pytest.mark.parametrize(("replicas", "verdict"), [([1, 2], INVALID), ([1, 2, 3], VALID)])
def test_what_others_were_given_is_removed(replicas: list[int], verdict: Verdict) -> None:
    cluster = started().commit(change("t-0", isr=[1, 2], replicas=replicas))
    trace = broker("running", replayed=cluster.end, then=("shutting-down",))
    assert judged(cluster, trace).verdict is verdict
