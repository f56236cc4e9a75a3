"""Controllers make themselves known to whoever leads, and the log says where each of them is."""

from uuid import UUID

from node.config import QuorumTimeouts
from node.controller.registration import REGISTRY_CHANNEL, record_of
from node.effects import DisconnectPeer
from node.errors import ErrorCode
from node.ids import Endpoint, Epoch, NodeId, Offset
from node.outbox import RequestTo
from node.records.batch import encode_batch
from node.records.control import Voter, Voters, encode_control
from node.records.metadata import FeatureLevelRecord, RegisterControllerRecord, encode_metadata
from node.wire.registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    FeatureRange,
    RegisteredListener,
)
from node.wire.topic_metadata import (
    CONTROLLERS,
    ClusterMember,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tests.node.controller.test_controller import active, catch_up, records
from tests.support.quorum import SECOND, Quorum
from tests.support.quorum_members import INNER, OUTER
from tests.support.rig import MS, Rig, asked_node, key

LIFE = UUID(int=7 << 64)


def kafkas(node: int = 3, incarnation: UUID = LIFE) -> ControllerRegistrationRequest:
    """As Apache Kafka's controller asks."""
    at = (
        Endpoint(name="CONTROLLER", host=f"kafka-{node}", port=9093),
        Endpoint(name="EXTERNAL", host="outside", port=20000 + node),
    )
    return ControllerRegistrationRequest(
        controller=NodeId(node),
        incarnation=incarnation,
        listeners=tuple(RegisteredListener(endpoint=each) for each in at),
        features=(FeatureRange(name="metadata.version", lowest=7, highest=30),),
    )


def registered(rig: Rig) -> list[RegisterControllerRecord]:
    return [found for found in records(rig) if isinstance(found, RegisterControllerRecord)]


def test_a_registration_is_acknowledged_once_it_is_committed_and_the_leaders_own_follows() -> None:
    rig = active()
    assert rig.request(kafkas(), 40) is None
    rig.pass_ms(0)
    assert rig.answered(40) == []
    theirs, own = registered(rig)
    assert theirs == record_of(kafkas())
    assert (own.controller_id, own.incarnation_id) == (1, UUID(int=1 << 64))
    assert [at.name for at in own.end_points] == ["CONTROLLER", "EXTERNAL"]
    assert {each.name for each in own.features} == {
        "kraft.version",
        "metadata.version",
        "eligible.leader.replicas.version",
    }
    catch_up(rig, 41)
    assert rig.answered(40) == [ControllerRegistrationResponse()]
    # Another life of the same process replaces it; the leader's own is known.
    rig.request(kafkas(incarnation=UUID(int=8 << 64)), 42)
    rig.pass_ms(0)
    assert len(registered(rig)) == 3
    catch_up(rig, 43)
    assert rig.core.role.controller.image.controllers[3].incarnation_id == UUID(int=8 << 64)


def test_where_nobody_registers_the_log_holds_no_registration() -> None:
    rig = active()
    rig.pass_ms(3000)
    assert registered(rig) == []
    assert not any(ask.channel == REGISTRY_CHANNEL for ask in rig.asked)


def test_who_does_not_lead_and_who_is_not_asked_by_a_peer_refuses() -> None:
    rig = Rig()
    answer = rig.request(kafkas())
    assert isinstance(answer, ControllerRegistrationResponse)
    assert answer.error == ErrorCode.NOT_CONTROLLER
    (refused,) = active_by_other_listener()
    assert refused.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def active_by_other_listener() -> list[ControllerRegistrationResponse]:
    quorum = Quorum(size=1)
    quorum.start()
    assert quorum.run_until(lambda: quorum.active() == [1], 10 * SECOND)
    told: list[ControllerRegistrationResponse] = []

    def on_answer(answer: object) -> None:
        assert isinstance(answer, ControllerRegistrationResponse)
        told.append(answer)

    quorum.ask(NodeId(1), kafkas(), on_answer, listener=OUTER)
    assert quorum.run_until(lambda: bool(told), SECOND)
    return told


def following(
    *found: FeatureLevelRecord | RegisterControllerRecord, timeouts: QuorumTimeouts | None = None
) -> Rig:
    """A follower of node 2 that has replayed these."""
    rig = Rig(timeouts=timeouts)
    rig.follow()
    values = [(None, encode_metadata(record)) for record in found]
    data = encode_batch(values, base_offset=Offset(0), leader_epoch=Epoch(1), timestamp_ms=0)
    rig.feed(data, hwm=len(found))
    return rig


LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


def sent(rig: Rig) -> list[RequestTo]:
    return [ask for ask in rig.asked if ask.channel == REGISTRY_CHANNEL]


def lose(rig: Rig) -> None:
    """The connection over which it registers fails."""
    rig._do(rig.core.on_peer_disconnected(REGISTRY_CHANNEL, rig.now()))


def test_a_follower_sends_its_registration_on_a_connection_of_its_own_until_the_log_has_it() -> (
    None
):
    rig = following(LEVEL, record_of(kafkas()))
    (ask,) = sent(rig)
    assert asked_node(ask) == 2
    assert isinstance(ask.request, ControllerRegistrationRequest)
    assert ask.request.controller == 1
    assert ask.channel not in [each.channel for each in rig.asked if each is not ask]
    accepted = ControllerRegistrationResponse()
    rig._do(rig.core.on_response(REGISTRY_CHANNEL, ask.correlation_id, accepted, rig.now()))
    rig.pass_ms(90)
    assert len(sent(rig)) == 1
    own = encode_batch(
        [(None, encode_metadata(record_of(ask.request)))],
        base_offset=Offset(2),
        leader_epoch=Epoch(1),
        timestamp_ms=0,
    )
    rig.feed(own, hwm=3)
    assert DisconnectPeer(channel=REGISTRY_CHANNEL) in rig.outputs
    rig.pass_ms(1500)
    assert len(sent(rig)) == 1


def test_it_is_not_sent_where_nobody_registers_or_the_level_does_not_know_of_it() -> None:
    assert sent(following(LEVEL)) == []
    old = FeatureLevelRecord(name="metadata.version", feature_level=14)
    assert sent(following(old, record_of(kafkas()))) == []


def wait_for_next(rig: Rig) -> int:
    """How many ms pass until it is sent again."""
    before, began_ns = len(sent(rig)), rig.now_ns
    while len(sent(rig)) == before:
        rig.pass_ms(1)
    return (rig.now_ns - began_ns) // MS


def test_one_that_is_lost_is_sent_again_less_and_less_often() -> None:
    rig = following(LEVEL, record_of(kafkas()))
    waits = []
    for _ in range(4):
        lose(rig)
        waits.append(wait_for_next(rig))
    assert waits == [100, 200, 400, 800]


def test_one_that_is_refused_is_told_and_sent_again() -> None:
    rig = following(LEVEL, record_of(kafkas()))
    refused = ControllerRegistrationResponse(error=ErrorCode.NOT_CONTROLLER)
    rig._do(
        rig.core.on_response(REGISTRY_CHANNEL, sent(rig)[-1].correlation_id, refused, rig.now())
    )
    assert [dict(t.fields) for t in rig.traces if t.event == "c.unregistered"] == [{"error": 41}]
    assert wait_for_next(rig) == 100


def test_one_that_is_not_answered_is_given_up() -> None:
    quick = QuorumTimeouts(append_linger_ms=0, request_ms=300)
    rig = following(LEVEL, record_of(kafkas()), timeouts=quick)
    late = sent(rig)[-1].correlation_id
    assert wait_for_next(rig) == 400
    before = rig.traces.copy()
    answer = ControllerRegistrationResponse(error=ErrorCode.NOT_CONTROLLER)
    rig._do(rig.core.on_response(REGISTRY_CHANNEL, late, answer, rig.now()))
    assert rig.traces == before, "an answer to what was given up says nothing"


def test_it_goes_to_the_next_leader_at_once() -> None:
    rig = following(LEVEL, record_of(kafkas()))
    rig.follow(leader=3, epoch=2)
    assert [asked_node(ask) for ask in sent(rig)] == [2, 3]


def test_all_of_a_quorum_are_known_once_one_has_registered_and_clients_are_told_where() -> None:
    quorum = Quorum(size=3, seed=5)
    quorum.start()
    assert quorum.run_until(lambda: bool(quorum.active()), 20 * SECOND)
    (leader,) = quorum.active()
    answers: list[object] = []
    quorum.ask(leader, kafkas(9), answers.append, listener=INNER)

    def all_known() -> bool:
        return all(
            set(quorum.core(node).role.controller.image.controllers) == {1, 2, 3, 9}
            for node in quorum.members
        )

    assert quorum.run_until(all_known, 20 * SECOND)
    told: list[object] = []
    asked = DescribeClusterRequest(endpoint_type=CONTROLLERS)
    quorum.ask(leader, asked, told.append, listener=OUTER)
    assert quorum.run_until(lambda: bool(told), SECOND)
    (answer,) = told
    assert isinstance(answer, DescribeClusterResponse)
    outer = {
        node: next(
            ClusterMember(id=node, host=at.host, port=at.port)
            for at in quorum.core(node).raft._advertised
            if at.name == OUTER
        )
        for node in quorum.members
    }
    assert answer.members == tuple(outer[node] for node in sorted(outer))
    # Each of them once: nobody goes on registering.
    before = quorum.core(leader).raft.log.end.offset
    quorum.run_for(2 * SECOND)
    end = quorum.core(leader).raft.log.end.offset
    assert end - before <= 5, "no-ops every half second, and nothing else"


def test_it_goes_where_voters_reach_each_other_whatever_else_is_listed_first() -> None:
    """Apache Kafka's voters list their outer listeners as well (UpdateRaftVoter), in any order."""
    rig = Rig()
    rig.follow()
    at = (
        Endpoint(name="EXTERNAL", host="outside", port=20002),
        Endpoint(name="CONTROLLER", host="node-2", port=9102),
    )
    voters = [Voter(key=key(1), endpoints=at[1:]), Voter(key=key(2), endpoints=at)]
    control = [encode_control(Voters(voters=tuple(voters)))]
    data = encode_batch(
        control, base_offset=Offset(0), leader_epoch=Epoch(1), timestamp_ms=0, control=True
    )
    values = [(None, encode_metadata(record)) for record in (LEVEL, record_of(kafkas()))]
    rig.feed(data)
    rig.feed(
        encode_batch(values, base_offset=Offset(1), leader_epoch=Epoch(1), timestamp_ms=0), hwm=3
    )
    assert [ask.endpoint.port for ask in sent(rig)] == [9102]
