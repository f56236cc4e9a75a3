"""The whole core through Kafka's frames: what goes in and comes out is bytes."""

import random
from collections import deque
from uuid import UUID

import pytest

from node.config import NodeConfig, QuorumTimeouts
from node.core import Life
from node.effects import (
    AppendBatches,
    CloseConnection,
    ConnectionClosed,
    Effect,
    ElectionState,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    PeerFrameReceived,
    SendResponse,
    SendToPeer,
    ShutdownRequested,
    Stop,
    TimeoutElapsed,
    Trace,
)
from node.errors import ErrorCode
from node.ids import METADATA_LOG, ChannelId, ConnectionId, Endpoint, NodeId, Now, ReplicaKey
from node.process_roles import controller_node
from node.raft.voter_forms import DYNAMIC
from node.raft.voter_history import VoterHistory
from node.records.metadata import ConfigRecord, FeatureLevelRecord
from node.wire import decode_response, encode_request
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import Request, Response
from node.wire.configs import DescribeConfigsRequest, DescribeConfigsResponse, ResourceQuery
from node.wire.frames import RequestHeader
from node.wire.raft_voters import DescribeQuorumRequest, DescribeQuorumResponse
from node.wire.topic_changes import CreateTopicsRequest, NewTopic
from tests.support.memory_log import BOOTSTRAP, MemoryLog
from tests.support.registers import read_request, write_request

CLIENT = ConnectionId(77)
PORTS = 9100  # and the id of a node


class Trio:
    """Nodes whose frames reach each other at once; time passes only when nothing else is left."""

    def __init__(self, size: int = 3) -> None:
        keys = [ReplicaKey(NodeId(i), UUID(int=500 + i)) for i in range(1, size + 1)]
        voters = tuple(
            (key, (Endpoint(name="CONTROLLER", host=f"node-{key.id}", port=PORTS + key.id),))
            for key in keys
        )
        self.now_ns = 0
        self.logs = {key.id: MemoryLog() for key in keys}
        self.nodes = {
            key.id: controller_node(
                NodeConfig(
                    node_id=key.id,
                    log_dirs=("",),
                    listeners=endpoints,
                    advertised=endpoints,
                    timeouts=QuorumTimeouts(append_linger_ms=0),
                ),
                Life(
                    cluster_id="a-cluster",
                    key=key,
                    directory=key.directory,
                    voters=VoterHistory.formatted(voters, DYNAMIC),
                    election=ElectionState(),
                    log=self.logs[key.id],
                    rng=random.Random(key.id),
                    incarnation=UUID(int=1 << 64),
                ),
                BOOTSTRAP,
            )
            for key, endpoints in voters
        }
        self.ready: deque[tuple[NodeId, Event]] = deque()
        self.to_client: list[bytes] = []
        self.channels: dict[tuple[NodeId, NodeId], ChannelId] = {}
        self.others: list[tuple[NodeId, Effect]] = []
        for node_id, node in self.nodes.items():
            self._perform(node_id, node.start(self._now()))

    def _now(self) -> Now:
        return Now(self.now_ns, self.now_ns)

    def _perform(self, node: NodeId, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AppendBatches(data=data):
                    self.logs[node].append(data)
                case FlushLog():
                    self.ready.append(
                        (node, LogFlushed(log=METADATA_LOG, end=self.logs[node].flush()))
                    )
                case SendToPeer(channel=channel, endpoint=at, frame=frame):
                    peer = NodeId(at.port - PORTS)
                    self.channels[node, peer] = channel
                    event = FrameReceived(
                        connection=ConnectionId(node), listener="CONTROLLER", frame=frame
                    )
                    self.ready.append((peer, event))
                case SendResponse(connection=connection, frame=frame) if connection == CLIENT:
                    self.to_client.append(frame)
                case SendResponse(connection=connection, frame=frame):
                    client = NodeId(connection)
                    answer = PeerFrameReceived(channel=self.channels[client, node], frame=frame)
                    self.ready.append((client, answer))
                case _:
                    self.others.append((node, effect))

    def step(self, node: NodeId, event: Event) -> list[Effect]:
        effects = self.nodes[node].step(event, self._now())
        self._perform(node, effects)
        return effects

    def turn(self) -> None:
        if self.ready:
            node, event = self.ready.popleft()
            self.step(node, event)
            return
        node = min(self.nodes, key=lambda each: self.nodes[each].next_deadline_ns())
        self.now_ns = max(self.now_ns, self.nodes[node].next_deadline_ns())
        self.step(node, TimeoutElapsed())

    def active(self) -> NodeId:
        for _ in range(1000):
            for node in self.nodes:
                if self.nodes[node].core.role.controller.is_active:
                    return node
            self.turn()
        raise AssertionError("nobody became active")

    def send(self, node: NodeId, request: Request, version: int | None = None) -> RequestHeader:
        header, frame = encode_request(
            request, correlation_id=len(self.to_client) + 1, client_id="test", version=version
        )
        self.step(node, FrameReceived(connection=CLIENT, listener="CONTROLLER", frame=frame))
        return header

    def ask(self, node: NodeId, request: Request, version: int | None = None) -> Response:
        header = self.send(node, request, version)
        expected = header.correlation_id
        for _ in range(1000):
            if len(self.to_client) >= expected:
                return decode_response(header, self.to_client[-1])
            self.turn()
        raise AssertionError("no answer")


@pytest.mark.parametrize("size", [1, 3])
def test_a_written_value_is_read_back_through_frames(size: int) -> None:
    trio = Trio(size)
    leader = trio.active()
    trio.ask(leader, write_request("a", 1234))
    answer = trio.ask(leader, read_request("a"))
    assert isinstance(answer, DescribeConfigsResponse)
    assert answer.results[0].entries[0].value == "1234"


def test_the_quorum_describes_itself_and_its_followers_name_the_leader() -> None:
    trio = Trio()
    leader = trio.active()
    follower = next(node for node in trio.nodes if node != leader)
    answer = trio.ask(leader, DescribeQuorumRequest())
    assert isinstance(answer, DescribeQuorumResponse)
    assert (answer.leader, len(answer.voters)) == (leader, 3)
    refusal = trio.ask(follower, DescribeQuorumRequest())
    assert isinstance(refusal, DescribeQuorumResponse)
    assert refusal.error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refusal.leader == leader


def hung_up(trio: Trio) -> list[NodeId]:
    """Who did that on the client."""
    return [
        node
        for node, effect in trio.others
        if isinstance(effect, CloseConnection) and effect.connection == CLIENT
    ]


def test_api_versions_lists_what_is_served() -> None:
    trio = Trio(1)
    answer = trio.ask(NodeId(1), ApiVersionsRequest())
    assert isinstance(answer, ApiVersionsResponse)
    assert {api.api_key for api in answer.apis} >= {1, 18, 32, 44, 52, 53, 54, 55, 60}
    assert (answer.finalized, answer.features_at) == ((("kraft.version", 1),), -1)


def test_api_versions_tells_what_was_finalized() -> None:
    trio = Trio(1)
    leader = trio.active()
    trio.ask(leader, write_request("a", 1234))  # the records before it are committed with it
    answer = trio.ask(leader, ApiVersionsRequest())
    assert isinstance(answer, ApiVersionsResponse)
    (level,) = (each.feature_level for each in BOOTSTRAP if isinstance(each, FeatureLevelRecord))
    assert answer.finalized == (("kraft.version", 1), ("metadata.version", level))
    assert answer.features_at == trio.nodes[leader].core.role.controller.applied - 1


def test_a_malformed_frame_closes_its_connection() -> None:
    trio = Trio(1)
    trio.active()
    trio.step(NodeId(1), FrameReceived(connection=CLIENT, listener="CONTROLLER", frame=b"\xff" * 9))
    assert hung_up(trio) == [NodeId(1)]


def test_an_answer_that_its_version_cannot_carry_ends_the_connection_not_the_node() -> None:
    """As where Apache Kafka led before and took a value that only flexible versions can tell."""
    trio = Trio(1)
    node = trio.active()
    long = ConfigRecord(resource_type=16, resource_name="a", name="metrics", value="x" * 40_000)
    trio.nodes[node].core.role.controller.image.replay(long)
    everything = DescribeConfigsRequest(resources=(ResourceQuery(type=16, name="a", keys=None),))
    trio.send(node, everything, version=3)
    for _ in range(10):
        trio.turn()
    assert hung_up(trio) == [node]
    (line,) = [e for _, e in trio.others if isinstance(e, Trace) and e.event == "n.unanswered"]
    assert (line.fields["api"], line.fields["version"]) == (32, 3)
    trio.step(node, ConnectionClosed(connection=CLIENT))
    answer = trio.ask(node, everything, version=4)
    assert isinstance(answer, DescribeConfigsResponse)
    assert answer.results[0].entries[2].value == long.value


def test_an_answer_that_is_larger_than_a_frame_ends_the_connection_not_the_node() -> None:
    trio = Trio(1)
    node = trio.active()
    names = [f"{number}{'n' * 1_000_000}" for number in range(105)]
    request = CreateTopicsRequest(topics=tuple(NewTopic(name=name) for name in names))
    trio.send(node, request)
    assert hung_up(trio) == [node]
    assert trio.to_client == []


def test_an_answer_to_a_closed_connection_goes_nowhere() -> None:
    trio = Trio(1)
    trio.active()
    trio.send(NodeId(1), write_request("a", 1000))
    trio.step(NodeId(1), ConnectionClosed(connection=CLIENT))
    for _ in range(10):
        trio.turn()
    assert trio.to_client == []


def test_a_peer_that_answers_nonsense_is_hung_up_on_and_asked_again() -> None:
    trio = Trio()
    leader = trio.active()
    follower = next(node for node in trio.nodes if node != leader)
    trio.step(
        follower,
        PeerFrameReceived(channel=trio.channels[follower, leader], frame=b"\0\0\0\xff nonsense"),
    )
    trio.ready = deque(item for item in trio.ready if item[0] != follower)
    trio.ask(leader, write_request("a", 1000))
    assert trio.active() == leader


def test_a_leader_that_shuts_down_tells_the_others_and_stops() -> None:
    trio = Trio()
    leader = trio.active()
    trio.step(leader, ShutdownRequested())
    while not any(isinstance(effect, Stop) for _, effect in trio.others):
        trio.turn()
    assert trio.now_ns < 10_000_000_000
    assert trio.active() != leader
