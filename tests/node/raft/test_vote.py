"""Vote and pre-vote, asked and granted (`handleVoteRequest`, KIP-996)."""

import pytest

from node.effects import DisconnectPeer, ElectionState
from node.errors import ErrorCode
from node.ids import Epoch, NodeId
from node.messages import EndQuorumEpochRequest, FetchRequest, VoteRequest, VoteResponse
from node.raft.roles import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from tests.support.rig import CLUSTER, MS, Rig, key, log_of, vote


def ask(rig: Rig, request: VoteRequest, connection: int = 1) -> VoteResponse:
    answer = rig.request(request, connection)
    assert isinstance(answer, VoteResponse)
    return answer


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (vote(epoch=1, cluster="another"), ErrorCode.INCONSISTENT_CLUSTER_ID),
        (vote(epoch=1, partition_ok=False), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_not_for_this_quorum_is_refused_as_a_whole(
    request_: VoteRequest, error: ErrorCode
) -> None:
    answer = ask(Rig(), request_)
    assert (answer.top_error, answer.granted) == (error, False)


@pytest.mark.parametrize(
    "request_",
    [
        vote(epoch=5, last_epoch=-1),
        vote(epoch=5, last_offset=-1),
        vote(epoch=5, last_epoch=5),  # a real vote comes from a newer epoch than its log
        vote(epoch=5, last_epoch=6, pre_vote=True),
        vote(epoch=5, candidate=key(-1)),
        vote(epoch=-1),
        vote(epoch=2**31 - 1),
    ],
)
def test_impossible_values_are_invalid_and_change_nothing(request_: VoteRequest) -> None:
    rig = Rig()
    assert ask(rig, request_).error == ErrorCode.INVALID_REQUEST
    assert rig.role.epoch == 0


def test_an_older_epoch_is_fenced_and_told_the_newer_one() -> None:
    rig = Rig(election=ElectionState(epoch=Epoch(5)))
    answer = ask(rig, vote(epoch=4))
    assert (answer.error, answer.epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 5)


@pytest.mark.parametrize("pre_vote", [True, False])
def test_a_higher_epoch_is_adopted_even_from_a_pre_vote(pre_vote: bool) -> None:
    rig = Rig(log=log_of(1, 1))
    ask(rig, vote(epoch=7, pre_vote=pre_vote))  # whose log is too old
    assert isinstance(rig.role, Unattached)
    assert rig.election == ElectionState(epoch=Epoch(7))


def test_another_voters_vote_is_refused_after_its_epoch_was_adopted() -> None:
    rig = Rig()
    answer = ask(rig, vote(epoch=7, voter=key(1, directory=9)))
    assert answer.error == ErrorCode.INVALID_VOTER_KEY
    assert rig.role.epoch == 7


@pytest.mark.parametrize(
    ("last_epoch", "last_offset", "granted"),
    [(2, 2, True), (2, 3, True), (3, 1, True), (2, 1, False), (1, 9, False)],
)
def test_only_a_log_at_least_as_new_is_granted(
    last_epoch: int, last_offset: int, granted: bool
) -> None:
    rig = Rig(log=log_of(1, 2))
    answer = ask(rig, vote(epoch=5, last_epoch=last_epoch, last_offset=last_offset))
    assert answer.granted is granted


def test_a_candidate_outside_the_voter_set_may_be_granted() -> None:
    assert ask(Rig(), vote(epoch=1, candidate=key(9))).granted


def test_a_vote_survives_becoming_prospective_and_back() -> None:
    rig = Rig()
    assert ask(rig, vote(epoch=3, candidate=key(2))).granted
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)
    assert not ask(rig, vote(epoch=3, candidate=key(3)), 2).granted
    rig.reply(2, VoteResponse(epoch=Epoch(3)))
    rig.reply(3, VoteResponse(epoch=Epoch(3)))
    assert isinstance(rig.role, Unattached), "a majority refused"
    assert not ask(rig, vote(epoch=3, candidate=key(3)), 3).granted
    rig.follow(leader=2, epoch=3)
    assert rig.election.voted == key(2)


def test_a_follower_grants_no_real_vote_and_pre_votes_only_before_its_first_fetch() -> None:
    rig = Rig()
    rig.follow(leader=2, epoch=3)
    assert ask(rig, vote(epoch=3, candidate=key(3), pre_vote=True)).granted
    assert not ask(rig, vote(epoch=3, candidate=key(3)), 2).granted
    rig.feed(epoch=3)
    assert not ask(rig, vote(epoch=3, candidate=key(3), pre_vote=True), 3).granted


def test_a_candidate_grants_pre_votes_only() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    rig.reply(2, VoteResponse(granted=True))
    assert isinstance(rig.role, Candidate)
    assert ask(rig, vote(epoch=1, candidate=key(3), pre_vote=True)).granted
    assert not ask(rig, vote(epoch=1, candidate=key(3)), 2).granted


def test_pre_vote_leaves_the_epoch_alone() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)
    asked = rig.asks(VoteRequest)
    assert [(request.epoch, request.pre_vote) for request in asked] == [(0, True)] * 2
    assert rig.election == ElectionState()


def test_a_cut_off_node_does_not_raise_its_epoch() -> None:
    rig = Rig()
    rig.pass_ms(60_000)
    assert rig.role.epoch == 0


def test_a_candidate_persists_its_own_vote_in_the_next_epoch() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    rig.reply(2, VoteResponse(granted=True))
    assert rig.election == ElectionState(epoch=Epoch(1), voted=key(1))


def test_a_candidate_without_answers_becomes_prospective_in_its_epoch() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    rig.reply(2, VoteResponse(granted=True))
    rig.reply(2, VoteResponse(epoch=Epoch(1)))
    rig.reply(3, VoteResponse(epoch=Epoch(1)))
    assert isinstance(rig.role, Candidate), "after a loss it waits out its timer"
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)
    assert rig.role.epoch == 1
    assert rig.role.voted == key(1)


def test_a_rejected_prospective_returns_to_the_leader_it_knew() -> None:
    rig = Rig()
    rig.follow(leader=2, epoch=3)
    rig.feed(epoch=3)
    rig.lose(2)
    rig.pass_ms(2000)
    assert isinstance(rig.role, Prospective)
    rig.reply(3, VoteResponse(leader=NodeId(2), epoch=Epoch(3)))
    assert isinstance(rig.role, Prospective), "one refusal of two leaves a chance"
    rig.reply(2, VoteResponse(leader=NodeId(2), epoch=Epoch(3)))
    assert isinstance(rig.role, Follower)
    assert rig.role.leader == 2


def test_a_higher_epoch_in_an_answer_is_followed() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    rig.reply(
        2, VoteResponse(error=ErrorCode.FENCED_LEADER_EPOCH, leader=NodeId(3), epoch=Epoch(9))
    )
    assert isinstance(rig.role, Follower)
    assert (rig.role.epoch, rig.role.leader) == (9, 3)


def test_an_epoch_bump_keeps_the_rest_of_the_election_time_out() -> None:
    rig = Rig(log=log_of(1))
    assert isinstance(rig.role, Unattached)
    deadline = rig.role.election_deadline_ns
    rig.pass_ms(400)
    ask(rig, vote(epoch=5))  # refused: its log is empty
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns == deadline


def test_granting_a_vote_draws_the_election_time_out_anew() -> None:
    rig = Rig()
    rig.pass_ms(900)
    ask(rig, vote(epoch=5))
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns >= rig.now_ns + 1000 * MS


def test_a_follower_draws_the_time_out_anew_on_a_higher_epoch() -> None:
    rig = Rig(log=log_of(1))
    rig.follow(leader=2, epoch=3)
    rig.pass_ms(1900)
    ask(rig, vote(epoch=5))
    assert isinstance(rig.role, Unattached)
    assert rig.role.election_deadline_ns >= rig.now_ns + 1000 * MS


def test_a_leader_and_a_resigned_one_give_way_to_a_higher_epoch() -> None:
    rig = Rig()
    rig.become_leader()
    assert isinstance(rig.role, Leader)
    rig.pass_ms(4000)
    assert isinstance(rig.role, Resigned | Unattached | Prospective)
    ask(rig, vote(epoch=9, last_epoch=8, last_offset=9))
    assert rig.role.epoch == 9


def test_lost_votes_are_asked_for_again() -> None:
    rig = Rig()
    rig.pass_ms(2000)
    rig.lose(2)
    rig.pass_ms(30)
    assert len(rig.asks(VoteRequest, peer=2)) == 2
    assert len(rig.asks(VoteRequest, peer=3)) == 1


def test_a_vote_does_not_wait_behind_a_parked_fetch() -> None:
    rig = Rig()
    rig.follow(leader=2, epoch=3)
    assert isinstance(rig.last_ask(2), FetchRequest)
    rig.request(EndQuorumEpochRequest(cluster_id=CLUSTER, leader=NodeId(2), epoch=Epoch(3)))
    assert isinstance(rig.last_ask(2), VoteRequest)
    assert DisconnectPeer(peer=NodeId(2)) in rig.outputs
