"""UpdateRaftVoter as voters send it: who listens elsewhere than the voter set says tells its
leader, until its own log has it."""

from dataclasses import replace

import pytest

from node.errors import ErrorCode
from node.ids import ZERO_UUID, Endpoint, Epoch, NodeId, Offset, ReplicaKey
from node.raft.roles import Follower
from node.raft.voter_forms import DYNAMIC, STATIC
from node.raft.voter_history import VoterHistory
from node.records.batch import encode_batch
from node.records.control import Voter, Voters, encode_control
from node.wire.fetch import FetchRequest
from node.wire.raft_voters import UpdateVoterRequest, UpdateVoterResponse
from node.wire.vote import BeginQuorumEpochRequest
from tests.support.rig import CLUSTER, DISK, ME, PORTS, QUIET, Rig, asked_node, fetch, key

HERE = Endpoint(name="CONTROLLER", host="node-1", port=PORTS + 1)  # as a Rig advertises
THERE = replace(HERE, host="where-it-was")
OUTER = Endpoint(name="EXTERNAL", host="outside", port=1)


def row(node: int, *at: Endpoint) -> Voter:
    listens = Endpoint(name="CONTROLLER", host=f"node-{node}", port=PORTS + node)
    return Voter(key=key(node), endpoints=at or (listens,))


def known(*own: Endpoint, kraft_version: int = DYNAMIC) -> VoterHistory:
    rows = (row(1, *own), row(2), row(3))
    return VoterHistory.formatted([(each.key, each.endpoints) for each in rows], kraft_version)


def formatted(*own: Endpoint, kraft_version: int = DYNAMIC) -> Rig:
    """Node 1 of three, of which the set says that it listens at `own`; node 2 leads."""
    rig = Rig(timeouts=QUIET, voters=known(*own, kraft_version=kraft_version))
    rig.follow(leader=2)
    return rig


def told(rig: Rig) -> list[UpdateVoterRequest]:
    return [ask.request for ask in rig.asked if isinstance(ask.request, UpdateVoterRequest)]


def taken(rig: Rig, error: ErrorCode = ErrorCode.NONE) -> None:
    """The leader answers what it was told last."""
    asked = next(ask for ask in rig.asked[::-1] if isinstance(ask.request, UpdateVoterRequest))
    response = UpdateVoterResponse(error=error, leader=NodeId(2), epoch=Epoch(1))
    rig.answer(2, asked.correlation_id, response)


def keep_following(rig: Rig, milliseconds: int) -> None:
    """The leader answers every Fetch meanwhile, with nothing new."""
    for _ in range(milliseconds // 100):
        rig.pass_ms(100)
        rig.feed()


def test_a_leader_that_answers_is_told() -> None:
    rig = formatted(OUTER, THERE)
    assert told(rig) == [], "nobody has said yet that it leads on"
    rig.feed()
    assert told(rig) == [
        UpdateVoterRequest(cluster_id=CLUSTER, epoch=Epoch(1), voter=ME, endpoints=(HERE, OUTER))
    ]
    asked = [ask.request for ask in rig.asked if asked_node(ask) == 2]
    assert isinstance(asked[-1], FetchRequest), "and fetched from, behind that"


def test_it_is_told_again_while_the_log_says_otherwise() -> None:
    rig = formatted(THERE)
    rig.feed()
    taken(rig, ErrorCode.REQUEST_TIMED_OUT)
    keep_following(rig, QUIET.fetch_ms - 100)
    assert len(told(rig)) == 1
    keep_following(rig, 200)
    assert len(told(rig)) == 2
    taken(rig)
    record = encode_control(Voters(voters=(row(1), row(2), row(3))))
    data = encode_batch(
        [record], base_offset=Offset(0), leader_epoch=Epoch(1), timestamp_ms=0, control=True
    )
    rig.feed(data)
    keep_following(rig, 3 * QUIET.fetch_ms)
    assert len(told(rig)) == 2, "its own log says so now"


def test_a_refusal_tells_of_the_next_leader() -> None:
    rig = formatted(THERE)
    rig.feed()
    at = Endpoint(name="", host="node-3", port=PORTS + 3)
    asked = next(ask for ask in rig.asked if isinstance(ask.request, UpdateVoterRequest))
    answer = UpdateVoterResponse(
        error=ErrorCode.FENCED_LEADER_EPOCH, leader=NodeId(3), epoch=Epoch(2), leader_endpoint=at
    )
    rig.answer(2, asked.correlation_id, answer)
    assert isinstance(rig.role, Follower)
    assert rig.role.leader == 3


def test_a_leader_that_moved_writes_it_once_it_may() -> None:
    rig = Rig(timeouts=QUIET, voters=known(THERE, OUTER))
    rig.become_leader()
    assert rig.core.raft.quorum.voters.endpoints_of(ME) == (THERE, OUTER), "nothing is committed"
    end = rig.core.raft.log.end
    rig.request(fetch(replica=key(2), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0))
    rig.pass_ms(1)
    assert rig.core.raft.quorum.voters.endpoints_of(ME) == (HERE, OUTER)
    written = rig.core.raft.log.end.offset
    rig.pass_ms(100)
    assert rig.core.raft.log.end.offset == written == end.offset + 1


def by_ids() -> VoterHistory:
    """Of a static quorum: nobody knows the voters by their disks."""
    listed = [(ReplicaKey(NodeId(node)), row(node).endpoints) for node in (1, 2, 3)]
    return VoterHistory.formatted(listed, STATIC)


def static() -> Rig:
    """Node 1 of three; node 2 leads."""
    rig = Rig(timeouts=QUIET, me=ReplicaKey(ME.id), voters=by_ids())
    begins(rig, leader=2, epoch=1)
    return rig


def begins(rig: Rig, leader: int, epoch: int) -> None:
    request = BeginQuorumEpochRequest(
        cluster_id=CLUSTER,
        voter=ME.id,
        voter_directory=ZERO_UUID,
        leader=NodeId(leader),
        epoch=Epoch(epoch),
    )
    rig.request(request, connection=90)


def test_each_leader_of_static_voters_is_told_once() -> None:
    """`KafkaRaftClient.shouldSendUpdateVoteRequest` of 4.3."""
    rig = static()
    assert told(rig) == [], "nobody has said yet that it leads on"
    rig.feed()
    (first,) = told(rig)
    assert (first.voter, first.endpoints) == (ReplicaKey(ME.id, DISK), (HERE,))
    assert (first.min_kraft_version, first.max_kraft_version) == (0, 0), "it knows no other"
    asked = [ask.request for ask in rig.asked if asked_node(ask) == 2]
    assert isinstance(asked[-1], FetchRequest), "and fetched from, behind that"
    taken(rig)
    keep_following(rig, 3 * QUIET.fetch_ms)
    assert len(told(rig)) == 1
    begins(rig, leader=3, epoch=2)
    rig.feed(leader=3, epoch=2)
    assert [request.epoch for request in told(rig)] == [1, 2]


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (ErrorCode.NONE, 1),
        (ErrorCode.UNSUPPORTED_VERSION, 1),  # of one before KAFKA-16538
        (ErrorCode.REQUEST_TIMED_OUT, 2),
        (ErrorCode.INVALID_REQUEST, 2),
    ],
)
def test_a_leader_that_did_not_take_it_is_told_again(error: ErrorCode, times: int) -> None:
    rig = static()
    rig.feed()
    taken(rig, error)
    keep_following(rig, QUIET.fetch_ms + 200)
    assert len(told(rig)) == times


def test_nobody_is_told_what_is_known_or_not_written() -> None:
    for rig in (
        formatted(HERE, OUTER),
        formatted(THERE, kraft_version=STATIC),
        Rig(timeouts=QUIET, me=key(1, 77), kraft_version=DYNAMIC),  # an observer
    ):
        rig.follow(leader=2)
        keep_following(rig, 3 * QUIET.fetch_ms)
        assert told(rig) == []


def test_a_leader_is_followed_where_it_says_it_listens() -> None:
    """It moved before it was elected, and the set of voters does not know."""
    rig = formatted()
    at = Endpoint(name="CONTROLLER", host="moved", port=PORTS + 2)
    begin = BeginQuorumEpochRequest(
        cluster_id=CLUSTER,
        voter=ME.id,
        voter_directory=ME.directory,
        leader=NodeId(2),
        epoch=Epoch(1),
        leader_endpoints=(at,),
    )
    rig.request(begin, connection=90)
    rig.lose(2)
    rig.pass_ms(QUIET.retry_backoff_ms)
    fetches = [ask for ask in rig.asked if isinstance(ask.request, FetchRequest)]
    to_leader = [ask.endpoint.host for ask in fetches if asked_node(ask) == 2]
    assert to_leader == ["node-2", "moved"]
