"""What nodes say that they replayed, against metadata logs by hand."""

from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run
from checkers.partitions.leaderless import replayed_as_committed
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, node_events
from tests.support.kafka_runs import change, config, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
# `started` has LeaderChange, FeatureLevel, and of each broker two; then Topic and Partition.
REGISTERED, UNFENCED, TOPIC, PARTITION, CHANGED = 2, 3, 8, 9, 11


def run_of(trace: NodeTrace) -> Run:
    cluster = started().commit(config(2, "t", "min.insync.replicas", "2"), change("t-0", isr=[1]))
    run = cluster.run()
    return replace(run, tables={**run.tables, "node_events": node_events([trace])})


def replayed(*records: tuple[int, str]) -> NodeTrace:
    trace = NodeTrace(node=1)
    trace.start()
    for offset, kind in records:
        trace.emit("c.record", offset=offset, record=kind)
    return trace


@pytest.mark.parametrize(
    ("records", "verdict"),
    [
        ([(REGISTERED, "RegisterBroker"), (UNFENCED, "BrokerRegistrationChange")], VALID),
        ([(TOPIC, "Topic"), (PARTITION, "Partition"), (CHANGED, "PartitionChange")], VALID),
        ([(PARTITION, "Partition"), (CHANGED + 50, "PartitionChange")], VALID),  # not known yet
        ([(TOPIC, "Partition")], INVALID),
        ([(CHANGED - 1, "PartitionChange")], INVALID),
        ([(TOPIC, "Topic"), (CHANGED, "PartitionChange")], INVALID),
        ([(TOPIC, "Topic"), (TOPIC, "Topic")], INVALID),
        ([(PARTITION, "Partition"), (TOPIC, "Topic")], INVALID),
    ],
)
def test_each_is_at_its_offset_and_none_is_left_out(
    records: list[tuple[int, str]], verdict: Verdict
) -> None:
    assert replayed_as_committed(run_of(replayed(*records))).verdict is verdict


def test_a_process_that_starts_replays_from_the_beginning() -> None:
    trace = replayed((TOPIC, "Topic"), (PARTITION, "Partition"))
    trace.restart(log_end=CHANGED)
    trace.emit("c.record", offset=REGISTERED, record="RegisterBroker")
    assert replayed_as_committed(run_of(trace)).verdict is VALID
    trace.emit("c.record", offset=TOPIC, record="Topic")
    assert replayed_as_committed(run_of(trace)).verdict is INVALID


def test_a_snapshot_stands_for_what_it_covers() -> None:
    trace = replayed((TOPIC, "Topic")).emit("q.loaded", end=CHANGED, epoch=1)
    trace.emit("c.record", offset=CHANGED, record="PartitionChange")
    assert replayed_as_committed(run_of(trace)).verdict is VALID
