"""Q14, Q15, Q16 and M2 of snapshots; each way of being wrong by hand."""

import pytest

from checkers.check import Check
from checkers.quorum import snapshots
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, make_run
from tests.support.voter_logs import FIRST, evidence, log, whole

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
CHECKS = (
    snapshots.log_starts_at_a_snapshot,
    snapshots.snapshots_of_committed,
    snapshots.leader_loads_none,
    snapshots.equal_images,
)


def judged(check: Check, *traces: NodeTrace) -> CheckResult:
    found = check(make_run(traces=traces))
    assert found is not None
    return found


def took(trace: NodeTrace, end: int, *, image: int | None = None, start: int = 0) -> NodeTrace:
    trace.emit("c.image", offset=end if image is None else image, digest=end * 7)
    return trace.emit("q.snapshot", what="created", end=end, epoch=1, start=start)


def follower(node: int = 2) -> NodeTrace:
    return NodeTrace(node).start().state("follower", 1, leader=1)


@pytest.mark.parametrize("check", CHECKS)
def test_a_node_that_lives_by_snapshots(check: Check) -> None:
    node = took(took(follower().hwm(20, 1), 10), 20)
    node.emit("q.snapshot", what="deleted", end=10, epoch=1, start=20)
    other = follower(3)
    other.emit("q.snapshot", what="fetched", end=20, epoch=1, start=0)
    other.emit("q.loaded", end=20, epoch=1).hwm(20, 1).emit("c.image", offset=20, digest=140)
    other.restart(log_end=20, epoch=1)
    other.emit("q.snapshot", what="found", end=20, epoch=1, start=20)
    assert judged(check, node, other).verdict is VALID


@pytest.mark.parametrize("check", CHECKS)
def test_without_any_there_is_nothing_to_hold(check: Check) -> None:
    result = judged(check, follower())
    assert result.looked_at == 0


def test_a_log_that_starts_behind_its_snapshot() -> None:
    node = took(took(follower().hwm(20, 1), 10), 20)
    node.emit("q.snapshot", what="deleted", end=10, epoch=1, start=25)
    result = judged(snapshots.log_starts_at_a_snapshot, node)
    assert result.verdict is INVALID
    assert result.message == "the log of node 2 starts at 25, where no snapshot ends"


def test_a_log_that_starts_behind_its_oldest_snapshot() -> None:
    node = took(took(took(follower().hwm(40, 1), 10), 20), 30)
    node.emit("q.snapshot", what="deleted", end=10, epoch=1, start=30)
    result = judged(snapshots.log_starts_at_a_snapshot, took(node, 40, start=30))
    assert result.verdict is INVALID
    assert result.message == "the log of node 2 starts at 30, but its oldest snapshot ends at 20"


def test_two_snapshots_that_go_together() -> None:
    node = took(took(took(follower().hwm(40, 1), 10), 20), 30)
    for end in (10, 20):
        node.emit("q.snapshot", what="deleted", end=end, epoch=1, start=30)
    assert judged(snapshots.log_starts_at_a_snapshot, took(node, 40, start=30)).verdict is VALID


def test_a_snapshot_that_is_fetched_before_it_is_told_what_the_last_cut_deleted() -> None:
    node = took(took(follower().hwm(40, 1), 10), 20)
    node.emit("q.snapshot", what="fetched", end=30, epoch=1, start=20)
    node.emit("q.snapshot", what="deleted", end=10, epoch=1, start=20)
    node.emit("q.snapshot", what="deleted", end=20, epoch=1, start=30)
    assert judged(snapshots.log_starts_at_a_snapshot, node).verdict is VALID


def test_a_log_that_starts_with_one_that_a_former_process_had() -> None:
    node = took(follower().hwm(20, 1), 20).restart(log_end=20, epoch=1)
    node.emit("q.snapshot", what="found", end=30, epoch=1, start=20)
    assert judged(snapshots.log_starts_at_a_snapshot, node).verdict is INVALID


def test_a_snapshot_that_is_found_damaged() -> None:
    node = follower().emit("n.damaged", file="0-0.checkpoint", reason="torn")
    took(node.hwm(9, 1), 9)
    assert judged(snapshots.log_starts_at_a_snapshot, node).verdict is INVALID


def test_a_snapshot_of_what_is_not_committed() -> None:
    result = judged(snapshots.snapshots_of_committed, took(follower().hwm(9, 1), 10))
    assert result.verdict is INVALID
    assert "ends at 10, above all that is committed" in result.message


def test_a_snapshot_that_is_named_after_another_offset() -> None:
    result = judged(snapshots.snapshots_of_committed, took(follower().hwm(20, 1), 9, image=10))
    assert result.verdict is INVALID
    assert "ends at 9, of the image at 10" in result.message


def test_a_leader_that_loads_one() -> None:
    node = NodeTrace(1).start().state("leader", 1, leader=1).emit("q.loaded", end=9, epoch=1)
    result = judged(snapshots.leader_loads_none, node)
    assert (result.verdict, result.looked_at) == (INVALID, 1)


def test_images_that_differ() -> None:
    one = follower().emit("c.image", offset=9, digest=1)
    other = follower(3).emit("c.image", offset=9, digest=2)
    result = judged(snapshots.equal_images, one, other)
    assert result.message == "for all below offset 9 node 2 and node 3 hold different images"


def told(trace: NodeTrace, offset: int, *nodes: int, epoch: int = 0) -> NodeTrace:
    voters = [{"id": node, "dir": f"dir-{node}"} for node in nodes]
    return trace.emit("q.voters", offset=offset, epoch=epoch, voters=voters)


def with_voters(*traces: NodeTrace) -> CheckResult:
    """By the log on the disks, nodes 1 and 2 vote from 1 on, and node 3 too from 4 on."""
    nodes = (1, 2, 3)
    records = [*whole(nodes, 1, FIRST[:2]), *whole(nodes, 4, FIRST)]
    found = evidence(log(nodes, (0, 9, 1)), records, traces=traces)
    return snapshots.equal_voters(found)


def test_voters_of_one_record_are_the_same_on_all_nodes() -> None:
    one, other = told(follower(), 4, 1, 2, epoch=1), told(follower(3), 4, 1, 2, epoch=1)
    elsewhere = told(follower(1), 4, 3, epoch=2)  # another leader wrote that, and it was cut off
    result = judged(snapshots.equal_voters, one, other, elsewhere)
    assert (result.verdict, result.looked_at) == (VALID, 3)


def test_voters_of_one_record_that_differ() -> None:
    one, other = told(follower(), 4, 1, 2, epoch=1), told(follower(3), 4, 1, 3, epoch=1)
    result = judged(snapshots.equal_voters, one, other)
    assert result.message == (
        "by the record at 4 of epoch 1 node 3 takes node 1, node 3 for voters, but node 2 node 1, "
        "node 2"
    )


@pytest.mark.parametrize(("offset", "voters"), [(3, (1, 2)), (4, (1, 2, 3)), (7, (1, 2, 3))])
def test_voters_of_a_snapshot_are_those_of_the_log_there(
    offset: int, voters: tuple[int, ...]
) -> None:
    assert with_voters(told(follower(), offset, *voters)).verdict is VALID
    result = with_voters(told(follower(), offset, *{1, 2, 3} - {voters[-1]}))
    assert result.verdict is INVALID
    assert "by a snapshot, node 2 has voters" in result.message


def test_where_no_record_names_voters_there_are_none_to_compare() -> None:
    result = judged(snapshots.equal_voters, told(follower(), 0, 1, 2, 3))
    assert (result.verdict, result.looked_at) == (VALID, 0)
