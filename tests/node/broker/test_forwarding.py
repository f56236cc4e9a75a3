"""What brokers hand on to the active controller: who answers, when, and what if nobody does."""

from dataclasses import dataclass, field

import pytest

from node.broker.requests.forwarding import Forwarding
from node.effects import CloseConnection, DisconnectPeer, SendResponse
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint, Now
from node.outbox import Outbox, Output, Parking, RequestTo, ResponseTo
from node.wire import broker_frames
from node.wire.apis import HandedOn
from node.wire.envelope import EnvelopeRequest, EnvelopeResponse
from node.wire.frames import encode_request
from node.wire.topic_changes import CreateTopicsRequest, CreateTopicsResponse, NewTopic
from tests.support.stepped_broker import LISTENER, SteppedBroker

FIRST = Endpoint(name="CONTROLLER", host="node-1", port=9101)
SECOND = Endpoint(name="CONTROLLER", host="node-2", port=9102)
MAX_BYTES = 10_000


def request(name: str = "orders") -> HandedOn:
    asked = CreateTopicsRequest(topics=(NewTopic(name=name),))
    _, frame = encode_request(asked, correlation_id=9, client_id="c", version=5)
    _, read = broker_frames.decode_request(frame)
    assert isinstance(read, HandedOn)
    assert read.frame == frame
    return read


@dataclass
class World:
    at: Endpoint | None = FIRST
    now_ns: int = 0
    answer_ms: int = 30_000
    outbox: Outbox = field(default_factory=Outbox)

    def __post_init__(self) -> None:
        self.parking = Parking(self.outbox, places=100)
        self.forwarding = Forwarding(MAX_BYTES, self.answer_ms, self.parking, self.outbox)

    def take(self, connection: int, handed: HandedOn | None = None) -> list[Output]:
        connected = ConnectionId(connection)
        assert self.forwarding.take(connected, handed or request(), self.now_ns) is None
        return self.poll()

    def poll(self, after_ms: int = 0) -> list[Output]:
        self.now_ns += after_ms * MS
        self.forwarding.poll(self.at, self.now_ns)
        return self.outbox.drain()

    def asked(self, outputs: list[Output]) -> RequestTo:
        (ask,) = (each for each in outputs if isinstance(each, RequestTo))
        return ask

    def answer(self, ask: RequestTo, response: EnvelopeResponse) -> list[Output]:
        self.forwarding.on_response(ask.channel, ask.correlation_id, response, self.now_ns)
        return self.poll()

    def wait(self) -> list[Output]:
        """For what is due next."""
        due_ns = self.forwarding.deadline_ns()
        assert self.now_ns < due_ns < NEVER_NS
        self.now_ns = due_ns
        return self.poll()


def error_of(outputs: list[Output]) -> ErrorCode:
    (answer,) = outputs
    assert isinstance(answer, ResponseTo)
    assert isinstance(answer.response, CreateTopicsResponse)
    return answer.response.results[0].error


def test_what_came_is_sent_as_it_came_and_what_comes_back_is_the_answer() -> None:
    world, handed = World(), request()
    ask = world.asked(world.take(1, handed))
    assert ask.endpoint == FIRST
    assert ask.request == EnvelopeRequest(frame=handed.frame)
    answered = world.answer(ask, EnvelopeResponse(frame=b"whatever"))
    assert answered == [SendResponse(connection=ConnectionId(1), frame=b"whatever")]
    assert world.forwarding.deadline_ns() == NEVER_NS
    world.take(1)  # its place is free again


def test_it_waits_for_a_controller_and_not_forever() -> None:
    world = World(at=None)
    assert world.take(1) == []
    world.now_ns += 1000 * MS
    world.at = SECOND
    assert world.asked(world.poll()).endpoint == SECOND
    world.at = None
    assert world.poll() == [DisconnectPeer(channel=ChannelId(-13))]
    assert error_of(world.wait()) is ErrorCode.REQUEST_TIMED_OUT
    assert world.now_ns == 30_000 * MS


def test_a_controller_that_is_not_the_active_one_is_asked_again_after_a_pause() -> None:
    world = World()
    ask = world.asked(world.take(1))
    assert world.answer(ask, EnvelopeResponse(error=ErrorCode.NOT_CONTROLLER)) == []
    assert world.poll(after_ms=99) == []
    again = world.asked(world.wait())
    assert again.request == ask.request
    assert again.correlation_id != ask.correlation_id


def test_a_connection_that_breaks_is_made_again_after_a_pause() -> None:
    world = World()
    ask = world.asked(world.take(1))
    world.forwarding.on_lost(ask.channel, world.now_ns)
    assert world.poll() == []
    assert world.asked(world.wait()).request == ask.request


def test_another_active_controller_is_asked_instead() -> None:
    world = World()
    old = world.asked(world.take(1))
    world.at = SECOND
    assert world.poll() == [DisconnectPeer(channel=old.channel)]
    new = world.asked(world.wait())
    assert new.endpoint == SECOND
    assert world.answer(old, EnvelopeResponse(frame=b"late")) == []
    assert world.answer(new, EnvelopeResponse(frame=b"new"))


def test_what_is_handed_on_next_does_not_go_to_who_led_before() -> None:
    """Over a connection that was left open, which still leads there."""
    world = World()
    old = world.asked(world.take(1))
    assert world.answer(old, EnvelopeResponse(error=ErrorCode.NONE, frame=b"done"))
    world.at = None
    assert world.poll() == [DisconnectPeer(channel=old.channel)]
    world.at = SECOND
    assert world.poll() == []
    assert world.asked(world.take(2)).endpoint == SECOND


def test_a_silent_controller_is_given_up_with_the_request() -> None:
    world = World()
    ask = world.asked(world.take(1))
    hung_up, answer = world.wait()
    assert hung_up == DisconnectPeer(channel=ask.channel)
    assert error_of([answer]) is ErrorCode.REQUEST_TIMED_OUT
    assert world.forwarding.deadline_ns() == NEVER_NS


def test_a_silent_controller_is_asked_again_before_the_request_is_given_up() -> None:
    world = World(answer_ms=3000)
    first = world.asked(world.take(1))
    assert world.wait() == [DisconnectPeer(channel=first.channel)]
    assert world.now_ns == 3000 * MS
    assert world.asked(world.wait()).request == first.request


def test_few_connections_carry_many_requests() -> None:
    world = World()
    asks = [world.asked(world.take(number)) for number in range(4)]
    assert len({ask.channel for ask in asks}) == 4
    assert world.take(4) == [], "it waits for a connection"
    assert world.forwarding.deadline_ns() == 30_000 * MS, "and for nothing else"
    fifth = world.asked(world.answer(asks[2], EnvelopeResponse(frame=b"x")))
    assert fifth.channel == asks[2].channel


def test_who_hung_up_is_told_nothing_and_takes_a_connection_no_longer_than_its_request() -> None:
    world = World()
    ask = world.asked(world.take(1))
    world.parking.forget(ConnectionId(1))
    assert world.answer(ask, EnvelopeResponse(frame=b"x")) == []
    ask = world.asked(world.take(2))
    world.parking.forget(ConnectionId(2))
    assert world.wait() == [DisconnectPeer(channel=ask.channel)]
    assert world.forwarding.deadline_ns() == NEVER_NS


def test_what_a_controller_would_hang_up_on_is_not_handed_on() -> None:
    world, long = World(), request("a" * MAX_BYTES)
    refused = world.forwarding.take(ConnectionId(1), long, 0)
    assert isinstance(refused, CreateTopicsResponse)
    assert refused.results[0].error is ErrorCode.MESSAGE_TOO_LARGE
    assert world.poll() == []


def test_an_envelope_is_never_larger_than_what_it_is_counted_as() -> None:
    handed = HandedOn(request=request().request, frame=bytes(MAX_BYTES - 64))
    world = World()
    ask = world.asked(world.take(1, handed))
    _, frame = encode_request(ask.request, correlation_id=2**31 - 1, client_id="broker-2147483647")
    assert len(frame) <= MAX_BYTES


def test_errors_of_the_envelope_are_as_kafka_tells_them() -> None:
    world = World()
    ask = world.asked(world.take(1))
    failed = world.answer(ask, EnvelopeResponse(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
    assert error_of(failed) is ErrorCode.UNKNOWN_SERVER_ERROR
    ask = world.asked(world.take(2))
    (closed,) = world.answer(ask, EnvelopeResponse(error=ErrorCode.UNSUPPORTED_VERSION))
    assert isinstance(closed, CloseConnection)
    assert closed.connection == 2


@pytest.mark.parametrize("is_lost", [False, True])
def test_a_broker_that_only_serves_records_else_knows_when_to_ask_again(
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_lost: bool,
) -> None:
    """It asks all its parts when they have something to do only as something came in for them."""
    core = SteppedBroker().node.core
    broker, outbox = core.role, core._outbox
    monkeypatch.setattr(broker.follower, "leader_at", lambda: FIRST)

    def go_on(now_ns: int) -> RequestTo | None:
        broker.poll(Now(now_ns, now_ns))
        sent = [each for each in outbox.drain() if isinstance(each, RequestTo)]
        return next((each for each in sent if Forwarding.serves(each.channel)), None)

    assert broker.handle(ConnectionId(1), LISTENER, request(), Now(0, 0)) is None
    ask = go_on(0)
    assert ask is not None
    assert broker.deadline_ns() > 0
    if is_lost:
        broker.on_lost(ask.channel, 0)
    else:
        refusal = EnvelopeResponse(error=ErrorCode.NOT_CONTROLLER)
        broker.on_response(ask.channel, ask.correlation_id, refusal, 0)
    now_ns, again = 0, go_on(0)
    while again is None:
        now_ns = broker.deadline_ns()
        assert 0 < now_ns <= 100 * MS
        again = go_on(now_ns)
    assert (again.request, now_ns) == (ask.request, 100 * MS)
