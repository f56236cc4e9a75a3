"""High watermarks that brokers leave when they stop in good order, by hand."""

import pytest

from checkers.partitions.held import replicas_agree
from checkers.partitions.marks_kept import high_watermarks_are_saved
from checkers.verdict import Verdict
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
