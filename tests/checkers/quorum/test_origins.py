"""Where epochs come from, by hand: a candidate, or a leader's own end; leaders that are left."""

import pytest

from checkers.quorum.origins import (
    asked_before_standing,
    epochs_have_an_origin,
    live_leader_is_kept,
)
from checkers.verdict import Verdict
from tests.support.histories import NodeTrace, fault, make_run
from tests.support.judged import saw_nothing

VALID, INVALID = Verdict.VALID, Verdict.INVALID
MS = 1_000_000


def follower(node: int, epoch: int, leader: int = 1) -> NodeTrace:
    return NodeTrace(node).start().state("follower", epoch, leader=leader)


def test_an_epoch_in_which_a_node_stood() -> None:
    stood = NodeTrace(1).start().state("candidate", 3, voted=1).state("leader", 3, leader=1)
    result = epochs_have_an_origin(make_run(traces=[stood, follower(2, 3)]))
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_an_epoch_that_came_from_nowhere() -> None:
    result = epochs_have_an_origin(make_run(traces=[follower(2, 3)]))
    assert result.verdict is INVALID
    assert result.message == "node 2 is in epoch 3, in which no node stood for election"


@pytest.mark.parametrize("end", ["leader", "resigned"])
def test_a_leader_goes_on_by_itself_and_others_after_it(end: str) -> None:
    led = NodeTrace(1).start().state("candidate", 3, voted=1).state("leader", 3, leader=1)
    led.state(end, 3, leader=1).state("unattached", 4)
    others = follower(2, 3).state("unattached", 4)
    assert epochs_have_an_origin(make_run(traces=[led, others])).verdict is VALID
    too_far = follower(3, 3).state("unattached", 5)
    assert epochs_have_an_origin(make_run(traces=[led, others, too_far])).verdict is INVALID


def test_what_a_node_finds_on_its_disk_it_need_not_explain() -> None:
    found = NodeTrace(1).start(epoch=7).state("unattached", 7)
    assert saw_nothing(epochs_have_an_origin(make_run(traces=[found])))


def left(silent_ms: int, state: str = "prospective") -> NodeTrace:
    trace = follower(2, 3)
    return trace.emit(
        "q.state", state=state, epoch=3, leader=1, voted=-1, voted_dir="", log_end=0,
        log_epoch=0, silent_ns=silent_ms * MS,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("silent_ms", "state", "verdict"),
    [
        (1799, "prospective", INVALID),
        (1800, "prospective", VALID),
        (0, "candidate", INVALID),
        (5000, "candidate", VALID),
    ],
)
def test_a_leader_that_was_heard_just_before(silent_ms: int, state: str, verdict: Verdict) -> None:
    result = live_leader_is_kept(make_run(traces=[left(silent_ms, state)]))
    assert (result.verdict, result.looked_at) == (verdict, 1)


@pytest.mark.parametrize("trace", [left(0, "unattached"), left(0, "follower")])
def test_who_was_told_of_something_newer_may_leave_at_once(trace: NodeTrace) -> None:
    assert saw_nothing(live_leader_is_kept(make_run(traces=[trace])))


def leads(*, resigns: bool = False) -> NodeTrace:
    trace = NodeTrace(1).start().state("candidate", 3, voted=1).state("leader", 3, leader=1)
    return trace.state("resigned", 3, leader=1) if resigns else trace


def leaves(after_ms: int) -> NodeTrace:
    """Without having heard of its leader, as it says itself."""
    return follower(2, 3).emit(
        "q.state", after_ms * MS, state="prospective", epoch=3, leader=1, voted=-1, voted_dir="",
        log_end=0, log_epoch=0, silent_ns=-1,
    )  # fmt: skip


def test_a_leader_that_resigned_may_be_left_at_once() -> None:
    result = live_leader_is_kept(make_run(traces=[leads(resigns=True), leaves(10)]))
    assert (result.verdict, result.looked_at) == (VALID, 1)
    restarted = leads().restart(0)
    restarted.lines[-1] = restarted.lines[-1].replace(
        '"epoch": 0, "leader": -1', '"epoch": 3, "leader": 1'
    )
    assert live_leader_is_kept(make_run(traces=[restarted, leaves(10)])).verdict is VALID


@pytest.mark.parametrize(("after_ms", "verdict"), [(1700, INVALID), (1900, VALID)])
def test_nobody_is_excused_by_saying_that_its_leader_resigned(
    after_ms: int, verdict: Verdict
) -> None:
    result = live_leader_is_kept(make_run(traces=[leads(), leaves(after_ms)]))
    assert result.verdict is verdict
    assert verdict is VALID or "which had not resigned" in result.message


@pytest.mark.parametrize(
    ("fetches", "faults", "verdict"),
    [
        ((4500, 4900), False, INVALID),
        ((4500, 4900), True, VALID),
        ((4500,), False, VALID),
        ((2500, 2900), False, VALID),
    ],
)
def test_who_asked_its_leader_again_had_heard_it(
    fetches: tuple[int, ...], faults: bool, verdict: Verdict
) -> None:
    asked = leads()
    for at in fetches:
        asked.emit("q.fetch", at * MS, replica=2, replica_dir="dir-2", offset=1, last_epoch=3,
                   epoch=3, outcome="valid")  # fmt: skip
    broken_off = [fault(1, "kill", 4600, 4700)] if faults else []
    result = live_leader_is_kept(make_run(traces=[asked, leaves(5000)], faults=broken_off))
    assert result.verdict is verdict


def test_time_outs_are_those_of_the_run_and_wrong_clocks_are_left_out() -> None:
    early = [left(1900)]
    slow = live_leader_is_kept(make_run(traces=early, conditions={"fetch_timeout_ms": 3000}))
    assert slow.verdict is INVALID
    wrong = fault(1, "clock-rate", 0, 90) | {"nodes": [2]}
    run = make_run(traces=early, conditions={"fetch_timeout_ms": 3000}, faults=[wrong])
    assert saw_nothing(live_leader_is_kept(run))


def test_a_candidate_had_asked_for_pre_votes() -> None:
    asked = follower(2, 3).state("prospective", 3).state("candidate", 4).state("prospective", 4)
    again = asked.state("candidate", 5, voted=2).restart(log_end=0, epoch=5)
    again.state("candidate", 5, voted=2)
    result = asked_before_standing(make_run(traces=[again]))
    assert (result.verdict, result.looked_at) == (VALID, 3)


@pytest.mark.parametrize("was", ["leader", "follower", "candidate", "unattached", "resigned"])
def test_a_candidate_that_asked_nobody(was: str) -> None:
    stood = NodeTrace(2).start(epoch=3).state(was, 3, leader=2).state("candidate", 4)
    result = asked_before_standing(make_run(traces=[stood]))
    assert result.verdict is INVALID
    assert result.message == (
        "node 2 raised the epoch from 3 to 4 to be elected, but had asked no node for a pre-vote: "
        f"it was {was}"
    )


def test_a_candidate_that_raises_the_epoch_as_it_starts() -> None:
    stood = NodeTrace(2).start(epoch=3).state("candidate", 4)
    assert asked_before_standing(make_run(traces=[stood])).verdict is INVALID


def test_pre_votes_of_another_epoch_are_none() -> None:
    stood = NodeTrace(2).start().state("prospective", 3).state("candidate", 5)
    assert asked_before_standing(make_run(traces=[stood])).verdict is INVALID


def test_where_nobody_stands_nobody_need_ask() -> None:
    assert saw_nothing(asked_before_standing(make_run(traces=[follower(2, 3)])))
