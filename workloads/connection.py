"""The raw driver: a connection carries one request at a time and is closed at the first error; a
client has one to each broker.

What matters to a history is whether a request may have been executed. `NotSentError`: certainly
not, no byte left. `LostError`: perhaps; it was sent, and no proper answer came. There is no third
way to fail. An answer that cannot be read counts as lost too, and is reported to the `malformed`
callback, for no node may send one.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from checkers.history.events import MALFORMED
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.header import Api, read_header, request_frame

Response = TypeVar("Response")

_LARGEST_ANSWER = 1 << 24
_HEAD_BYTES = 32


class NotSentError(Exception):
    """No connection: nothing was sent, so nothing happened."""


class LostError(Exception):
    """The request was sent and no proper answer came: closed, timed-out or malformed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MalformedResponse:
    """A malformed answer of a node; `head` are its first bytes, without its size."""

    node: int
    api: str  # of the last request on the connection
    problem: str
    head: bytes


def ignore(response: MalformedResponse) -> None:
    """For callers that do not count malformed answers."""
    del response


class Connection(Protocol):
    """A connection to one node; closed for good after any error."""

    @property
    def closed(self) -> bool: ...

    async def send(
        self, api: Api, body: bytes, timeout_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        """Returns what `read` makes of the answer's body; it may raise MalformedAnswerError.

        Raises NotSentError or LostError, and is closed then.
        """

    async def tell(self, api: Api, body: bytes, timeout_s: float) -> None:
        """Send a request that gets no answer. Raises NotSentError, or LostError if sending
        failed."""

    def close(self) -> None: ...


class Driver(Protocol):
    """How workloads reach nodes, by the addresses of their client listeners."""

    @property
    def nodes(self) -> tuple[int, ...]: ...

    async def connect(self, node: int, timeout_s: float) -> Connection:
        """Raises NotSentError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientEntry:
    """Where clients reach a node."""

    host: str
    port: int


class TcpDriver:
    """Connections over TCP, to the published entries of a cluster."""

    def __init__(
        self,
        entries: Mapping[int, ClientEntry],
        malformed: Callable[[MalformedResponse], None] = ignore,
    ) -> None:
        """`malformed` is called with each answer that cannot be read."""
        self._entries = dict(sorted(entries.items()))
        self._malformed = malformed

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(self._entries)

    async def connect(self, node: int, timeout_s: float) -> Connection:
        entry = self._entries[node]
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout_s):
                _, protocol = await loop.create_connection(Exchange, entry.host, entry.port)
        except TimeoutError:
            raise NotSentError(f"no connection to node {node} within {timeout_s} s") from None
        except OSError as error:
            raise NotSentError(f"no connection to node {node}: {error.strerror or error}") from None
        return TcpConnection(protocol, node, self._malformed)


class TcpConnection:
    """One request in flight, identified by its correlation id."""

    def __init__(
        self, exchange: "Exchange", node: int, malformed: Callable[[MalformedResponse], None]
    ) -> None:
        self._exchange = exchange
        self._node = node
        self._malformed = malformed
        self._correlation_id = 0
        self._last: Api | None = None
        exchange.malformed = self._tell

    @property
    def closed(self) -> bool:
        return self._exchange.lost is not None

    async def send(
        self, api: Api, body: bytes, timeout_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        response = await self._exchange.send(self._frame(api, body), timeout_s)
        try:
            correlation_id, start = read_header(response)
            if correlation_id != self._correlation_id:
                raise MalformedResponseError("answers another request")
            return read(response[start:])
        except MalformedResponseError as error:
            self._tell(str(error), response[:_HEAD_BYTES])
            self._exchange.lose(f"{MALFORMED}{error}")
            raise LostError(f"{MALFORMED}{error}") from None

    async def tell(self, api: Api, body: bytes, timeout_s: float) -> None:
        await self._exchange.tell(self._frame(api, body), timeout_s)

    def _frame(self, api: Api, body: bytes) -> bytes:
        if self._exchange.lost is not None:
            raise NotSentError(self._exchange.lost)
        self._last = api
        self._correlation_id += 1
        return request_frame(api, self._correlation_id, body)

    def _tell(self, problem: str, head: bytes) -> None:
        api = self._last.name if self._last is not None else ""
        self._malformed(MalformedResponse(node=self._node, api=api, problem=problem, head=head))

    def close(self) -> None:
        self._exchange.lose("closed by the client")


class Exchange(asyncio.Protocol):
    """Frames on a transport. A bare protocol: streams cost three times as much per operation."""

    def __init__(self) -> None:
        self.lost: str | None = None
        self.malformed: Callable[[str, bytes], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._response: asyncio.Future[bytes] | None = None
        self._room: asyncio.Future[None] | None = None  # while the transport's buffer is full
        self._buffer = bytearray()

    async def send(self, frame: bytes, timeout_s: float) -> bytes:
        assert self._response is None, "one request at a time"
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        response = self._response = loop.create_future()
        timer = loop.call_later(timeout_s, self.lose, "timed-out")
        self._transport.write(frame)
        try:
            body: bytes = await response
            return body
        except asyncio.CancelledError:
            self.lose("given up")  # a late answer must not meet the next request
            raise
        finally:
            timer.cancel()
            self._response = None

    async def tell(self, frame: bytes, timeout_s: float) -> None:
        assert self._transport is not None
        self._transport.write(frame)
        if self._room is None:
            return
        timer = asyncio.get_running_loop().call_later(timeout_s, self.lose, "timed-out")
        try:
            await self._room
        finally:
            timer.cancel()
        if self.lost is not None:
            raise LostError(self.lost)

    def lose(self, reason: str) -> None:
        """Give the connection up; a request in flight ends with LostError."""
        if self.lost is not None:
            return
        self.lost = reason
        if self._transport is not None:
            self._transport.abort()
        if self._response is not None and not self._response.done():
            self._response.set_exception(LostError(reason))
        self.resume_writing()

    def pause_writing(self) -> None:
        self._room = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        if self._room is not None and not self._room.done():
            self._room.set_result(None)
        self._room = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.lose(f"closed: {exc}" if exc is not None else "closed")

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if len(buffer) < 4:
            return
        size = int.from_bytes(buffer[:4], "big", signed=True)
        if not 4 <= size <= _LARGEST_ANSWER:
            self._lose_malformed(f"an answer of {size} bytes")
            return
        if len(buffer) < 4 + size:
            return
        if self._response is not None and self._response.cancelled():
            self.lose("given up")  # the request was cancelled, and its task has not run since
        elif self._response is None or self._response.done() or len(buffer) > 4 + size:
            self._lose_malformed("an answer that was not asked for")
        else:
            self._buffer = bytearray()
            self._response.set_result(bytes(memoryview(buffer)[4:]))

    def _lose_malformed(self, problem: str) -> None:
        if self.malformed is not None:
            self.malformed(problem, bytes(self._buffer[4 : 4 + _HEAD_BYTES]))
        self.lose(f"{MALFORMED}{problem}")


# One client's connections, one to a broker: opened when needed, opened anew when lost.


_CONNECT_TIMEOUT_S = 1.0


class Brokers:
    def __init__(self, driver: Driver, timeout_s: float) -> None:
        self._driver = driver
        self._timeout_s = timeout_s
        self._connections: dict[int, Connection] = {}

    async def send(
        self, node: int | None, api: Api, body: bytes, read: Callable[[bytes], Response]
    ) -> Response:
        """As `Connection.ask`; without a `node` nothing is sent."""
        connection = await self._connection(node)
        return await connection.send(api, body, self._timeout_s, read)

    async def tell(self, node: int | None, api: Api, body: bytes) -> None:
        """Send a request that gets no answer. Raises NotSentError or LostError."""
        connection = await self._connection(node)
        await connection.tell(api, body, self._timeout_s)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _connection(self, node: int | None) -> Connection:
        if node is None:
            raise NotSentError("no leader found")
        connection = self._connections.get(node)
        if connection is None or connection.closed:
            connection = await self._driver.connect(node, _CONNECT_TIMEOUT_S)
            self._connections[node] = connection
        return connection
