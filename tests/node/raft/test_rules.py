"""The pure rules, as tables."""

import random

import pytest

from node.config import QuorumTimeouts
from node.ids import Epoch, LogPosition, NodeId, Now, Offset, ReplicaKey
from node.raft import deadlines, replicas
from node.raft.fetch_follower import truncation_point
from node.raft.fetch_leader import divergence
from node.raft.roles import (
    Ballot,
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    Resigned,
    Role,
    Unattached,
    is_lost,
    is_won,
)
from node.raft.voter_set import VoterSet, majority_of
from node.raft.votes import grants_pre_vote, grants_vote
from tests.support.rig import ME, key, log_of


@pytest.mark.parametrize(("size", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)])
def test_majority_is_half_and_one(size: int, majority: int) -> None:
    assert majority_of(size) == majority


def test_a_voter_set_has_each_replica_once() -> None:
    with pytest.raises(ValueError, match="not a voter set"):
        VoterSet.of([(key(1), ()), (key(1), ())])
    two_disks = VoterSet.of([(key(1), ()), (key(1, directory=7), ()), (key(2), ())])
    assert (len(two_disks), two_disks.majority) == (3, 2)
    assert two_disks.others(key(1)) == [key(2)]


def test_nobody_is_a_majority_of_no_voters() -> None:
    nobody = VoterSet.of([])
    assert not is_won(Ballot().with_vote(key(1), granted=True), nobody)


@pytest.mark.parametrize(
    ("ends", "committed"),
    [
        ([7], 7),
        ([9, 4], 4),
        ([9, 4, 2], 4),
        ([9, 9, 0], 9),
        ([8, 6, 4, 2], 4),
        ([9, 7, 5, 3, 1], 5),
    ],
)
def test_what_a_majority_has_is_committed(ends: list[int], committed: int) -> None:
    assert replicas.replicated_to_majority([Offset(end) for end in ends]) == committed


@pytest.mark.parametrize(
    ("known", "ends", "start", "expected"),
    [
        (None, [5, 5, 0], 5, None),  # LeaderChange lies at 5: not yet covered
        (None, [6, 6, 0], 5, 6),
        (8, [9, 7, 7], 5, 8),  # a voter fell back: never lower
        (None, [9, 4, 4], 5, None),
    ],
)
def test_high_watermark_covers_leader_change_and_never_goes_down(
    known: int | None, ends: list[int], start: int, expected: int | None
) -> None:
    before = None if known is None else Offset(known)
    offsets = [Offset(end) for end in ends]
    assert replicas.advance(before, offsets, Offset(start)) == expected


@pytest.mark.parametrize(
    ("line", "wait_ms"),
    [
        ([], 0),
        ([1, 2, 3], 0),
        ([2, 1], 500),
        ([2, 1, 3], 250),
        ([2, 3, 1], 500),
        ([2, 3, 4, 1], 500),
        ([2, 3, 4, 5, 1], 496),
        ([2, 1, 3, 4, 5], 62),
        ([2, 3], 1000),
    ],
)
def test_back_off_after_end_quorum_epoch_grows_with_the_position(
    line: list[int], wait_ms: int
) -> None:
    preferred = [key(node) for node in line]
    assert deadlines.end_epoch_backoff_ms(preferred, ME, 1000) == wait_ms
    # As a leader of kraft.version 0 names them.
    without = [ReplicaKey(NodeId(node)) for node in line]
    assert deadlines.end_epoch_backoff_ms(without, ME, 1000) == wait_ms


def test_another_disk_of_the_same_node_is_not_in_the_line() -> None:
    preferred = [key(1, directory=9), key(2)]
    assert deadlines.end_epoch_backoff_ms(preferred, ME, 1000) == 1000


def test_election_time_outs_spread_over_t_to_2t() -> None:
    rng = random.Random(1)
    drawn = [deadlines.election_timeout_ns(QuorumTimeouts(), rng) / 1e6 for _ in range(500)]
    assert 1000 <= min(drawn) < 1020
    assert 1980 < max(drawn) < 2000


def test_a_ballot_counts_each_voter_once_and_knows_when_it_is_lost() -> None:
    voters = VoterSet.of([(key(i), ()) for i in range(1, 4)])
    ballot = Ballot().with_vote(key(1), granted=True)
    assert ballot.unanswered(voters) == [key(2), key(3)]
    refused = ballot.with_vote(key(2), granted=False).with_vote(key(2), granted=True)
    assert not is_won(refused, voters)
    assert not is_lost(refused, voters)
    assert is_won(refused.with_vote(key(3), granted=True), voters)
    assert is_lost(refused.with_vote(key(3), granted=False), voters)


E = Epoch(5)
UNATTACHED = Unattached(epoch=E, election_deadline_ns=0)
VOTED = Unattached(epoch=E, voted=key(2), election_deadline_ns=0)
KNOWS = Unattached(epoch=E, leader=NodeId(3), election_deadline_ns=0)
PROSPECTIVE = Prospective(epoch=E, election_deadline_ns=0)
LOST_TOUCH = Prospective(epoch=E, leader=NodeId(3), election_deadline_ns=0)
CANDIDATE = Candidate(epoch=E, voted=ME, election_deadline_ns=0)
FRESH = Follower(epoch=E, leader=NodeId(3), fetch_deadline_ns=0)
FETCHING = Follower(epoch=E, leader=NodeId(3), fetched=True, fetch_deadline_ns=0)
RESIGNED = Resigned(epoch=E, leader=NodeId(1), election_deadline_ns=0)
LEADER = Leader(
    epoch=E,
    leader=NodeId(1),
    epoch_start=Offset(0),
    granting=(),
    replicas={},
    begin_due_ns={},
    check_quorum_deadline_ns=0,
)


@pytest.mark.parametrize(
    ("role", "pre_vote", "real_vote"),
    [
        (UNATTACHED, True, True),
        (VOTED, True, True),  # for this very candidate
        (KNOWS, True, False),
        (PROSPECTIVE, True, True),
        (LOST_TOUCH, True, False),
        (CANDIDATE, True, False),
        (FRESH, True, False),
        (FETCHING, False, False),
        (RESIGNED, True, False),
        (LEADER, False, False),
    ],
)
def test_who_grants_votes(role: Role, pre_vote: bool, real_vote: bool) -> None:
    assert grants_pre_vote(role, up_to_date=True) is pre_vote
    assert grants_vote(role, key(2), up_to_date=True) is real_vote
    assert not grants_pre_vote(role, up_to_date=False)


@pytest.mark.parametrize(
    ("candidate", "granted"), [(key(2), True), (key(2, directory=7), False), (key(3), False)]
)
def test_a_vote_is_for_one_key_and_repeated_while_its_log_is_as_new(
    candidate: ReplicaKey, granted: bool
) -> None:
    assert grants_vote(VOTED, candidate, up_to_date=True) is granted
    assert not grants_vote(VOTED, candidate, up_to_date=False)


@pytest.mark.parametrize(
    ("offset", "last_epoch", "expected"),
    [
        (0, 0, None),  # an empty log never diverges
        (0, 9, None),
        (2, 1, None),  # behind, but a part of ours
        (3, 1, None),
        (4, 1, (1, 3)),  # longer than ours in epoch 1
        (5, 2, (1, 3)),  # an epoch that we do not have
        (5, 3, None),
        (6, 3, (3, 5)),
        (9, 4, (3, 5)),
    ],
)
def test_divergence_is_where_our_log_ends_in_their_last_epoch(
    offset: int, last_epoch: int, expected: tuple[int, int] | None
) -> None:
    log = log_of(1, 1, 1, 3, 3)
    found = divergence(log, offset, last_epoch)
    assert found == (None if expected is None else _at(*expected))


@pytest.mark.parametrize(
    ("diverging", "expected"),
    [
        ((1, 2), (1, 2)),  # the leader's epoch 1 is shorter
        ((1, 9), (1, 3)),  # ours is
        ((2, 4), (1, 3)),  # we lack epoch 2: end of our largest lower one
        ((4, 7), (4, 5)),
        ((0, 0), (0, 0)),
        ((0, 2), (0, 2)),
    ],
)
def test_truncation_keeps_what_may_be_common(
    diverging: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert truncation_point(log_of(1, 1, 1, 4, 4), _at(*diverging)) == _at(*expected)


def test_caught_up_counts_from_the_fetch_before_once_that_is_reached() -> None:
    first = Progress().fetched(end=Offset(5), leader_end=Offset(9), now=Now(1, 10), outcome="valid")
    assert first.last_caught_up_wall_ns == -1
    second = first.fetched(end=Offset(9), leader_end=Offset(12), now=Now(2, 20), outcome="valid")
    assert second.last_caught_up_wall_ns == 10
    third = second.fetched(end=Offset(12), leader_end=Offset(12), now=Now(3, 30), outcome="valid")
    assert third.last_caught_up_wall_ns == 30


def _at(epoch: int, offset: int) -> LogPosition:
    return LogPosition(Epoch(epoch), Offset(offset))
