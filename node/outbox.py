"""Where the parts of a node put what they want done; emptied once a step, in order."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from node.effects import CloseConnection, Effect, SendResponse, Trace, TraceValue
from node.ids import NEVER_NS, ChannelId, ConnectionId, Endpoint
from node.lazy_dataclass import dataclass
from node.wire.apis import OutgoingRequest, Response


@dataclass(frozen=True, slots=True)
class ResponseTo:
    """To the request that is being handled on an incoming connection."""

    connection: ConnectionId
    response: Response


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTo:
    """To whoever serves at `endpoint`, over the one connection of a channel; in the newest version,
    where none was agreed on."""

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


# The one place for requests that wait: Fetches for news, writes to be committed, reads to be
# confirmed.
#
# A connection has one request with the node at a time (`node.server.tcp` hands over the next when
# the last is answered), so each takes one place. There are as many as there may be connections;
# whoever finds none is hung up on.


W = TypeVar("W")


class Parking:
    def __init__(self, outbox: Outbox, places: int) -> None:
        self._outbox = outbox
        self._places = places
        self._taken: dict[ConnectionId, Waiting[Any]] = {}

    def take(self, connection: ConnectionId, kind: "Waiting[Any]") -> bool:
        """False: there is no place, and it was hung up on."""
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
        """As `answer`, with what somebody else made of it."""
        del self._taken[connection]
        self._outbox.emit(SendResponse(connection, frame))

    def hang_up(self, connection: ConnectionId, reason: str) -> None:
        del self._taken[connection]
        self._outbox.emit(CloseConnection(connection=connection, reason=reason))

    def leave(self, connection: ConnectionId) -> None:
        """It goes on without waiting."""
        del self._taken[connection]

    def forget(self, connection: ConnectionId) -> None:
        """The connection is gone, and nobody waits for an answer."""
        kind = self._taken.pop(connection, None)
        if kind is not None:
            kind.forget(connection)


class Waiting(Generic[W]):
    """Requests of one kind that wait, and what each waits for. `requests` is to be looked at: every
    step asks whether there are any."""

    def __init__(self, parking: Parking) -> None:
        self._parking = parking
        self.requests: dict[ConnectionId, W] = {}  # oldest first

    def park(self, connection: ConnectionId, request: W) -> bool:
        """False: it was hung up on instead."""
        if not self._parking.take(connection, self):
            return False
        self.requests[connection] = request
        return True

    def all(self) -> list[tuple[ConnectionId, W]]:
        """To be answered in a loop over them."""
        return list(self.requests.items())

    def earliest_ns(self, when: Callable[[W], int]) -> int:
        """When the first of them has waited for long enough: `when` tells that of each."""
        return min(map(when, self.requests.values())) if self.requests else NEVER_NS

    def find(self, connection: ConnectionId) -> W | None:
        """None: it hung up meanwhile."""
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
        """It waits for this no more, and is not answered yet."""
        self._parking.leave(connection)
        return self.requests.pop(connection)

    def forget(self, connection: ConnectionId) -> None:
        del self.requests[connection]
