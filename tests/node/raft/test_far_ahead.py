"""Who may speak of elections, and epochs far ahead: told in a request, or reached meanwhile."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from node.effects import ElectionState
from node.errors import ErrorCode
from node.ids import Epoch, NodeId, ReplicaKey
from node.raft.roles import LAST_EPOCH, reachable
from node.wire.apis import Request, Response
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from tests.node.raft.test_random_runs import assert_progress
from tests.support.quorum import CLUSTER_ID, SECOND, Quorum
from tests.support.quorum_members import INNER, OUTER

HALF = reachable(Epoch(0))


def vote(epoch: int, *, pre_vote: bool = False) -> VoteRequest:
    return VoteRequest(
        cluster_id=CLUSTER_ID,
        voter=NodeId(-1),
        voter_directory=None,
        epoch=Epoch(epoch),
        candidate=ReplicaKey(NodeId(9)),
        last_epoch=0,
        last_offset=0,
        pre_vote=pre_vote,
    )


def begin(epoch: int) -> BeginQuorumEpochRequest:
    return BeginQuorumEpochRequest(
        cluster_id=CLUSTER_ID,
        voter=NodeId(-1),
        voter_directory=None,
        leader=NodeId(3),
        epoch=Epoch(epoch),
    )


def end(epoch: int) -> EndQuorumEpochRequest:
    return EndQuorumEpochRequest(cluster_id=CLUSTER_ID, leader=NodeId(3), epoch=Epoch(epoch))


def moving(epoch: int) -> list[Request]:
    """What moves whoever believes it to this epoch."""
    return [vote(epoch), vote(epoch, pre_vote=True), begin(epoch), end(epoch)]


def fetch(replica: ReplicaKey, epoch: int, offset: int) -> FetchRequest:
    return FetchRequest(
        cluster_id=CLUSTER_ID,
        replica=replica,
        epoch=Epoch(epoch),
        fetch_offset=offset,
        last_epoch=epoch,
        max_wait_ms=0,
        max_bytes=1000,
    )


def told(quorum: Quorum, node: NodeId, request: Request, listener: str) -> Response:
    answers: list[Response | None] = []
    quorum.ask(node, request, answers.append, listener)
    assert quorum.run_until(lambda: bool(answers), SECOND)
    assert answers[0] is not None
    return answers[0]


def serving(*epochs: int) -> Quorum:
    """A quorum whose voters come back with these epochs, once it has committed something."""
    quorum = Quorum(len(epochs))
    for member, epoch in zip(quorum.members.values(), epochs, strict=True):
        member.election = ElectionState(epoch=Epoch(epoch))
    quorum.start()
    assert_progress(quorum)
    return quorum


def test_who_is_no_peer_has_no_say_in_elections() -> None:
    quorum = serving(0, 0, 0)
    before = {node: member.election for node, member in quorum.members.items()}
    (leader,) = quorum.leaders()
    epoch = before[leader].epoch
    for node in quorum.members:
        for request in moving(epoch + 1):
            answer = told(quorum, node, request, OUTER)
            assert isinstance(answer, VoteResponse | QuorumEpochResponse)
            assert answer.top_error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert {node: member.election for node, member in quorum.members.items()} == before
    assert quorum.leaders() == [leader]


def test_who_is_no_peer_vouches_for_no_voter() -> None:
    """Nothing of it counts: nothing is committed, and no leader kept, that a majority lacks."""
    quorum = serving(0, 0, 0)
    (leader,) = quorum.leaders()
    epoch = quorum.core(leader).raft.quorum.epoch
    for node in quorum.members:
        if node != leader:
            quorum.power_off(node)
    end_before = quorum.core(leader).raft.quorum.committed
    assert end_before is not None
    for _ in range(5):
        for member in quorum.members.values():
            request = fetch(member.key, epoch, quorum.core(leader).raft.log.end.offset)
            answer = told(quorum, leader, request, OUTER)
            assert isinstance(answer, FetchResponse)
            assert answer.top_error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        quorum.run_for(SECOND)
    assert quorum.core(leader).raft.quorum.committed == end_before
    assert quorum.leaders() == [], "it was not told that nobody follows it"


def test_an_observer_may_fetch_on_any_listener() -> None:
    quorum = serving(0, 0, 0)
    (leader,) = quorum.leaders()
    epoch = quorum.core(leader).raft.quorum.epoch
    same_id = ReplicaKey(NodeId(2))  # another disk than the voter's
    for replica in (ReplicaKey(NodeId(9)), same_id):
        for listener in (INNER, OUTER):
            answer = told(quorum, leader, fetch(replica, epoch, 0), listener)
            assert isinstance(answer, FetchResponse)
            assert (answer.top_error, answer.error) == (ErrorCode.NONE, ErrorCode.NONE)
            assert answer.records


@pytest.mark.parametrize("epoch", [HALF + 1, LAST_EPOCH - 1, LAST_EPOCH, 2**31 - 2**16])
def test_a_peer_cannot_take_a_node_to_epochs_far_ahead(epoch: int) -> None:
    quorum = serving(0, 0, 0)
    (leader,) = quorum.leaders()
    before = {node: member.election for node, member in quorum.members.items()}
    for node in quorum.members:
        for request in moving(epoch):
            answer = told(quorum, node, request, INNER)
            assert isinstance(answer, VoteResponse | QuorumEpochResponse)
            assert ErrorCode.INVALID_REQUEST in (answer.top_error, answer.error)
    assert {node: member.election for node, member in quorum.members.items()} == before
    quorum.power_off(leader)
    assert_progress(quorum)


@pytest.mark.parametrize("number", range(4))
def test_elections_go_on_after_the_furthest_that_a_request_takes_a_node(number: int) -> None:
    """Again and again: the second time it is not half of all epochs any more."""
    quorum = serving(0, 0, 0)
    for _ in range(3):
        node = min(quorum.members)
        furthest = reachable(quorum.core(node).raft.quorum.epoch)
        told(quorum, node, moving(furthest)[number], INNER)
        assert_progress(quorum)
        (leader,) = quorum.leaders()
        quorum.power_off(leader)
        assert_progress(quorum)
        quorum.start(leader)
        assert quorum.core(leader).raft.quorum.epoch < LAST_EPOCH


ANY_EPOCH = st.integers(0, 5) | st.integers(0, HALF) | st.integers(HALF - 3, HALF + 200_000)


@settings(max_examples=25, deadline=None)
@given(st.lists(ANY_EPOCH, min_size=3, max_size=3))
@example([0, HALF + 5, HALF + 5])
@example([0, HALF + 5, HALF + 100_000])
@example([0, 0, HALF + 200_000])
def test_voters_find_together_wherever_each_was_left(epochs: list[int]) -> None:
    """No election that others held while a node was away is too far ahead for it in the end."""
    quorum = serving(*epochs)
    (leader,) = quorum.leaders()
    quorum.run_for(20 * SECOND)
    quorum.power_off(leader)
    assert_progress(quorum)


@given(st.integers(0, LAST_EPOCH - 1))
def test_a_message_leaves_room_for_elections(own: int) -> None:
    furthest = reachable(Epoch(own))
    assert own <= furthest < LAST_EPOCH
    assert own == LAST_EPOCH - 1 or furthest > own, "an election takes one"
    assert furthest - own <= 2**16 or LAST_EPOCH - furthest >= 2**30 - 1
