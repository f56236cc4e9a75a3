"""Q20 by hand: who belongs to another cluster, by its trace or by its disk."""

from checkers.quorum.agreement import one_cluster
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, disk, make_run
from tests.support.judged import saw_nothing


def test_all_are_of_one_cluster() -> None:
    traces = [NodeTrace(1).start(), NodeTrace(2).start().restart(0)]
    result = one_cluster(make_run(traces=traces, disks=[disk(1), disk(2)]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 5)


def test_a_process_of_another_cluster() -> None:
    other = NodeTrace(2)
    fields = {"epoch": 0, "leader": -1, "log_end": 0, "log_epoch": 0}
    other.emit("n.start", version="test", cluster="d", **fields)
    result = one_cluster(make_run(traces=[NodeTrace(1).start(), other]))
    assert result.verdict is Verdict.INVALID
    assert result.message == "node 2 is of cluster d, but node 1 of c"


def test_a_disk_of_another_cluster() -> None:
    result = one_cluster(make_run(disks=[disk(1), disk(2, cluster_id="d")]))
    assert result.verdict is Verdict.INVALID


def test_a_disk_that_cannot_be_read_is_of_no_cluster() -> None:
    assert saw_nothing(one_cluster(make_run(disks=[disk(1, cluster_id=None)])))
