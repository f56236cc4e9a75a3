"""High watermarks that brokers leave when they stop in good order, by hand."""

from dataclasses import replace

import pytest

from checkers.history.sealed_run import Run
from checkers.partitions.intact_replicas import clean_stops_are_marked, high_watermarks_are_saved
from checkers.partitions.replica_agreement import replicas_agree
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, disk, node_events
from tests.support.judged import saw_nothing
from tests.support.kafka_runs import NODES, Cluster, started

VALID, INVALID = Verdict.VALID, Verdict.INVALID
SPANS = [(0, 100, 4, 0), (4, 200, 6, 0)]  # offset, value, records, epoch
STOPPED = {"endings": dict.fromkeys("123", "stopped"), "history": "log"}


def replicated(node: int, mark: int | None) -> Cluster:
    """Both spans at all three, sent to node 1, one after the other; of one a high watermark."""
    cluster = started()
    for each in NODES:
        cluster.replica(each, "t-0", SPANS, high_watermark=10)
    row = next(row for row in cluster.rows["replicas"] if row["node"] == node)
    row["high_watermark"] = mark
    return cluster.sent("t-0", 0, 100, records=4).sent("t-0", 4, 200, records=6)


@pytest.mark.parametrize(
    ("node", "mark", "verdict"),
    [
        (1, 10, VALID),
        (1, 9, INVALID),  # it acknowledged all itself
        (1, None, INVALID),
        (2, 4, VALID),  # it need not know of the last ones
        (2, 3, INVALID),
        (2, None, INVALID),
    ],
)
def test_what_a_broker_knew(node: int, mark: int | None, verdict: Verdict) -> None:
    found = high_watermarks_are_saved(replicated(node, mark).run(**STOPPED))
    assert (found.verdict, found.looked_at) == (verdict, 3), found.message


def test_what_an_earlier_process_knew() -> None:
    cluster = replicated(1, 0).ended("kill", 1, at=50)
    assert high_watermarks_are_saved(cluster.run(**STOPPED)).verdict is VALID


def test_who_did_not_stop_in_good_order_may_have_an_old_one() -> None:
    found = high_watermarks_are_saved(replicated(1, 0).run(history="log"))
    assert saw_nothing(found)


def test_of_replicas_without_a_high_watermark_those_agree_that_may_lead() -> None:
    cluster = replicated(2, None)
    for row in cluster.rows["replica_batches"]:
        if row["node"] == 2:
            row["crc"] = -1
    assert "nodes 1 and 2 differ" in replicas_agree(cluster.run()).message


def marked(*epochs: int | None, traced: bool = False) -> Run:
    cluster = started().add("disks", *(disk(n, clean_shutdown=e) for n, e in enumerate(epochs, 1)))
    run = cluster.run(**STOPPED)
    if not traced:
        return run
    life = NodeTrace(2).start().emit("b.life", state="vouching", epoch=12, previous=-1, fenced=True)
    return replace(run, tables={**run.tables, "node_events": node_events([life])})


@pytest.mark.parametrize(
    ("epochs", "traced", "said"),
    [
        ((11, 12, 13), False, ""),
        ((11, None, 13), False, "node 2 stopped in good order, in broker epoch 12, but its disk"),
        ((11, 12, 13), True, ""),
        ((11, 7, 13), True, "one of broker epoch 7"),
    ],
)
def test_clean_shutdown_files(epochs: tuple[int | None, ...], *, traced: bool, said: str) -> None:
    found = clean_stops_are_marked(marked(*epochs, traced=traced))
    assert (found.verdict is INVALID) == bool(said), found.message
    assert said in found.message


def test_who_runs_has_no_clean_shutdown_file() -> None:
    run = replace(marked(None, None, None), info=started().run(endings={"1": "runs"}).info)
    assert saw_nothing(clean_stops_are_marked(run))
