"""V8 and Q9 by hand: votes of lost disks, and high watermarks that no majority had durably."""

import pytest

from checkers.quorum.new_disks import committed_by_majority, new_disk_is_no_voter
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, make_run
from tests.support.judged import saw_nothing
from tests.support.voter_logs import key

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN
NEW = "dir-of-another-disk"


def votes(trace: NodeTrace, offset: int = 0, epoch: int = 0) -> NodeTrace:
    told = [{"id": node, "dir": directory} for node, directory in map(key, (1, 2, 3))]
    return trace.emit("q.voters", offset=offset, epoch=epoch, voters=told)


def stands(trace: NodeTrace, epoch: int = 2) -> NodeTrace:
    return trace.state("candidate", epoch, voted=trace.node).state("leader", epoch, trace.node)


def replaced() -> list[NodeTrace]:
    """Node 3 had a disk, and has another one."""
    return [NodeTrace(3).start(), votes(NodeTrace(3, NEW).start(at=9_000))]


def test_a_majority_of_the_disks_that_are_known_elects() -> None:
    one, other = stands(votes(NodeTrace(1).start())), NodeTrace(2).start().vote(1, 2)
    result = new_disk_is_no_voter(make_run(traces=[one, other, *replaced()]))
    assert (result.verdict, result.looked_at) == (VALID, 1)


def test_a_new_disk_votes_as_the_lost_one_would() -> None:
    lost, new = replaced()
    traces = [stands(votes(NodeTrace(1).start())), lost, new.vote(1, 2)]
    result = new_disk_is_no_voter(make_run(traces=traces))
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 leads epoch 2 by its own vote and those of node 3: with their disks these are no "
        "majority of the voters, node 1, node 2, node 3"
    )


def test_a_new_disk_leads_by_its_own_vote() -> None:
    lost, new = replaced()
    traces = [lost, stands(new), NodeTrace(1).start().vote(3, 2, directory=NEW)]
    assert new_disk_is_no_voter(make_run(traces=traces)).verdict is INVALID


def test_a_vote_for_the_lost_disk_is_none_for_the_new_one() -> None:
    lost, new = replaced()
    others = [NodeTrace(node).start().vote(3, 2) for node in (1, 2)]
    assert new_disk_is_no_voter(make_run(traces=[lost, stands(new), *others])).verdict is INVALID


def test_where_no_disk_is_replaced_there_is_nothing_to_hold() -> None:
    assert saw_nothing(new_disk_is_no_voter(make_run(traces=[stands(votes(NodeTrace(1).start()))])))


# --- Q9 ---


def leads(commits: int) -> NodeTrace:
    trace = stands(votes(NodeTrace(1).start())).append(0, 9, 2).fsync(10)
    return trace.hwm(commits, 2)


def follows(node: int, durable: int, epoch: int = 2) -> NodeTrace:
    trace = NodeTrace(node).start().state("follower", epoch, leader=1)
    return trace.append(0, 9, 2, "follower").fsync(durable).emit("n.stop", code=0, reason="")


def test_a_majority_had_it() -> None:
    result = committed_by_majority(make_run(traces=[leads(8), follows(2, 8), follows(3, 1)]))
    assert (result.verdict, result.looked_at) == (VALID, 1)


def test_no_majority_had_it() -> None:
    result = committed_by_majority(make_run(traces=[leads(8), follows(2, 7), follows(3, 1)]))
    assert result.verdict is INVALID
    assert result.message == (
        "node 1 committed all below 8 in epoch 2, but no majority of the voters had that "
        "durably in that epoch: node 1 to an unknown end, node 2 up to 7, node 3 up to 1 at best"
    )


@pytest.mark.parametrize("epoch", [1, 3])
def test_what_a_voter_had_in_another_epoch_is_no_vote_for_it(epoch: int) -> None:
    traces = [leads(8), follows(2, 9, epoch), follows(3, 1)]
    assert committed_by_majority(make_run(traces=traces)).verdict is INVALID


def test_a_trace_that_was_cut_short_may_have_told_of_more() -> None:
    killed = follows(2, 7)
    del killed.lines[-1]
    assert (
        committed_by_majority(make_run(traces=[leads(8), killed, follows(3, 1)])).verdict is VALID
    )


def test_a_new_disk_counts_for_nobody() -> None:
    new = NodeTrace(2, NEW).start().state("follower", 2, leader=1).fsync(9)
    assert committed_by_majority(make_run(traces=[leads(8), new, follows(3, 1)])).verdict is INVALID


def test_each_set_of_voters_is_judged_by_itself() -> None:
    trace = leads(4).append(10, 10, 2)
    trace.emit("q.voters", offset=10, epoch=2, voters=[{"id": 3, "dir": "dir-3"}]).hwm(11, 2)
    followers = [follows(2, 11), follows(3, 4)]
    result = committed_by_majority(make_run(traces=[trace, *followers]))
    assert (result.verdict, result.looked_at, result.count) == (INVALID, 2, 1)


def test_with_a_gap_nobody_can_tell() -> None:
    gappy = follows(2, 1)
    del gappy.lines[2]
    result = committed_by_majority(make_run(traces=[leads(8), gappy, follows(3, 1)]))
    assert result.verdict is UNKNOWN
