"""Forwarding, of requests that only the active controller handles, and automatic topic creation.

This section forwards clients' requests (KIP-590, Envelope; Kafka's `ForwardingManager`). A request
is sent on as it came, and the response returned as it came. If no controller is known, the
connection breaks, or the node asked is not the active controller, the request is sent again, for as
long as Kafka does: as there, a request that is executed twice gets the second answer.

A few connections carry it, each a request at a time: one that waits long at the controller
(AddRaftVoter) does not hold up heartbeats, nor all others; and no number of clients takes more of
the controller's connections.
"""

from collections.abc import Callable, Iterable

from node.broker.controller_link import ControllerLink
from node.broker.coordinators.offsets_topic import OFFSETS_TOPIC
from node.config import BrokerSettings, ConnectionLimits
from node.effects import DisconnectPeer
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ChannelId, ConnectionId, Endpoint
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Parking, RequestTo, Waiting
from node.wire.apis import HandedOn, Response
from node.wire.envelope import EnvelopeRequest, EnvelopeResponse
from node.wire.refusals import refused
from node.wire.topic_changes import CreateTopicsRequest, NewTopic
from node.wire.topic_metadata import MetadataRequest, MetadataResponse

_CHANNELS = tuple(ChannelId(number) for number in range(-13, -9))
_PATIENCE_NS = 30_000 * MS  # request.timeout.ms
_PAUSE_NS = 100 * MS  # before it is sent again
_ENVELOPE_BYTES = 64  # at most, beside the request


@dataclass(slots=True, kw_only=True)
class _Forwarded:
    handed: HandedOn
    until_ns: int
    not_before_ns: int = 0
    is_out: bool = False


@dataclass(slots=True, kw_only=True)
class _Out:
    """A request on a connection, which may be gone by now."""

    connection: ConnectionId
    correlation_id: int
    until_ns: int


class Forwarding:
    def __init__(
        self, request_max_bytes: int, response_ms: int, parking: Parking, outbox: Outbox
    ) -> None:
        """`answer_ms`: how long the controller may be silent before the request is sent again."""
        # Controllers take smaller requests than brokers do, unless configured otherwise.
        taken = min(request_max_bytes, ConnectionLimits().request_max_bytes)
        self._max_bytes = taken - _ENVELOPE_BYTES
        self._response_ns = response_ms * MS
        self._outbox = outbox
        self._waiting = Waiting[_Forwarded](parking)
        self._out: dict[ChannelId, _Out] = {}
        self._used: dict[ChannelId, None] = {}  # channels that may have an open connection
        self._at: Endpoint | None = None  # the active controller, as far as is known
        self._next_correlation_id = 0

    @staticmethod
    def serves(channel: ChannelId) -> bool:
        return channel in _CHANNELS

    def take(self, connection: ConnectionId, handed: HandedOn, mono_ns: int) -> Response | None:
        """The response; None: answered when the controller has answered."""
        if len(handed.frame) > self._max_bytes:
            what = f"More than {self._max_bytes} bytes cannot be handed on to the controller."
            return refused(handed.request, ErrorCode.MESSAGE_TOO_LARGE, what)
        self._waiting.park(connection, _Forwarded(handed=handed, until_ns=mono_ns + _PATIENCE_NS))
        return None

    def poll(self, at: Endpoint | None, mono_ns: int) -> None:
        """Send what is due to the active controller, and give up what has waited for too long."""
        if at is not self._at and at != self._at:
            self._at = at
            # Also if no answer is pending: the next request would go to the former leader.
            for channel in list(self._used):
                self._hang_up(channel, mono_ns)
        if not self._waiting.requests and not self._out:
            return
        for channel, out in list(self._out.items()):
            if mono_ns >= out.until_ns:
                self._hang_up(channel, mono_ns)
        for connection, each in self._waiting.all():
            if mono_ns >= each.until_ns:
                late = refused(each.handed.request, ErrorCode.REQUEST_TIMED_OUT, None)
                self._waiting.respond(connection, late)
            elif at is not None and not each.is_out and each.not_before_ns <= mono_ns:
                self._send(connection, each, at, mono_ns)

    def deadline_ns(self) -> int:
        waiting = self._waiting.requests.values()
        if not waiting and not self._out:
            return NEVER_NS
        may_send = self._at is not None and len(self._out) < len(_CHANNELS)
        return min(
            min((each.until_ns for each in waiting), default=NEVER_NS),
            min((out.until_ns for out in self._out.values()), default=NEVER_NS),
            min(
                (each.not_before_ns for each in waiting if may_send and not each.is_out),
                default=NEVER_NS,
            ),
        )

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        out = self._out.get(channel)
        if out is None or out.correlation_id != correlation_id:
            return  # of a connection that was dropped since
        del self._out[channel]
        each = self._waiting.find(out.connection)
        if each is None:
            return  # the client has disconnected
        assert isinstance(response, EnvelopeResponse)
        if response.error is ErrorCode.NOT_CONTROLLER:
            self._retry(each, mono_ns)
        elif response.error is ErrorCode.UNSUPPORTED_VERSION:
            # A client that connects again asks for the API versions (as Kafka's brokers do).
            self._waiting.hang_up(out.connection, "the controller does not know this version")
        elif response.error is ErrorCode.NONE and response.frame is not None:
            self._waiting.send_frame(out.connection, response.frame)
        else:
            failed = refused(each.handed.request, ErrorCode.UNKNOWN_SERVER_ERROR, None)
            self._waiting.respond(out.connection, failed)

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        """The connection failed."""
        self._used.pop(channel, None)
        out = self._out.pop(channel, None)
        each = None if out is None else self._waiting.find(out.connection)
        if each is not None:
            self._retry(each, mono_ns)

    def _retry(self, each: _Forwarded, mono_ns: int) -> None:
        each.is_out, each.not_before_ns = False, mono_ns + _PAUSE_NS

    def _hang_up(self, channel: ChannelId, mono_ns: int) -> None:
        self._outbox.emit(DisconnectPeer(channel=channel))
        self.on_lost(channel, mono_ns)

    def _send(self, connection: ConnectionId, each: _Forwarded, at: Endpoint, mono_ns: int) -> None:
        """Send it if a connection is free; otherwise when one is."""
        channel = next((each for each in _CHANNELS if each not in self._out), None)
        if channel is None:
            return
        number = self._next_correlation_id
        self._next_correlation_id = (number + 1) % 2**31
        each.is_out = True
        self._used[channel] = None
        self._out[channel] = _Out(
            connection=connection,
            correlation_id=number,
            until_ns=min(each.until_ns, mono_ns + self._response_ns),
        )
        envelope = EnvelopeRequest(frame=each.handed.frame)
        self._outbox.emit(
            RequestTo(channel=channel, endpoint=at, correlation_id=number, request=envelope)
        )


# Creation of topics that a client asks about and that do not exist, where that is allowed
# (auto.create.topics.enable, KIP-361; `DefaultAutoTopicCreationManager`).
#
# The client gets UNKNOWN_TOPIC_OR_PARTITION meanwhile, and asks again. The result of the creation
# is not reported to it: a client that asks again causes another attempt.


# Creations that are pending: beyond these no more are requested. Kafka has no limit.
_MAX_ON_THEIR_WAY = 1_000


class TopicAutocreation:
    """`make_offsets_topic`: the offsets topic is made as coordinators need it, not as others
    are.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        link: ControllerLink,
        make_offsets_topic: Callable[[], None],
        *,
        is_allowed: bool,
    ) -> None:
        self._settings = settings
        self._link = link
        self._make_offsets_topic = make_offsets_topic
        self._is_allowed = is_allowed
        self._on_their_way: set[str] = set()

    def make_missing(self, request: MetadataRequest, told: MetadataResponse) -> None:
        """Create those that a client named and that do not exist."""
        if not self._is_allowed or not request.may_create:
            return
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._make(each.name for each in told.topics if each.name and each.error is unknown)

    def _make(self, names: Iterable[str]) -> None:
        wanted = []
        for name in names:
            if name == OFFSETS_TOPIC:
                self._make_offsets_topic()
            elif name not in self._on_their_way and len(self._on_their_way) < _MAX_ON_THEIR_WAY:
                self._on_their_way.add(name)
                wanted.append(name)
        if not wanted:
            return
        topics = tuple(
            NewTopic(
                name=name,
                partitions=self._settings.partitions,
                replication=self._settings.replication,
            )
            for name in wanted
        )

        def created(response: Response | None, mono_ns: int) -> None:  # noqa: ARG001 (OnResponse)
            self._on_their_way.difference_update(wanted)

        self._link.send(CreateTopicsRequest(topics=topics), created)
