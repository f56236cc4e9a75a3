"""Nodes that are broker and controller in one process: which API where, one life in the cluster
each, and their end."""

from uuid import UUID

import pytest

from chaos.cluster.interface import PowerCutMode
from node.broker.lifecycle import LifeState
from node.controller.controller import Controller
from node.core import Core
from node.effects import Trace
from node.errors import ErrorCode
from node.ids import MS, Epoch, NodeId, Now, Offset
from node.outbox import Output
from node.process_roles import CombinedRole
from node.raft.roles import Leader
from node.records.batch import encode_batch, split_batches
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import API_RANGES, BROKER_API_RANGES, Request, Response
from node.wire.configs import DescribeConfigsRequest
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import (
    FetchedPartition,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse
from node.wire.refusals import refused
from node.wire.registration import BrokerHeartbeatRequest
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from node.wire.topic_metadata import MetadataRequest, MetadataResponse
from tests.support.broker_world import BrokerWorld

IDS = (1, 2, 3)
CONTROLLERS, BROKERS = "CONTROLLER", "INT"


class Combined:
    """Three such nodes, all active."""

    def __init__(self) -> None:
        self.world = BrokerWorld((), combined=IDS)
        self.until_active(*IDS)

    def until_active(self, *ids: int) -> None:
        """Whoever leads has unfenced these, and all others are off or fenced."""
        world = self.world
        world.until(lambda: self.active() == set(ids), f"{ids} are active")

    def active(self) -> set[int]:
        leader = self.leader()
        if leader is None:
            return set()
        image = self.controller(leader).image
        return {each.broker_id for each in image.brokers.all() if not each.fenced}

    def leader(self) -> int | None:
        return next((id_ for id_ in IDS if self.is_active_controller(id_)), None)

    def is_active_controller(self, id_: int) -> bool:
        return self.world.machines[NodeId(id_)].life is not None and (
            self.controller(id_).is_active
        )

    def controller(self, id_: int) -> Controller:
        life = self.world.machines[NodeId(id_)].life
        assert life is not None
        controller: Controller = life.node.core.role.controller  # type: ignore[union-attr]
        return controller

    def topic(self, name: str) -> TopicPartition:
        """A new one of one partition on all three, made through whoever is up."""
        new = NewTopic(name=name, partitions=1, replication=3)
        made = self.world.ask(self.up()[0], CreateTopicsRequest(topics=(new,)))
        assert isinstance(made, CreateTopicsResponse)
        assert made.results[0].error is ErrorCode.NONE
        return TopicPartition(name=name, id=made.results[0].id, index=0)

    def up(self) -> list[int]:
        return [id_ for id_ in IDS if self.world.machines[NodeId(id_)].life is not None]

    def partition_leader(self, at: TopicPartition) -> int:
        leader = self.leader()
        assert leader is not None
        state = self.controller(leader).image.topics.partition(at.id, 0)
        assert state is not None
        return state.leader

    def produce(self, at: TopicPartition, value: bytes) -> None:
        """Until it is acknowledged by all in sync."""
        batch = encode_batch(
            [(None, value)], base_offset=Offset(0), leader_epoch=Epoch(-1), timestamp_ms=1
        )
        request = ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            partitions=(ProducedPartition(partition=at, records=batch),),
        )

        def is_taken() -> bool:
            answer = self.world.ask(self.partition_leader(at), request)
            return isinstance(answer, ProduceResponse) and (
                answer.results[0].error is ErrorCode.NONE
            )

        self.world.until(lambda: self.leader() is not None, "a controller is active")
        self.world.until(is_taken, "it is acknowledged")

    def read(self, at: TopicPartition) -> list[bytes | None]:
        asked = FetchedPartition(partition=at, offset=0, max_bytes=1 << 20)
        request = PartitionsFetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, partitions=(asked,)
        )
        answer = self.world.ask(self.partition_leader(at), request)
        assert isinstance(answer, PartitionsFetchResponse)
        batches = split_batches(answer.partitions[0].records)
        return [value for batch in batches for value in batch.values()]

    def told(self, id_: int, event: str) -> list[Trace]:
        return [each for node, each in self.world.told if (node, each.event) == (id_, event)]

    def described(self, id_: int) -> set[str | None]:
        """The topics that the broker tells of."""
        answer = self.world.ask(id_, MetadataRequest(topics=None))
        assert isinstance(answer, MetadataResponse)
        return {topic.name for topic in answer.topics}

    def isolate(self, id_: int) -> None:
        others = [each for each in IDS if each != id_]
        self.world.cut |= {pair for each in others for pair in ((id_, each), (each, id_))}


def test_each_listener_tells_of_its_own_apis() -> None:
    world = Combined().world
    for listener, ranges in ((CONTROLLERS, API_RANGES), (BROKERS, BROKER_API_RANGES)):
        told = world.ask(1, ApiVersionsRequest(), listener=listener)
        assert isinstance(told, ApiVersionsResponse)
        assert told.apis == ranges
        assert told.features_at > 0


@pytest.mark.parametrize(
    ("request_", "listener"),
    [
        (MetadataRequest(topics=None), CONTROLLERS),
        (ProduceRequest(acks=1, timeout_ms=1, partitions=()), CONTROLLERS),
        (
            BrokerHeartbeatRequest(
                broker=NodeId(1), epoch=1, metadata_offset=0, want_fence=False, want_shutdown=False
            ),
            BROKERS,
        ),
    ],
)
def test_what_is_the_other_listeners_ends_the_connection(request_: Request, listener: str) -> None:
    """As Kafka hangs up on an API that it does not serve there."""
    combined = Combined()
    assert combined.world.ask(1, request_, listener=listener) is None
    combined.world.run_ms(100)
    assert combined.up() == list(IDS)


def test_what_both_serve_is_answered_by_whoever_listens_there() -> None:
    """A standby controller sends who asks it away; the broker beside it answers from its image."""
    combined = Combined()
    leader = combined.leader()
    standby = next(id_ for id_ in IDS if id_ != leader)
    request = DescribeConfigsRequest(resources=())

    def asked(listener: str) -> Response | None:
        return combined.world.ask(standby, request, listener=listener)

    away = refused(request, ErrorCode.NOT_CONTROLLER, None)
    assert type(asked(CONTROLLERS)) is type(away)
    assert combined.described(standby) == set()
    made = combined.topic("orders")
    combined.world.run_ms(1000)
    assert combined.described(standby) == {made.name}
    assert asked(BROKERS) is not None


def test_each_life_registers_once_by_the_listeners_of_its_broker() -> None:
    combined = Combined()
    combined.world.run_ms(5000)
    leader = combined.leader()
    assert leader is not None
    image = combined.controller(leader).image
    for id_ in IDS:
        broker = image.brokers.find(id_)
        assert broker is not None
        assert broker.incarnation_id == UUID(int=id_ * 1000 + 1)
        assert [at.name for at in broker.end_points] == [BROKERS]
        epochs = [each.fields["epoch"] for each in combined.told(id_, "b.life")]
        assert set(epochs) == {-1, broker.broker_epoch}


def test_brokers_live_on_when_another_of_them_becomes_the_active_controller() -> None:
    combined = Combined()
    at = combined.topic("orders")
    combined.produce(at, b"before")
    first = combined.leader()
    assert first is not None
    epochs = {id_: combined.world.machines[NodeId(id_)].broker.lifecycle.epoch for id_ in IDS}
    combined.world.kill(first)
    combined.until_active(*(id_ for id_ in IDS if id_ != first))
    combined.produce(at, b"after")
    assert combined.read(at) == [b"before", b"after"]
    for id_ in combined.up():
        lifecycle = combined.world.machines[NodeId(id_)].broker.lifecycle
        assert (lifecycle.epoch, lifecycle.state) == (epochs[id_], LifeState.RUNNING)
    combined.world.start(first)
    combined.until_active(*IDS)


def test_a_broker_shows_nothing_that_its_own_controller_has_not_committed() -> None:
    combined = Combined()
    leader = combined.leader()
    assert leader is not None
    combined.isolate(leader)
    new = CreateTopicsRequest(topics=(NewTopic(name="lost", partitions=1, replication=1),))
    assert combined.world.ask(leader, new, patience_ms=500, listener=CONTROLLERS) is None
    claim = combined.controller(leader)._claim
    assert claim is not None
    assert claim.image.topics.named("lost") is not None, "it was decided"
    assert combined.described(leader) == set()


def test_the_broker_is_let_go_before_the_controller_resigns() -> None:
    """It may be this node that lets it go (`KafkaRaftServer.shutdown`)."""
    combined = Combined()
    at = combined.topic("orders")
    combined.produce(at, b"one")
    leader = combined.leader()
    assert leader is not None
    began = len(combined.world.told)
    combined.world.stop(leader)
    told = [each for node, each in combined.world.told[began:] if node == leader]
    lives = [each.fields["state"] for each in told if each.event == "b.life"]
    assert lives == ["pending-controlled-shutdown", "shutting-down", "vouching"]
    order = [each.fields["state"] for each in told if each.event in ("b.life", "q.state")]
    assert order.index("vouching") < order.index("resigned")
    assert combined.world.machines[NodeId(leader)].exit_code == 0
    combined.world.start(leader)
    combined.until_active(*IDS)
    previous = {each.fields["previous"] for each in combined.told(leader, "b.life")[-1:]}
    assert previous != {-1}, "it vouches for its last life"
    assert combined.read(at) == [b"one"]


def test_whoever_resigns_is_no_active_controller_after_that_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker's end has the controller resign, in a step in which nothing happened to the quorum
    before (seed 825 of `swarm-brokers`): what it wrote after that would be in nobody's epoch."""
    finish, seen = Core._finish, set[bool]()

    def finish_and_look(self: Core[CombinedRole], now: Now) -> list[Output]:
        outputs = finish(self, now)
        leads = isinstance(self.raft.quorum.role, Leader)
        seen.add(leads)
        assert leads or not self.role.controller.is_active
        return outputs

    combined = Combined()
    at = combined.topic("orders")
    monkeypatch.setattr(Core, "_finish", finish_and_look)
    for _ in range(3):
        combined.produce(at, b"one")
        leader = combined.leader()
        assert leader is not None
        combined.world.stop(leader)
        assert combined.world.machines[NodeId(leader)].exit_code == 0
        combined.world.start(leader)
        combined.until_active(*IDS)
    assert seen == {True, False}


def test_one_that_nobody_lets_go_stops_all_the_same() -> None:
    combined = Combined()
    leader = combined.leader()
    assert leader is not None
    combined.isolate(leader)
    combined.world.run_ms(5000)
    began_ns = combined.world.now_ns
    combined.world.stop(leader)
    assert combined.world.now_ns - began_ns < 5000 * MS
    assert combined.world.machines[NodeId(leader)].exit_code == 0


def test_what_was_acknowledged_outlives_the_power_of_all_but_one_after_the_other() -> None:
    combined = Combined()
    at = combined.topic("orders")
    expected = []
    for number, id_ in enumerate(IDS):
        value = str(number).encode()
        combined.produce(at, value)
        expected.append(value)
        combined.world.power_off(id_, PowerCutMode.LOSE_ALL)
        combined.until_active(*(each for each in IDS if each != id_))
        combined.world.start(id_)
        combined.until_active(*IDS)
        leader = combined.leader()
        assert leader is not None

        def is_whole(active: int = leader) -> bool:
            state = combined.controller(active).image.topics.partition(at.id, 0)
            return state is not None and len(state.isr) == len(IDS)

        combined.world.until(is_whole, "all are in the ISR")
    assert combined.read(at) == expected
