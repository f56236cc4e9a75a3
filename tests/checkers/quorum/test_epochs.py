"""Q1, Q2, Q3, Q17: epochs, leaders and votes; each check accepts and rejects by hand."""

import json

import pytest

from checkers.quorum.elections import (
    monotonic_epochs,
    no_leader_again_after_restart,
    one_leader_per_epoch,
    one_vote_per_epoch,
)
from checkers.verdict import CheckResult, Verdict
from tests.support.histories import NodeTrace, disk, leader_change, make_run

VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


def trace(node: int = 1, directory: str = "") -> NodeTrace:
    return NodeTrace(node, directory).start()


def named(result: CheckResult, *nodes: int) -> bool:
    """Whether the witness shows lines of exactly these nodes."""
    return [row["node"] for row in result.witness] == list(nodes)


def test_nothing_to_look_at_is_unknown() -> None:
    for check in (
        monotonic_epochs,
        one_leader_per_epoch,
        one_vote_per_epoch,
        no_leader_again_after_restart,
    ):
        result = check(make_run())
        assert result.verdict is UNKNOWN
        assert "it needs traces" in result.message


def test_epochs_that_rise_and_stay() -> None:
    node = trace().state("unattached", 2).state("follower", 2, leader=3)
    node.restart(log_end=0, epoch=2).state("candidate", 3)
    assert monotonic_epochs(make_run(traces=[node], disks=[disk(1, epoch=3)])).verdict is VALID


def test_an_epoch_that_goes_down() -> None:
    result = monotonic_epochs(make_run(traces=[trace().state("follower", 5).state("follower", 4)]))
    assert result.verdict is INVALID
    assert result.message == "node 1 went from epoch 5 back to 4"
    assert len(result.witness) == 2


def test_a_restart_that_forgets_the_epoch() -> None:
    node = trace().state("candidate", 5).restart(log_end=0, epoch=4)
    assert monotonic_epochs(make_run(traces=[node])).verdict is INVALID


def test_a_new_disk_begins_anew() -> None:
    before = trace().state("candidate", 5)
    after = NodeTrace(1, "dir-new", clock=10**9).start().state("unattached", 0)
    assert monotonic_epochs(make_run(traces=[before, after])).verdict is VALID


def test_a_disk_that_knows_less_than_its_node_said() -> None:
    run = make_run(traces=[trace().state("candidate", 5)], disks=[disk(1, epoch=4)])
    assert monotonic_epochs(run).message == "node 1 reported epoch 5, but its disk holds 4"


def test_one_leader_an_epoch() -> None:
    one = trace(1).state("leader", 1, leader=1).state("follower", 2, leader=2)
    two = trace(2).state("follower", 1, leader=1).state("leader", 2, leader=2)
    run = make_run(traces=[one, two], records=[leader_change(1, 0, 1, 1)])
    result = one_leader_per_epoch(run)
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_two_leaders_of_one_epoch() -> None:
    one, two = trace(1).state("leader", 1, leader=1), trace(2).state("leader", 1, leader=2)
    result = one_leader_per_epoch(make_run(traces=[one, two]))
    assert result.message == "epoch 1 has two leaders: node 1, node 2"
    assert named(result, 1, 2)


@pytest.mark.parametrize(
    "other",
    [
        trace(3).state("follower", 1, leader=2),
        trace(2).hwm(5, 1),
        trace(2).emit("c.active", epoch=1, offset=3),
    ],
    ids=["known by a follower", "publishes", "active"],
)
def test_other_claims_to_an_epoch(other: NodeTrace) -> None:
    led = trace(1).state("leader", 1, leader=1)
    assert one_leader_per_epoch(make_run(traces=[led, other])).verdict is INVALID


def test_claims_on_disks_alone() -> None:
    records = [leader_change(1, 0, 1, 1), leader_change(2, 0, 1, 2)]
    assert one_leader_per_epoch(make_run(records=records)).verdict is INVALID
    assert one_leader_per_epoch(make_run(records=records[:1])).verdict is VALID
    run = make_run(records=records[:1], disks=[disk(3, epoch=1, leader=3)])
    assert one_leader_per_epoch(run).verdict is INVALID


def test_a_vote_repeated_and_votes_in_other_epochs() -> None:
    node = trace().vote(2, 1).state("unattached", 1, voted=2).vote(2, 1).vote(3, 1, granted=False)
    node.restart(log_end=0, epoch=1).state("unattached", 1, voted=2).vote(3, 2)
    run = make_run(traces=[node], disks=[disk(1, epoch=2, voted=3, voted_directory="dir-3")])
    result = one_vote_per_epoch(run)
    assert (result.verdict, result.looked_at) == (VALID, 2)


def test_two_votes_in_one_epoch() -> None:
    result = one_vote_per_epoch(make_run(traces=[trace().vote(2, 1).vote(3, 1)]))
    assert result.message == "node 1 voted twice in epoch 1: for node 2 and for node 3"
    assert len(result.witness) == 2


def test_a_vote_forgotten_by_a_restart() -> None:
    node = trace().vote(2, 1).restart(log_end=0).vote(3, 1)
    assert one_vote_per_epoch(make_run(traces=[node])).verdict is INVALID


def test_a_candidate_has_voted_for_itself() -> None:
    node = trace().state("candidate", 1, voted=1).vote(2, 1)
    assert one_vote_per_epoch(make_run(traces=[node])).verdict is INVALID


def test_a_vote_for_another_disk_of_the_same_node() -> None:
    node = trace().vote(2, 1).vote(2, 1, directory="dir-other")
    result = one_vote_per_epoch(make_run(traces=[node]))
    assert result.verdict is INVALID
    assert result.message.endswith("with another disk")


def test_the_disk_contradicts_the_trace() -> None:
    run = make_run(traces=[trace().vote(2, 1)], disks=[disk(1, epoch=1, voted=3)])
    assert one_vote_per_epoch(run).verdict is INVALID


def test_a_quorum_state_without_a_directory_contradicts_nothing() -> None:
    run = make_run(traces=[trace().vote(2, 1)], disks=[disk(1, epoch=1, voted=2)])
    assert one_vote_per_epoch(run).verdict is VALID


def test_another_disk_of_the_node_votes_again() -> None:
    run = make_run(traces=[trace().vote(2, 1), trace(1, "dir-new").vote(3, 1)])
    assert one_vote_per_epoch(run).verdict is VALID


@pytest.mark.parametrize(("named", "verdict"), [("dir-1", INVALID), ("dir-old", VALID)])
def test_a_leader_names_the_disk_that_voted_for_it(named: str, verdict: Verdict) -> None:
    """What another disk of the node voted binds this one to nothing (KIP-856)."""
    granting = [{"voterId": 1, "voterDirectoryId": named}]
    detail = json.dumps({"voters": granting, "grantingVoters": granting})
    told = {**leader_change(2, 0, 1, leader=2), "detail": detail}
    run = make_run(traces=[trace().vote(3, 1)], records=[told], disks=[disk(1)])
    assert one_vote_per_epoch(run).verdict is verdict


def test_a_restarted_leader_that_resigned_and_won_a_later_epoch() -> None:
    node = trace().state("leader", 1, leader=1).hwm(3, 1)
    node.restart(log_end=3, epoch=1).state("resigned", 1, leader=1).state("leader", 2, leader=1)
    result = no_leader_again_after_restart(make_run(traces=[node]))
    assert (result.verdict, result.looked_at) == (VALID, 2)


@pytest.mark.parametrize("directory", ["", "dir-new"])
def test_a_restarted_leader_that_goes_on(directory: str) -> None:
    before = trace().state("leader", 1, leader=1)
    after = NodeTrace(1, directory, clock=10**9, incarnation=1).start().state("leader", 1, leader=1)
    result = no_leader_again_after_restart(make_run(traces=[before, after]))
    assert result.verdict is INVALID
    assert "led epoch 1, was restarted, and led it again" in result.message


def test_a_vote_that_is_forgotten_over_a_restart() -> None:
    node = trace().state("unattached", 3, voted=2).vote(2, 3)
    node.restart(log_end=0, epoch=3).state("follower", 3, leader=2)
    result = one_vote_per_epoch(make_run(traces=[node]))
    assert result.verdict is INVALID
    assert "voted for node 2 in epoch 3, but its later state lacks the vote" in result.message


def test_a_vote_that_is_remembered_until_the_epoch_is_over() -> None:
    node = trace().state("unattached", 3, voted=2).vote(2, 3)
    node.restart(log_end=0, epoch=3).state("follower", 3, leader=2, voted=2)
    node.state("unattached", 4)
    assert one_vote_per_epoch(make_run(traces=[node])).verdict is VALID


def test_a_leader_does_not_repeat_its_vote() -> None:
    node = trace().state("candidate", 3, voted=1).state("leader", 3, leader=1)
    node.restart(log_end=0, epoch=3).state("resigned", 3, leader=1)
    assert one_vote_per_epoch(make_run(traces=[node])).verdict is VALID
