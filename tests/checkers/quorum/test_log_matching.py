"""Q5, Q11, Q12: logs agree; each check accepts and rejects by hand."""

import pytest

from checkers.quorum.log_matching import committed_agree, leader_completeness, log_matching
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, batch, make_run

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def trace(node: int = 1, log_end: int = 0) -> NodeTrace:
    return NodeTrace(node).start(log_end=log_end)


def truncate(node: NodeTrace, end: int) -> NodeTrace:
    return node.emit("q.truncate", end=end, hwm=0, role="follower")


def test_nothing_to_look_at_is_unknown() -> None:
    for check in (log_matching, committed_agree, leader_completeness):
        assert check(make_run()).verdict is UNKNOWN
        assert check(make_run(traces=[trace()])).verdict is UNKNOWN


# --- Q5 ---


def test_the_same_batches_everywhere_and_other_epochs_at_an_offset() -> None:
    one = trace(1).append(0, 0, 1).append(1, 3, 1)
    two = trace(2).append(0, 0, 1, "follower")
    truncate(one, 1).append(1, 1, 2, "follower")
    disks = [batch(1, 0, 0, 1), batch(1, 1, 1, 2), batch(2, 0, 0, 1)]
    result = log_matching(make_run(traces=[one, two], batches=disks))
    assert (result.verdict, result.looked_at) == (VALID, 3)


def test_an_epoch_and_offset_used_twice() -> None:
    one, two = trace(1).append(4, 4, 1, crc=7), trace(2).append(4, 4, 1, "follower", crc=8)
    result = log_matching(make_run(traces=[one, two]))
    assert result.message == "epoch 1, offset 4: node 1 and node 2 hold different batches"
    assert len(result.witness) == 2


def test_a_disk_with_other_bytes_than_were_appended() -> None:
    run = make_run(traces=[trace(1).append(4, 4, 1)], batches=[batch(2, 4, 4, 1, crc=9)])
    assert log_matching(run).verdict is INVALID


def test_a_damaged_batch_is_no_other_batch() -> None:
    run = make_run(
        traces=[trace(1).append(4, 4, 1)], batches=[batch(1, 4, 4, 1, crc=9, crc_ok=False)]
    )
    assert log_matching(run).verdict is VALID


def test_overlapping_batches_of_one_epoch() -> None:
    one, two = trace(1).append(4, 9, 1), trace(2).append(6, 6, 1, "follower")
    assert log_matching(make_run(traces=[one, two])).verdict is INVALID


def test_equal_batches_above_different_ones() -> None:
    disks = [batch(1, 0, 0, 1), batch(1, 1, 1, 3), batch(2, 0, 0, 2), batch(2, 1, 1, 3)]
    result = log_matching(make_run(batches=disks))
    assert result.verdict is INVALID
    assert "both hold offset 1 of epoch 3, but differ before it, at offset 0" in result.message


def test_a_disk_that_lags_or_diverges_at_its_end_matches() -> None:
    disks = [batch(1, 0, 0, 1), batch(1, 1, 1, 3), batch(2, 0, 0, 1), batch(2, 1, 1, 2)]
    assert log_matching(make_run(batches=[*disks, batch(3, 0, 0, 1)])).verdict is VALID


# --- Q12 ---


def test_committed_batches_agree_and_uncommitted_ones_need_not() -> None:
    one = trace(1).append(0, 0, 1).append(1, 1, 1).hwm(1, 1)
    two = trace(2).append(0, 0, 1, "follower").append(1, 1, 2, "follower").hwm(2, 2, "follower")
    disks = [batch(1, 0, 0, 1), batch(1, 1, 1, 1), batch(2, 0, 0, 1), batch(2, 1, 1, 2)]
    result = committed_agree(make_run(traces=[one, two], batches=disks))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_committed_twice_with_different_bytes() -> None:
    one = trace(1).append(0, 0, 1).append(1, 1, 1).hwm(2, 1)
    two = trace(2).append(0, 0, 1, "follower").append(1, 1, 2, "follower").hwm(2, 2, "follower")
    result = committed_agree(make_run(traces=[one, two]))
    assert result.message == (
        "offset 1 was committed with different bytes: by node 1 and by node 2"
    )
    assert len(result.witness) == 4


def test_a_committed_batch_that_was_replaced_later() -> None:
    node = trace(1).append(0, 0, 1).hwm(1, 1)
    truncate(node, 0).append(0, 0, 2, "follower").hwm(1, 2, "follower")
    assert committed_agree(make_run(traces=[node])).verdict is INVALID


def test_a_disk_that_holds_something_else_below_its_high_watermark() -> None:
    node = trace(1).append(0, 0, 1).hwm(1, 1)
    result = committed_agree(make_run(traces=[node], batches=[batch(1, 0, 0, 1, crc=9)]))
    assert "the disk of node 1 holds other bytes" in result.message
    other = make_run(traces=[node, trace(2)], batches=[batch(2, 0, 0, 1, crc=9)])
    assert committed_agree(other).verdict is VALID


def test_a_tail_lost_in_a_restart_is_forgotten() -> None:
    node = trace(1).append(0, 0, 1).append(1, 1, 1).restart(log_end=1)
    node.append(1, 1, 2, "follower").hwm(2, 2, "follower")
    other = trace(2).append(0, 0, 1, "follower").append(1, 1, 2).hwm(2, 2)
    assert committed_agree(make_run(traces=[node, other])).verdict is VALID


def replaced(node: NodeTrace, end: int) -> NodeTrace:
    """The node ends as it has replaced its log by a snapshot, before it can tell of that."""
    node.restart(log_end=end)
    return node.emit("q.snapshot", what="found", end=end, epoch=1, start=end)


@pytest.mark.parametrize("end", [4, 9], ids=["it had more", "it had less"])
def test_a_log_that_was_replaced_as_its_node_ended(end: int) -> None:
    one = trace(1).append(0, end - 1, 2).hwm(end, 2)
    two = trace(2).append(0, 3, 1).append(4, 6, 1)
    replaced(two, end).hwm(end, 2, "follower")
    assert committed_agree(make_run(traces=[one, two])).verdict is VALID
    assert leader_completeness(make_run(traces=[one, leader(two, 3, end)])).verdict is VALID


def test_a_snapshot_of_what_its_node_had_committed_replaced_nothing() -> None:
    one = trace(1).append(0, 3, 2).hwm(4, 2)
    two = trace(2).append(0, 3, 1).hwm(4, 1)
    assert committed_agree(make_run(traces=[one, replaced(two, 4)])).verdict is INVALID


# --- Q11 ---


def leader(node: NodeTrace, epoch: int, log_end: int) -> NodeTrace:
    return node.state("leader", epoch, leader=node.node, log_end=log_end, log_epoch=epoch - 1)


def test_a_leader_with_all_that_was_committed_before() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1).append(1, 1, 1).append(2, 2, 1).hwm(2, 1)
    two = trace(2).append(0, 0, 1, "follower").append(1, 1, 1, "follower")
    leader(two, 2, 2).append(2, 2, 2).hwm(3, 2)
    result = leader_completeness(make_run(traces=[one, two]))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_a_leader_without_a_committed_batch() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1).append(1, 1, 1).hwm(2, 1)
    two = leader(trace(2).append(0, 0, 1, "follower"), 2, 1).append(1, 1, 2)
    result = leader_completeness(make_run(traces=[one, two]))
    assert result.message == (
        "node 2 became leader of epoch 2 without offset 1, committed in epoch 1"
    )
    assert len(result.witness) == 3


def test_a_leader_with_other_bytes_at_a_committed_offset() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1).hwm(1, 1)
    two = leader(trace(2).append(0, 0, 1, "follower", crc=9), 2, 1)
    assert leader_completeness(make_run(traces=[one, two])).verdict is INVALID


def test_what_a_later_leader_commits_an_earlier_one_need_not_have() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1)
    two = leader(trace(2), 2, 0).append(0, 0, 2).hwm(1, 2)
    assert leader_completeness(make_run(traces=[two, one])).verdict is VALID


def test_what_a_trace_never_showed_is_not_missed() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1).append(1, 1, 1).hwm(2, 1)
    two = leader(trace(2).restart(log_end=2), 2, 2)
    assert leader_completeness(make_run(traces=[one, two])).verdict is VALID
    lost = leader(trace(2).restart(log_end=2).restart(log_end=1), 2, 1)
    assert leader_completeness(make_run(traces=[one, lost])).verdict is INVALID


def test_a_trace_with_lines_missing_leaves_it_open() -> None:
    one = leader(trace(1), 1, 0).append(0, 0, 1).hwm(1, 1)
    two = leader(trace(2).append(0, 0, 1, "follower"), 2, 1)
    del two.lines[1]
    assert leader_completeness(make_run(traces=[one, two])).verdict is UNKNOWN
