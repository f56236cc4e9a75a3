"""When a node looks again, and what it finds due then, are said apart and must agree."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.config import QuorumTimeouts
from node.ids import MS, NEVER_NS, Epoch, NodeId, Offset, ReplicaKey
from node.raft import deadlines
from node.raft.deadlines import Move, due_move, role_deadline_ns, voter_change_wait_ns
from node.raft.roles import (
    Ballot,
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Role,
    Unattached,
)
from node.raft.voter_set import VoterSet
from tests.support.rig import ME, key

EPOCH = Epoch(4)
RAFT = Path(deadlines.__file__).parent


def voters(size: int) -> VoterSet:
    return VoterSet.of([(key(node), ()) for node in range(1, size + 1)])


def roles(at_ns: int, ballot: Ballot) -> Iterator[Role]:
    """One of each, with its time-out at that moment."""
    yield Unattached(epoch=EPOCH, election_deadline_ns=at_ns)
    yield Prospective(epoch=EPOCH, ballot=ballot, election_deadline_ns=at_ns)
    yield Candidate(epoch=EPOCH, voted=ME, ballot=ballot, election_deadline_ns=at_ns)
    yield Follower(epoch=EPOCH, leader=NodeId(2), fetch_deadline_ns=at_ns)
    yield Resigned(epoch=EPOCH, leader=ME.id, election_deadline_ns=at_ns)


def leader(check_ns: int, begin_ns: dict[ReplicaKey, int]) -> Leader:
    return Leader(
        epoch=EPOCH,
        leader=ME.id,
        epoch_start=Offset(0),
        granting=(),
        replicas={},
        begin_due_ns=begin_ns,
        check_quorum_deadline_ns=check_ns,
    )


def ballot(granted: int, rejected: int) -> Ballot:
    """Of node 1 and those after it."""
    nodes = [key(node) for node in range(1, 1 + granted + rejected)]
    return Ballot(granted=frozenset(nodes[:granted]), rejected=frozenset(nodes[granted:]))


@dataclass(frozen=True)
class Standing:
    voters: VoterSet
    can_lead: bool = True


@pytest.mark.parametrize("can_lead", [True, False])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_a_role_moves_at_its_deadline_and_not_before(size: int, can_lead: bool) -> None:
    rng = random.Random(size)
    for _ in range(200):
        at_ns = rng.randrange(1, 10**12)
        for role in [*roles(at_ns, ballot(1, 0)), leader(at_ns, {})]:
            due_ns = role_deadline_ns(role, polled_ns=0, elapsed_ns=0)
            assert due_ns == at_ns
            assert due_move(role, Standing(voters(size), can_lead), due_ns - 1) is None
            assert due_move(role, Standing(voters(size), can_lead), due_ns) is not None


@pytest.mark.parametrize(
    ("role", "can_lead", "move"),
    [
        (Unattached, True, Move.ASK),
        (Prospective, True, Move.GIVE_UP),
        (Candidate, True, Move.ASK),
        (Follower, True, Move.ASK),
        (Follower, False, Move.FIND_LEADER),
        (Resigned, True, Move.NEXT_EPOCH),
    ],
)
def test_what_happens_at_a_deadline(role: type[Role], can_lead: bool, move: Move) -> None:
    (late,) = (each for each in roles(7, ballot(1, 0)) if type(each) is role)
    assert due_move(late, Standing(voters(3), can_lead), 7) is move


@pytest.mark.parametrize(
    ("granted", "rejected", "pre_votes", "votes"),
    [
        (1, 0, None, None),
        (2, 0, None, None),
        (3, 0, Move.STAND, Move.LEAD),
        (3, 2, Move.STAND, Move.LEAD),
        (1, 2, None, None),
        (1, 3, Move.GIVE_UP, None),  # a lost candidate waits, lest it collide again
    ],
)
def test_an_election_of_five_that_is_decided_waits_for_no_deadline(
    granted: int, rejected: int, pre_votes: Move | None, votes: Move | None
) -> None:
    _, asking, standing, *_ = roles(10**12, ballot(granted, rejected))
    assert due_move(asking, Standing(voters(5)), 0) is pre_votes
    assert due_move(standing, Standing(voters(5)), 0) is votes


def test_a_leader_wakes_for_whom_it_has_not_told_and_resigns_without_a_majority() -> None:
    role = leader(900, {key(2): 300, key(3): 500})
    assert role_deadline_ns(role, polled_ns=0, elapsed_ns=0) == 300
    assert role_deadline_ns(role, polled_ns=300, elapsed_ns=300) == 500
    assert role_deadline_ns(role, polled_ns=600, elapsed_ns=600) == 900
    assert due_move(role, Standing(voters(3)), 900) is Move.RESIGN
    alone = leader(900, {})
    assert due_move(alone, Standing(voters(1)), 900) is None
    assert role_deadline_ns(alone, polled_ns=900, elapsed_ns=900) == NEVER_NS


@pytest.mark.parametrize(
    ("asked_ms", "wait_ms"),
    [(None, 2000), (0, 0), (-5, 0), (7, 7), (2**31 - 1, 2**31 - 1), (2**40, 2**31 - 1)],
)
def test_a_change_of_the_voters_waits_as_long_as_it_asks(
    asked_ms: int | None, wait_ms: int
) -> None:
    assert voter_change_wait_ns(QuorumTimeouts(request_ms=2000), asked_ms) == wait_ms * MS


def test_every_wait_of_raft_is_measured_by_its_functions_or_named_in_its_table() -> None:
    table = deadlines.__doc__ or ""
    for path in sorted(RAFT.glob("*.py")):
        waits = [line for line in path.read_text().splitlines() if "mono_ns + " in line]
        if any("deadlines." not in line for line in waits):
            assert f"`{path.stem}`" in table, f"{path.name} waits for a time of its own"
