"""What the parts of a node share in a step: their output, in order; requests that wait; and which
parts its poll has to look at."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

from node.effects import CloseConnection, Effect, SendResponse, Trace, TraceValue
from node.ids import NEVER_NS, ChannelId, ConnectionId, Endpoint
from node.lazy_dataclass import dataclass
from node.wire.apis import OutgoingRequest, Response


@dataclass(frozen=True, slots=True)
class ResponseTo:
    """A response to the current request of an incoming connection."""

    connection: ConnectionId
    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTo:
    """A request to the server at `endpoint`, over the one connection of a channel; in the newest
    version, if none was negotiated."""

    channel: ChannelId
    endpoint: Endpoint
    correlation_id: int
    request: OutgoingRequest
    version: int | None = None


Output = Effect | ResponseTo | RequestTo


class Outbox:
    def __init__(self) -> None:
        self._outputs: list[Output] = []

    def emit(self, output: Output) -> None:
        self._outputs.append(output)

    def trace(self, event: str, **fields: TraceValue) -> None:
        self._outputs.append(Trace(event, fields))

    def drain(self) -> list[Output]:
        outputs, self._outputs = self._outputs, []
        return outputs


# Parked requests: Fetches that wait for news, writes for their commit, reads for confirmation.
#
# A connection has one request with the node at a time (`node.server.tcp` hands over the next when
# the last is answered), so each takes one place. There are as many places as connections are
# allowed; a connection that finds none is closed.


W = TypeVar("W")


class Parking:
    def __init__(self, outbox: Outbox, places: int) -> None:
        self._outbox = outbox
        self._places = places
        self._taken: dict[ConnectionId, Waiting[Any]] = {}

    def take(self, connection: ConnectionId, kind: "Waiting[Any]") -> bool:
        """False: there is no place, and the connection was closed."""
        assert connection not in self._taken, f"{connection} has a request that waits"
        if len(self._taken) >= self._places:
            reason = f"{self._places} requests wait already"
            self._outbox.emit(CloseConnection(connection=connection, reason=reason))
            return False
        self._taken[connection] = kind
        return True

    def respond(self, connection: ConnectionId, response: Response) -> None:
        del self._taken[connection]
        self._outbox.emit(ResponseTo(connection, response))

    def send_frame(self, connection: ConnectionId, frame: bytes) -> None:
        """As `answer`, with a frame that was encoded elsewhere."""
        del self._taken[connection]
        self._outbox.emit(SendResponse(connection, frame))

    def hang_up(self, connection: ConnectionId, reason: str) -> None:
        del self._taken[connection]
        self._outbox.emit(CloseConnection(connection=connection, reason=reason))

    def leave(self, connection: ConnectionId) -> None:
        """The request continues without waiting."""
        del self._taken[connection]

    def forget(self, connection: ConnectionId) -> None:
        """The connection is gone, and needs no response."""
        kind = self._taken.pop(connection, None)
        if kind is not None:
            kind.forget(connection)


class Waiting(Generic[W]):
    """Parked requests of one kind, and what each waits for. Callers read `requests` directly: every
    step checks whether there are any."""

    def __init__(self, parking: Parking) -> None:
        self._parking = parking
        self.requests: dict[ConnectionId, W] = {}  # oldest first

    def park(self, connection: ConnectionId, request: W) -> bool:
        """False: the connection was closed instead."""
        if not self._parking.take(connection, self):
            return False
        self.requests[connection] = request
        return True

    def all(self) -> list[tuple[ConnectionId, W]]:
        """A copy, so that a loop over it may answer them."""
        return list(self.requests.items())

    def earliest_ns(self, when: Callable[[W], int]) -> int:
        """The earliest time-out; `when` returns that of each."""
        return min(map(when, self.requests.values())) if self.requests else NEVER_NS

    def find(self, connection: ConnectionId) -> W | None:
        """None: the client hung up meanwhile."""
        return self.requests.get(connection)

    def respond(self, connection: ConnectionId, response: Response) -> None:
        del self.requests[connection]
        self._parking.respond(connection, response)

    def send_frame(self, connection: ConnectionId, frame: bytes) -> None:
        del self.requests[connection]
        self._parking.send_frame(connection, frame)

    def hang_up(self, connection: ConnectionId, reason: str) -> None:
        del self.requests[connection]
        self._parking.hang_up(connection, reason)

    def leave(self, connection: ConnectionId) -> W:
        """It stops waiting for this, and is not answered yet."""
        self._parking.leave(connection)
        return self.requests.pop(connection)

    def forget(self, connection: ConnectionId) -> None:
        del self.requests[connection]


# The parts of a node's role that its next poll has to look at.
#
# Every step ends in a poll, and most steps serve records: they leave the quorum, the registration
# and the requests to the controller as they are. So a poll looks at a part only if it is dirty: an
# event that may concern it was handled since the last look (`mark`), or its deadline has come.


P = TypeVar("P", bound=StrEnum)  # its members' hashes are those of strings: quick

_MARKED = -1


class Dirty(Generic[P]):
    """At first all parts are dirty. `deadlines`: when a part that has one is due, as of now."""

    def __init__(self, parts: type[P], deadlines: Mapping[P, Callable[[], int]]) -> None:
        self._deadlines = deadlines
        # Until when each is clean; None: until its deadline, which is to be computed.
        self._clean_until_ns: dict[P, int | None] = dict.fromkeys(parts, _MARKED)

    def mark(self, part: P) -> None:
        """Something happened that may concern this part."""
        self._clean_until_ns[part] = _MARKED

    def take(self, part: P, mono_ns: int) -> bool:
        """Is the part to be looked at? From then on it is clean."""
        due_ns = self._clean_until_ns[part]
        if due_ns is None:
            due_ns = self._clean_until_ns[part] = self._computed_ns(part)
        if mono_ns < due_ns:
            return False
        self._clean_until_ns[part] = None
        return True

    def due_ns(self, part: P) -> int:
        """The deadline of a part. Only a look at the part moves it, or an event that marks it."""
        due_ns = self._clean_until_ns[part]
        if due_ns is None:
            due_ns = self._clean_until_ns[part] = self._computed_ns(part)
        return self._computed_ns(part) if due_ns == _MARKED else due_ns

    def _computed_ns(self, part: P) -> int:
        deadline = self._deadlines.get(part)
        return NEVER_NS if deadline is None else deadline()
