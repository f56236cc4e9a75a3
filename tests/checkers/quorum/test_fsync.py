"""Q18: what followers vouched for was durable, and stayed; by hand."""

from checkers.history.sealed_run import Run
from checkers.quorum import fsync
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, disk, make_run

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def durable_before_counted(run: Run) -> CheckResult:
    found = fsync.durable_before_counted(run)
    assert found is not None
    return found


def leader(*offsets: int, epoch: int = 1, outcome: str = "valid") -> NodeTrace:
    trace = NodeTrace(1).start().state("leader", epoch, leader=1)
    for offset in offsets:
        trace.fetch(2, offset, epoch, outcome)
    return trace


def follower(epoch: int = 1) -> NodeTrace:
    return NodeTrace(2).start().state("follower", epoch, leader=1)


def run(*traces: NodeTrace, end: int | None = None) -> Run:
    return make_run(traces=traces, disks=[] if end is None else [disk(2, log_end=end)])


def test_a_quorum_of_one_counts_nobody() -> None:
    assert not fsync.durable_before_counted.applies(make_run(nodes=1).info)


def test_nothing_to_look_at_is_unknown() -> None:
    assert durable_before_counted(make_run()).verdict is UNKNOWN
    assert durable_before_counted(run(leader(), follower())).verdict is UNKNOWN


def test_fetches_after_the_flush() -> None:
    node = follower().append(0, 2, 1, "follower").fsync(3).append(3, 5, 1, "follower").fsync(6)
    result = durable_before_counted(run(leader(0, 3, 6), node, end=6))
    assert (result.verdict, result.looked_at) == (VALID, 3)


def test_a_fetch_of_what_was_never_durable() -> None:
    node = follower().append(0, 2, 1, "follower").append(3, 5, 1, "follower")
    node.emit("n.stop", code=0, reason="shutdown")
    result = durable_before_counted(run(leader(0, 6), node))
    assert result.verdict is INVALID
    assert "fetched offset 6 in epoch 1, when it was durable up to 0 only" in result.message
    assert result.witness[0]["offset"] == 6


def test_a_trace_without_its_last_lines_proves_nothing_of_its_last_epoch() -> None:
    node = follower().append(0, 2, 1, "follower").fsync(3).append(3, 5, 1, "follower")
    result = durable_before_counted(run(leader(0, 3, 6), node))
    assert (result.verdict, result.looked_at) == (VALID, 2)
    later = follower().append(0, 5, 1, "follower").restart(log_end=0, epoch=1)
    later.state("follower", 2, leader=1)
    assert durable_before_counted(run(leader(0, 6), later)).verdict is INVALID


def test_a_fetch_before_the_flush_shows_in_what_answered_it() -> None:
    node = follower().append(0, 2, 1, "follower").append(3, 5, 1, "follower").fsync(3).fsync(6)
    result = durable_before_counted(run(leader(0, 3, 6), node))
    assert result.verdict is INVALID
    assert [row["event"] for row in result.witness] == ["q.fetch", "q.append"]


def test_one_answer_with_several_batches() -> None:
    node = follower().append(0, 2, 1, "follower").append(3, 5, 1, "follower").fsync(6)
    assert durable_before_counted(run(leader(0, 6), node)).verdict is VALID


def test_an_offset_fetched_again_after_a_truncation_or_a_crash() -> None:
    cut = follower().append(0, 2, 1, "follower").append(3, 5, 1, "follower").fsync(6)
    cut.emit("q.truncate", end=3, hwm=0, role="follower")
    assert durable_before_counted(run(leader(0, 6, 3), cut)).verdict is VALID
    torn = follower().append(0, 2, 1, "follower").append(3, 5, 1, "follower")
    torn.restart(log_end=3, epoch=1)
    assert durable_before_counted(run(leader(0, 3), torn)).verdict is VALID


def test_durable_in_an_epoch_means_while_it_was_in_that_epoch() -> None:
    late = follower().append(0, 2, 1, "follower").state("follower", 2, leader=1).fsync(3)
    assert durable_before_counted(run(leader(3), late)).verdict is INVALID
    early = follower().append(0, 2, 1, "follower").fsync(3).state("follower", 2, leader=1)
    both = leader(0, 3).state("leader", 2, leader=1).fetch(2, 3, 2)
    assert durable_before_counted(run(both, early)).verdict is VALID


def test_what_a_process_finds_on_its_disk_is_durable() -> None:
    node = follower().restart(log_end=4, epoch=1).state("follower", 1, leader=1)
    assert durable_before_counted(run(leader(4), node)).verdict is VALID


def test_a_truncation_lowers_what_is_durable() -> None:
    node = follower().append(0, 5, 1, "follower").fsync(6)
    node.emit("q.truncate", end=2, hwm=0, role="follower").state("follower", 2, leader=1)
    node.emit("n.stop", code=0, reason="shutdown")
    other = NodeTrace(1).start().state("leader", 2, leader=1).fetch(2, 6, 2)
    assert durable_before_counted(run(other, node)).verdict is INVALID


def test_a_power_cut_that_takes_what_was_durable() -> None:
    node = follower().append(0, 5, 1, "follower").fsync(6).restart(log_end=3, epoch=1)
    result = durable_before_counted(run(leader(0, 6), node))
    assert result.verdict is INVALID
    assert result.message == "node 2 was durable up to 6; restarted, its log ends at 3"


def test_a_power_cut_that_takes_what_was_not_durable() -> None:
    node = follower().append(0, 5, 1, "follower").fsync(6).append(6, 9, 1, "follower")
    node.restart(log_end=6, epoch=1)
    assert durable_before_counted(run(leader(0, 6), node, end=6)).verdict is VALID


def test_a_cut_of_what_was_not_durable_accuses_nobody_and_of_what_was_does() -> None:
    """A torn tail is cut when a process starts; whether the mark or the cut was wrong, the log ends
    below what was flushed."""
    cut = {"segment": "0.log", "bytes": 300, "flushed": 4, "reason": "magic is 0, not 2"}
    node = follower().append(0, 3, 1, "follower").fsync(4).append(4, 5, 1, "follower")
    node.restart(log_end=4, epoch=1).emit("n.cut", end=4, **cut)
    assert durable_before_counted(run(leader(0, 4), node)).verdict is VALID
    node.restart(log_end=2, epoch=1).emit("n.cut", end=2, **(cut | {"flushed": 2}))
    result = durable_before_counted(run(leader(0, 4), node))
    assert result.verdict is INVALID
    assert result.message == "node 2 was durable up to 4; restarted, its log ends at 2"


def test_what_a_process_found_is_no_promise_until_it_is_flushed() -> None:
    node = follower().append(0, 5, 1, "follower").restart(log_end=6, epoch=1)
    node.restart(log_end=3, epoch=1)
    assert durable_before_counted(run(leader(0), node, end=3)).verdict is VALID
    node.restart(log_end=6, epoch=1).fsync(6).restart(log_end=3, epoch=1)
    assert durable_before_counted(run(leader(0), node)).verdict is INVALID


def test_a_truncation_that_the_crash_kept_out_of_the_trace() -> None:
    node = follower().append(0, 5, 1, "follower").fsync(6).state("follower", 2, leader=1)
    node.restart(log_end=3, epoch=2)
    told = leader(0, 6).state("leader", 2, leader=1).fetch(2, 6, 2, "diverging")
    assert durable_before_counted(run(told, node)).verdict is VALID
    assert durable_before_counted(run(leader(0, 6), node)).verdict is INVALID


def test_a_disk_that_ends_lower_than_what_was_durable() -> None:
    node = follower().append(0, 5, 1, "follower").fsync(6)
    result = durable_before_counted(run(leader(0, 6), node, end=5))
    assert result.message == "node 2 was durable up to 6; the log on its disk ends at 5"


def test_a_replica_without_a_trace_is_not_judged() -> None:
    assert durable_before_counted(run(leader(0, 9))).verdict is UNKNOWN
    gap = follower().append(0, 2, 1, "follower").fsync(3)
    del gap.lines[2]
    assert durable_before_counted(run(leader(0, 3), gap)).verdict is UNKNOWN


# --- and before votes are asked for ---


def durable_before_asked(run: Run) -> CheckResult:
    found = fsync.durable_before_asked(run)
    assert found is not None
    return found


def voter(log_end: int) -> NodeTrace:
    return NodeTrace(1).start().vote(2, 2, log_end=log_end)


def candidate() -> NodeTrace:
    """With three durable records, and three that are not."""
    return follower().append(0, 2, 1, "follower").fsync(3).append(3, 5, 1, "follower")


def elected(trace: NodeTrace) -> NodeTrace:
    return trace.state("candidate", 2, leader=-1).state("leader", 2, leader=2)


def test_votes_that_are_asked_for_with_what_is_durable() -> None:
    result = durable_before_asked(run(voter(3), elected(candidate())))
    assert (result.verdict, result.looked_at) == (VALID, 1)
    flushed_meanwhile = candidate().state("candidate", 2, leader=-1).fsync(6)
    flushed_meanwhile.state("leader", 2, leader=2)
    assert durable_before_asked(run(voter(6), flushed_meanwhile)).verdict is VALID


def test_a_vote_that_is_asked_for_with_what_is_not_durable_yet() -> None:
    late = elected(candidate()).fsync(6)
    result = durable_before_asked(run(voter(6), late))
    assert result.verdict is INVALID
    assert result.message == (
        "node 2 asked for votes in epoch 2 with a log that ends at 6, when it was durable up to 3 "
        "at best"
    )
    lost = candidate().state("candidate", 2, leader=-1).restart(log_end=3, epoch=2)
    elected(lost)
    assert durable_before_asked(run(voter(6), lost)).verdict is INVALID


def test_a_candidacy_whose_end_is_not_told_proves_nothing() -> None:
    cut_short = candidate().state("candidate", 2, leader=-1)
    assert durable_before_asked(run(voter(6), cut_short)).verdict is UNKNOWN
    gap = elected(candidate())
    del gap.lines[2]
    assert durable_before_asked(run(voter(6), gap)).verdict is UNKNOWN


def test_of_older_traces_nothing_is_known() -> None:
    told = NodeTrace(1).start().vote(2, 2)
    assert durable_before_asked(run(told, elected(candidate()))).verdict is UNKNOWN
