"""Q6 to Q8, Q10, Q13: high watermarks; each check accepts and rejects by hand."""

from checkers.quorum.watermarks import (
    leader_appends_only,
    no_cut_below_high_watermark,
    node_high_watermark,
    published_above_leader_change,
    quorum_high_watermark,
)
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, leader_change, make_run
from tests.support.judged import saw_nothing

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def trace(node: int = 1, log_end: int = 0) -> NodeTrace:
    return NodeTrace(node).start(log_end=log_end)


def test_nothing_to_look_at_is_unknown() -> None:
    for check in (quorum_high_watermark, node_high_watermark, published_above_leader_change):
        assert check(make_run()).verdict is UNKNOWN
        assert check(make_run(traces=[trace()])).verdict is UNKNOWN


def test_leaders_that_take_over_above_their_predecessors() -> None:
    one, two = trace(1).hwm(5, 1).hwm(9, 1), trace(2).hwm(4, 1, "follower").hwm(11, 2).hwm(12, 2)
    result = quorum_high_watermark(make_run(traces=[one, two]))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_a_leader_that_begins_lower_has_lost_something() -> None:
    one, two = trace(1).hwm(9, 1), trace(2).hwm(8, 2).hwm(20, 2)
    result = quorum_high_watermark(make_run(traces=[two, one]))
    assert result.verdict is INVALID
    assert "epoch 2, node 2, began with high watermark 8, below 9 of epoch 1" in result.message
    assert [row["node"] for row in result.witness] == [1, 2]


def test_the_highest_of_all_earlier_epochs_counts() -> None:
    traces = [trace(1).hwm(9, 1), trace(2).hwm(9, 2), trace(3).hwm(8, 3)]
    assert quorum_high_watermark(make_run(traces=traces)).verdict is INVALID


def test_an_unknown_high_watermark_is_none() -> None:
    traces = [trace(1).hwm(9, 1), trace(2).hwm(-1, 2).hwm(10, 2)]
    assert quorum_high_watermark(make_run(traces=traces)).verdict is VALID


def test_a_follower_that_lags_lowers_nothing() -> None:
    traces = [trace(1).hwm(9, 1), trace(2).hwm(3, 2, "follower")]
    assert quorum_high_watermark(make_run(traces=traces)).verdict is VALID


def test_a_high_watermark_that_rises_within_the_log() -> None:
    node = trace().append(0, 4, 1).hwm(3, 1).hwm(5, 1).hwm(-1, 2)
    node.restart(log_end=5).hwm(2, 2, "follower").hwm(5, 2, "follower")
    result = node_high_watermark(make_run(traces=[node]))
    assert (result.verdict, result.looked_at) == (VALID, 4)


def test_a_high_watermark_that_goes_down() -> None:
    node = trace(log_end=9).hwm(5, 1).hwm(4, 1)
    result = node_high_watermark(make_run(traces=[node]))
    assert result.message == "node 1 lowered its high watermark: 5 to 4"


def test_a_high_watermark_beyond_the_log() -> None:
    result = node_high_watermark(make_run(traces=[trace().append(0, 4, 1).hwm(6, 1)]))
    assert result.message == "node 1 reported high watermark 6, but its log ends at 5"
    truncated = trace().append(0, 4, 1).emit("q.truncate", end=3, hwm=0, role="follower").hwm(4, 1)
    assert node_high_watermark(make_run(traces=[truncated])).verdict is INVALID


def test_a_log_that_a_snapshot_replaced_ends_with_it() -> None:
    loaded = trace().append(0, 4, 1).emit("q.loaded", end=9, epoch=1)
    assert node_high_watermark(make_run(traces=[loaded.hwm(9, 1)])).verdict is VALID
    beyond = trace().append(0, 4, 1).emit("q.loaded", end=9, epoch=1).hwm(10, 1)
    assert node_high_watermark(make_run(traces=[beyond])).verdict is INVALID


def test_a_trace_with_lines_missing_is_not_followed() -> None:
    node = trace().append(0, 4, 1).append(5, 9, 1).hwm(10, 1)
    del node.lines[2]
    result = node_high_watermark(make_run(traces=[node]))
    assert result.verdict is UNKNOWN
    assert "line 3 in place of line 2" in result.message


def test_published_above_the_leader_change_on_the_disk() -> None:
    records = [leader_change(1, 0, 1, 1), leader_change(1, 7, 2, 2)]
    traces = [trace(1).hwm(1, 1), trace(2).hwm(8, 2)]
    result = published_above_leader_change(make_run(traces=traces, records=records))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_published_at_the_leader_change() -> None:
    run = make_run(traces=[trace(2).hwm(7, 2)], records=[leader_change(1, 7, 2, 2)])
    result = published_above_leader_change(run)
    assert result.verdict is INVALID
    assert (
        "high watermark 7 in epoch 2 before its LeaderChange, at 7, was committed" in result.message
    )


def test_the_leaders_own_first_batch_will_do() -> None:
    good = trace().append(7, 7, 2).append(8, 9, 2).hwm(8, 2)
    assert published_above_leader_change(make_run(traces=[good])).verdict is VALID
    bad = trace().append(7, 7, 2).append(8, 9, 2).hwm(6, 2)
    assert published_above_leader_change(make_run(traces=[bad])).verdict is INVALID


def cut(node: NodeTrace, end: int) -> NodeTrace:
    return node.emit("q.truncate", end=end, hwm=0, role="follower")


def test_without_a_truncation_there_is_no_row() -> None:
    assert saw_nothing(no_cut_below_high_watermark(make_run(traces=[trace().hwm(4, 1)])))


def test_a_log_that_is_cut_at_its_high_watermark() -> None:
    node = cut(trace(log_end=9).hwm(4, 1, "follower"), 4)
    cut(node.restart(log_end=4), 3)  # another process: what it calls committed it has yet to learn
    result = no_cut_below_high_watermark(make_run(traces=[node]))
    assert result is not None
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_a_log_that_is_cut_below_its_high_watermark() -> None:
    node = cut(trace(log_end=9).hwm(4, 1, "follower").hwm(6, 1, "follower"), 5)
    result = no_cut_below_high_watermark(make_run(traces=[node]))
    assert result is not None
    assert result.verdict is INVALID
    assert result.message == "node 1 truncated its log to 5, below its high watermark 6"
    assert [row["what"] for row in result.witness] == ["called committed", "cut off"]


# --- Q6 ---


def test_a_leader_appends_and_a_follower_may_be_cut() -> None:
    node = trace().state("follower", 1, leader=2).append(0, 5, 1, "follower")
    node.emit("q.truncate", end=3, hwm=0, role="follower")
    node.state("leader", 2, leader=1).append(3, 3, 2).append(4, 9, 2)
    result = leader_appends_only(make_run(traces=[node]))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_a_leader_that_cuts_its_log() -> None:
    node = trace().state("leader", 2, leader=1).append(3, 3, 2)
    node.emit("q.truncate", end=3, hwm=0, role="leader")
    result = leader_appends_only(make_run(traces=[node]))
    assert result.verdict is INVALID
    assert result.message == "node 1 led epoch 2, but gave up its log from 3 on"


def test_a_leader_that_writes_an_offset_twice() -> None:
    node = trace().state("leader", 2, leader=1).append(3, 5, 2).append(5, 6, 2)
    assert leader_appends_only(make_run(traces=[node])).verdict is INVALID


def test_a_leader_that_replaces_its_log() -> None:
    node = trace().state("leader", 2, leader=1).emit("q.loaded", end=9, epoch=1)
    assert leader_appends_only(make_run(traces=[node])).verdict is INVALID


def test_where_nobody_leads_no_leader_cuts() -> None:
    assert saw_nothing(leader_appends_only(make_run(traces=[trace()])))
