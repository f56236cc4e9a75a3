"""The whole node, sans-IO: events in, effects out; time and randomness are arguments.

Frames end here: `node.wire` decodes them to the flat messages of `node.core`, and encodes its
responses and requests. A frame that cannot be decoded closes its connection.
"""

from collections.abc import Mapping
from typing import Generic, Protocol, assert_never

from node.core import Core, R
from node.effects import (
    CloseConnection,
    ConnectionClosed,
    DisconnectPeer,
    Effect,
    Event,
    FrameReceived,
    LogFlushed,
    NoResponse,
    PeerDisconnected,
    PeerFrameReceived,
    Piece,
    SendPieces,
    SendResponse,
    SendToPeer,
    ShutdownRequested,
    TimeoutElapsed,
    Trace,
    TraceValue,
)
from node.ids import ChannelId, ConnectionId, Now
from node.lazy_dataclass import dataclass
from node.outbox import Output, RequestTo, ResponseTo
from node.wire import MalformedFrame, UnencodableMessage
from node.wire.apis import ForwardedRequest, OutgoingRequest, Request, Response
from node.wire.envelope import EnvelopeRequest, enveloped
from node.wire.frames import RequestHeader
from node.wire.partition_fetch import PartitionsFetchResponse


class Framing(Protocol):
    """Frames to messages and back: `node.wire`, or a replacement."""

    def decode_request(self, frame: bytes) -> tuple[RequestHeader, Request]: ...

    def encode_response(self, header: RequestHeader, response: Response) -> bytes: ...

    def encode_pieces(self, header: RequestHeader, response: Response) -> tuple[Piece, ...]: ...

    def encode_request(
        self,
        request: OutgoingRequest,
        *,
        correlation_id: int,
        client_id: str,
        version: int | None = None,
    ) -> tuple[RequestHeader, bytes]: ...

    def decode_response(self, header: RequestHeader, frame: bytes) -> Response: ...


@dataclass(frozen=True, slots=True)
class _Received:
    """A received request: the header that its response needs, and the API table that decoded it."""

    header: RequestHeader
    framing: Framing


class Node(Generic[R]):
    """Deterministic: the same events, times and random numbers give the same effects."""

    def __init__(
        self,
        core: Core[R],
        framing: Framing,
        client_id: str,
        others: Mapping[str, Framing] | None = None,
    ) -> None:
        """`others`: framings of listeners with another API table."""
        self.core = core
        self._framing = framing
        self._others = others or {}
        self._client_id = client_id
        # Headers of the requests received, and of the requests sent, until they are answered.
        self._incoming: dict[ConnectionId, _Received] = {}
        self._envelopes: dict[
            ConnectionId, RequestHeader
        ] = {}  # headers of the envelopes around received requests
        self._outgoing: dict[ChannelId, dict[int, RequestHeader]] = {}

    def start(self, now: Now) -> list[Effect]:
        """Once, before the first event."""
        return self.encode(self.core.start(now))

    def step(self, event: Event, now: Now) -> list[Effect]:
        """The effects of `event`, in order (see `node.effects`)."""
        return self.encode(self.decide(event, now))

    def decide(self, event: Event, now: Now) -> list[Output]:
        """The first half of a step, for observers: responses and requests are not encoded yet."""
        match event:
            case FrameReceived():
                return self._on_frame(event, now)
            case PeerFrameReceived():
                return self._on_peer_frame(event, now)
            case LogFlushed(log=log, end=end):
                return self.core.on_flushed(log, end, now)
            case TimeoutElapsed():
                return self.core.on_timeout(now)
            case ConnectionClosed(connection=connection):
                self._forget(connection)
                return self.core.on_connection_closed(connection, now)
            case PeerDisconnected(channel=channel):
                self._outgoing.pop(channel, None)
                return self.core.on_peer_disconnected(channel, now)
            case ShutdownRequested():
                return self.core.on_shutdown(now)
            case _:
                assert_never(event)

    def next_deadline_ns(self) -> int:
        """When to feed `TimeoutElapsed`, on the monotonic clock; may be past."""
        return self.core.next_deadline_ns()

    # --- frames to messages ---

    def _on_frame(self, event: FrameReceived, now: Now) -> list[Output]:
        framing = self._others.get(event.listener, self._framing)
        try:
            header, request = framing.decode_request(event.frame)
        except MalformedFrame as error:
            hung_up = self.core.on_garbled(event.connection, str(error), now)
            return [*_told_of(error), *hung_up]
        assert event.connection not in self._incoming, "its last request was not answered"
        if isinstance(request, EnvelopeRequest) and self.core.role.takes_envelopes(event.listener):
            header, request = self._open(event.connection, header, request)
        self._incoming[event.connection] = _Received(header, framing)
        return self.core.on_request(event.connection, event.listener, request, now)

    def _open(
        self, connection: ConnectionId, header: RequestHeader, envelope: EnvelopeRequest
    ) -> tuple[RequestHeader, Request]:
        """The enclosed request, as if sent directly; the envelope itself if it cannot be served."""
        try:
            inner, request = self._framing.decode_request(envelope.frame)
        except MalformedFrame:
            return header, envelope
        if not isinstance(request, ForwardedRequest):
            return header, envelope
        self._envelopes[connection] = header
        return inner, request

    def _on_peer_frame(self, event: PeerFrameReceived, now: Now) -> list[Output]:
        """An unreadable response, or one without a request, breaks its connection."""
        correlation_id = int.from_bytes(event.frame[:4], "big")
        header = self._outgoing.get(event.channel, {}).pop(correlation_id, None)
        if header is None:
            reason = f"an answer to request {correlation_id}, which was not sent"
            return self.core.on_peer_garbled(event.channel, reason, now)
        try:
            response = self._framing.decode_response(header, event.frame)
        except MalformedFrame as error:
            hung_up = self.core.on_peer_garbled(event.channel, str(error), now)
            return [*_told_of(error), *hung_up]
        return self.core.on_response(event.channel, correlation_id, response, now)

    # --- messages to frames ---

    def encode(self, outputs: list[Output]) -> list[Effect]:
        """The second half of a step: encodes responses and requests. Once, before the next step."""
        effects: list[Effect] = []
        for output in outputs:
            match output:
                case Trace():  # the most frequent
                    effects.append(output)
                case ResponseTo():
                    effects += self._respond(output)
                case RequestTo():
                    effects.append(self._request(output))
                case NoResponse(connection=connection) | SendResponse(connection=connection):
                    self._forget(connection)
                    effects.append(output)
                case CloseConnection():
                    effects += self._hang_up(output)
                case DisconnectPeer(channel=channel):
                    self._outgoing.pop(channel, None)
                    effects.append(output)
                case _:
                    effects.append(output)
        return effects

    def _respond(self, output: ResponseTo) -> list[Effect]:
        received = self._incoming[output.connection]
        envelope = self._envelopes.get(output.connection)
        try:
            if isinstance(output.response, PartitionsFetchResponse) and output.response.is_sliced:
                pieces = received.framing.encode_pieces(received.header, output.response)
                self._forget(output.connection)
                return [SendPieces(output.connection, pieces)]
            frame = received.framing.encode_response(received.header, output.response)
            if envelope is not None:
                whole = enveloped(output.response, frame)
                frame = received.framing.encode_response(envelope, whole)
        except UnencodableMessage as error:
            # No true response can be encoded: the client gets none.
            return self._hang_up(CloseConnection(connection=output.connection, reason=str(error)))
        self._forget(output.connection)
        return [SendResponse(output.connection, frame)]

    def _hang_up(self, close: CloseConnection) -> list[Effect]:
        header = self._forget(close.connection)
        if header is None:
            return [close]  # it did not send a request
        received: dict[str, TraceValue] = {"api": header.api_key, "version": header.api_version}
        return [Trace("n.unanswered", {**received, "reason": close.reason}), close]

    def _forget(self, connection: ConnectionId) -> RequestHeader | None:
        """Answered, or no longer waiting; returns the request's header, if any."""
        self._envelopes.pop(connection, None)
        received = self._incoming.pop(connection, None)
        return None if received is None else received.header

    def _request(self, output: RequestTo) -> Effect:
        header, frame = self._framing.encode_request(
            output.request,
            correlation_id=output.correlation_id,
            client_id=self._client_id,
            version=output.version,
        )
        self._outgoing.setdefault(output.channel, {})[output.correlation_id] = header
        return SendToPeer(output.channel, output.endpoint, frame)


def _told_of(error: MalformedFrame) -> list[Output]:
    """A client cut off for a frame's size may retry for ever: the operator should know."""
    return [Trace("n.oversized", {"reason": str(error)})] if error.is_too_large else []
