"""Who is made a voter: only who showed that it can vote. And whom a leader knows until then."""

from dataclasses import replace

import pytest

from node.errors import ErrorCode
from node.ids import ConnectionId, Endpoint, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.raft.roles import Leader, Resigned
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.server.quorum_command import QuorumDescription, status
from node.wire.apis import BROKER_API_RANGES
from node.wire.fetch import FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    VoterChangeResponse,
)
from node.wire.vote import BeginQuorumEpochRequest, QuorumEpochResponse
from tests.support.batches import snapshot
from tests.support.broker_machine import key_of
from tests.support.broker_world import BrokerWorld
from tests.support.rig import CLUSTER, ME, PORTS, QUIET, Rig, fetch, key, log_of
from tests.support.voter_requests import (
    ACKNOWLEDGED,
    ANOTHER,
    OPERATOR,
    SERVED,
    add,
    at,
    fetches,
    led,
    operate,
    remove,
    shows_itself,
    voting,
)

LOOKING_ON = 60  # a connection


def refused(rig: Rig, connection: int = OPERATOR) -> VoterChangeResponse:
    (answer,) = rig.answered(connection)
    assert isinstance(answer, VoterChangeResponse)
    return answer


def described(rig: Rig) -> DescribeQuorumResponse:
    answer = rig.request(DescribeQuorumRequest(), LOOKING_ON)
    assert isinstance(answer, DescribeQuorumResponse)
    return answer


def could_be(rig: Rig) -> list[object]:
    told = status(QuorumDescription(cluster_id=CLUSTER, response=described(rig)))
    members = told["CouldBeVoters"]
    assert isinstance(members, list)
    assert len(members) == rig.core.gauges(rig.now_ns)["number-of-possible-voters"]
    return [each["id"] for each in members]


class Registrations:
    """Brokers, and controllers that said where they are."""

    def __init__(self, brokers: set[int], controllers: set[int]) -> None:
        self.brokers = brokers
        self.controllers = controllers

    def knows(self, node: NodeId) -> bool:
        return node in self.brokers | self.controllers

    def is_broker_alone(self, node: NodeId) -> bool:
        return node in self.brokers - self.controllers

    def controller_at(self, node: NodeId) -> tuple[Endpoint, ...]:
        return at(node) if node in self.controllers else ()


# --- that it can vote ---


@pytest.mark.parametrize("lacking", [52, 53, 54, 59, 1])
def test_who_does_not_serve_what_voters_ask_is_not_added(lacking: int) -> None:
    rig = led()
    fetches(rig, 4)
    rig.request(add(4), OPERATOR)
    apis = tuple(each for each in SERVED.apis if each.api_key != lacking)
    rig.reply(4, replace(SERVED, apis=apis))
    assert refused(rig).error is ErrorCode.INVALID_REQUEST
    assert "does not serve" in (refused(rig).message or "")
    assert voting(rig) == [1, 2, 3]


def test_a_broker_serves_nothing_that_voters_ask_but_fetch() -> None:
    served = {each.api_key for each in BROKER_API_RANGES}
    assert served & {1, 52, 53, 54, 59} == {1}


def test_who_answers_for_another_makes_no_voter_of_it() -> None:
    """An operator gave the address of node 2: it serves all, and would never be asked for 4."""
    rig = led()
    fetches(rig, 4)
    rig.request(replace(add(4), endpoints=at(2)), OPERATOR)
    rig.reply(2, SERVED)
    begun = rig.asked[-1].request
    assert isinstance(begun, BeginQuorumEpochRequest)
    assert (begun.voter, begun.voter_directory) == (4, key(4).directory)
    rig.reply(2, replace(ACKNOWLEDGED, error=ErrorCode.INVALID_VOTER_KEY))
    assert refused(rig).error is ErrorCode.INVALID_REQUEST
    assert "another replica answers at node-2:9102" in (refused(rig).message or "")
    rig.request(add(4), ANOTHER)
    shows_itself(rig, 4)
    assert voting(rig) == [1, 2, 3, 4], "the address was wrong, not the replica"


def test_who_cannot_acknowledge_a_leader_yet_is_told_of_it_again() -> None:
    rig = led()
    fetches(rig, 4)
    rig.request(add(4, timeout_ms=1000), OPERATOR)
    rig.reply(4, SERVED)
    for _ in range(9):
        assert isinstance(rig.asked[-1].request, BeginQuorumEpochRequest)
        rig.reply(4, QuorumEpochResponse(error=ErrorCode.BROKER_NOT_AVAILABLE, epoch=Epoch(9)))
        rig.pass_ms(100)
        fetches(rig, 2, 4)
    assert isinstance(rig.role, Leader), "who does not vote moves nobody to another epoch"
    rig.pass_ms(100)
    assert refused(rig).error is ErrorCode.REQUEST_TIMED_OUT
    assert "acknowledges no leader at node-4:9104" in (refused(rig).message or "")
    assert voting(rig) == [1, 2, 3]


@pytest.mark.parametrize("at_controller", [False, True])
def test_no_broker_becomes_a_voter(*, at_controller: bool) -> None:
    """Of three controllers one may die, then as before."""
    world = BrokerWorld((4,), combined=(1, 2, 3))

    def led_by() -> int | None:
        for node in (1, 2, 3):
            if world.machines[NodeId(node)].life is not None:
                told = world.ask(node, DescribeQuorumRequest(), 2000, listener="CONTROLLER")
                if isinstance(told, DescribeQuorumResponse) and told.error is ErrorCode.NONE:
                    return node
        return None

    world.until(lambda: led_by() is not None, "a leader")
    world.run_ms(3000)
    leader = led_by()
    assert leader is not None
    told = world.ask(leader, DescribeQuorumRequest(), listener="CONTROLLER")
    assert isinstance(told, DescribeQuorumResponse)
    assert [each.key.id for each in told.observers] == [4]
    assert status(QuorumDescription(cluster_id="", response=told))["CouldBeVoters"] == []
    broker, other = world.machines[NodeId(4)].as_broker, next(n for n in (1, 2, 3) if n != leader)
    address = told.nodes[other - 1][1][0] if at_controller else broker
    assert address is not None
    request = AddVoterRequest(
        cluster_id=None,
        voter=key_of(NodeId(4)),
        endpoints=(Endpoint(name="CONTROLLER", host=address.host, port=address.port),),
        timeout_ms=5000,
    )
    answer = world.ask(leader, request, listener="CONTROLLER")
    assert isinstance(answer, VoterChangeResponse)
    assert answer.error is ErrorCode.INVALID_REQUEST
    expected = "another replica" if at_controller else "it is no controller"
    assert expected in (answer.message or "")
    world.kill(leader)
    world.until(lambda: led_by() not in (None, leader), "another leads")


# --- whom the leader knows ---


def test_who_is_to_be_added_is_known_among_any_number_of_strangers() -> None:
    rig = led()
    for node in range(1000, 1300):
        fetches(rig, node)
    operate(rig, remove(3), OPERATOR)
    fetches(rig, 2)
    new = key(3, 77)

    def follows() -> None:
        end = rig.core.raft.log.end
        asked = fetch(replica=new, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
        rig.request(asked, connection=3)

    follows()
    assert len(described(rig).observers) == 256
    rig.request(replace(add(3), voter=new), ANOTHER)
    follows()
    assert new in [each.key for each in described(rig).observers]
    shows_itself(rig, 3)
    assert voting(rig) == [1, 2, 3]


def test_all_whom_the_quorum_knows_are_told_of() -> None:
    rig = led()
    rig.core.raft.tell_registered(Registrations(set(range(1000, 1200)), {1199, 1300}))
    for node in (*range(2000, 2300), *range(1000, 1200), 1300):
        fetches(rig, node)
    told = {each.key.id for each in described(rig).observers}
    assert told >= {*range(1000, 1200), 1300}
    assert len(told) == 201 + 256, "the others may be anybody's invention"
    assert could_be(rig) == [*range(2000, 2256), 1199, 1300]
    assert dict(described(rig).nodes)[NodeId(1300)] == at(1300)


def test_a_node_that_is_known_has_room_for_few_disks() -> None:
    rig = led()
    for directory in range(900, 1000):
        end = rig.core.raft.log.end
        asked = fetch(
            replica=key(2, directory), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0
        )
        rig.request(asked, connection=5)
    assert len(described(rig).observers) == 4


def listed(*nodes: int) -> Rig:
    """Node 1 leads those that controller.quorum.voters lists (KIP-856)."""
    listing = {
        NodeId(n): (Endpoint(name="CONTROLLER", host=f"node-{n}", port=PORTS + n),) for n in nodes
    }
    rig = Rig(timeouts=QUIET, voters=VoterHistory.listed(listing, ME), size=2 * len(nodes) - 2)
    rig.become_leader()
    for _ in range(3):
        fetches(rig, *nodes[1:])
    return rig


def test_who_is_not_listed_could_not_be_a_voter() -> None:
    rig = listed(1, 2, 3)
    fetches(rig, 9)
    assert could_be(rig) == []
    end = rig.core.raft.log.end
    asked = fetch(replica=key(3, 77), offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
    rig.request(asked, connection=3)
    assert could_be(rig) == [3], "by another disk"


def test_who_fetches_a_snapshot_is_an_observer() -> None:
    log = log_of(1, 1, 1)
    id_ = LogPosition(Epoch(1), Offset(2))
    log.write_snapshot(id_, 0, snapshot(id_, 30, size=100))
    log.finish_snapshot(id_)
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC, log=log)
    rig.become_leader()
    epoch = rig.role.epoch

    def fetch_piece(position: int) -> FetchSnapshotResponse:
        asked = FetchSnapshotRequest(
            cluster_id=CLUSTER,
            replica=key(4),
            epoch=epoch,
            snapshot=id_,
            position=position,
            max_bytes=200,
        )
        answer = rig.request(asked, connection=4)
        assert isinstance(answer, FetchSnapshotResponse)
        return answer

    end = rig.core.raft.log.end
    follow = fetch(
        replica=key(2), epoch=epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0
    )
    rig.request(follow, connection=2)
    operate(rig, add(4, timeout_ms=1000), OPERATOR)
    fetch_piece(0)
    (observer,) = described(rig).observers
    assert (observer.key, observer.log_end) == (key(4), -1)
    assert observer.last_fetch_ms == rig.now().wall_ns // 10**6
    shows_itself(rig, 4)
    rig.pass_ms(1000)
    assert refused(rig).error is ErrorCode.REQUEST_TIMED_OUT
    assert "it fetches a snapshot" in (refused(rig).message or "")


def test_a_leader_that_is_removed_gives_snapshots_until_that_is_committed() -> None:
    log = log_of(1, 1, 1)
    id_ = LogPosition(Epoch(1), Offset(2))
    log.write_snapshot(id_, 0, snapshot(id_, 3))
    log.finish_snapshot(id_)
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC, log=log)
    rig.become_leader()
    epoch = rig.role.epoch

    def follow(node: int) -> None:
        end = rig.core.raft.log.end
        asked = fetch(
            replica=key(node), epoch=epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0
        )
        rig.request(asked, connection=node)

    def asked_for_a_piece() -> ErrorCode:
        piece = FetchSnapshotRequest(
            cluster_id=CLUSTER,
            replica=key(3),
            epoch=epoch,
            snapshot=id_,
            position=0,
            max_bytes=200,
        )
        answer = rig.request(piece, connection=33)
        assert isinstance(answer, FetchSnapshotResponse)
        return answer.error

    follow(2)
    rig.request(remove(1), OPERATOR)
    assert voting(rig) == [2, 3]
    assert asked_for_a_piece() is ErrorCode.NONE, "it leads on, so that its removal is committed"
    follow(2)
    assert isinstance(rig.role, Leader)
    follow(3)
    assert isinstance(rig.role, Resigned)
    assert asked_for_a_piece() is ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- what it makes of them ---


def test_who_was_removed_makes_no_majority_of_the_others() -> None:
    rig = Rig(timeouts=QUIET, kraft_version=DYNAMIC, size=5)
    rig.become_leader()
    fetches(rig, 2, 3)
    rig.pass_ms(2000)
    fetches(rig, 2)
    rig.request(remove(2), OPERATOR)
    assert voting(rig) == [1, 3, 4, 5]
    rig.pass_ms(900)
    fetches(rig, 3)
    rig.pass_ms(200)
    assert isinstance(rig.role, Resigned), "3 alone of 3, 4 and 5 fetched in 3 s"


def test_a_change_is_pending_though_nobody_waits_for_it() -> None:
    rig = led()
    fetches(rig, 4)
    operate(rig, add(4), OPERATOR)
    rig.hung_up_on(ConnectionId(OPERATOR))
    told = rig.core.gauges(rig.now_ns)
    assert (told["pending-add-voter"], told["pending-remove-voter"]) == (1, 0)
    fetches(rig, 2, 4)
    assert rig.core.gauges(rig.now_ns)["pending-add-voter"] == 0
    rig.request(remove(3), OPERATOR)
    rig.hung_up_on(ConnectionId(OPERATOR))
    told = rig.core.gauges(rig.now_ns)
    assert (told["pending-add-voter"], told["pending-remove-voter"]) == (0, 1)


def test_a_leader_is_caught_up_with_itself_now_and_fetches_from_nobody() -> None:
    """KIP-856, "DescribeQuorum": -1 "for the current leader", and "the current time"."""
    rig = led()
    rig.pass_ms(700)
    own = described(rig).voters[0]
    now_ms = rig.now().wall_ns // 10**6
    assert own.key == ReplicaKey(ME.id, ME.directory)
    assert (own.last_fetch_ms, own.last_caught_up_ms) == (-1, now_ms)
