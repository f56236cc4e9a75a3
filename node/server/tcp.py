"""The connections that others open to us.

Kafka answers one connection's requests in order and works on one at a time; so the next frame is
handed to the node only when the last one was answered. Frames that wait, and answers that nobody
takes, are bounded: the socket is no longer read, and TCP tells the sender.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from node.events import ConnectionClosed, Event, FrameReceived
from node.ids import ConnectionId
from node.server.frames import FrameCutter, FrameSizeRefused, with_size

MAX_WAITING_FRAMES = 16
Feed = Callable[[Event], None]


class Connections:
    """Those that are open, by the id under which the node knows them."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._open: dict[ConnectionId, Connection] = {}
        self._next = 1

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def accept(self, listener: str) -> "Connection":
        connection = Connection(ConnectionId(self._next), listener, self)
        self._open[connection.id] = connection
        self._next += 1
        return connection

    def reply(self, connection: ConnectionId, frame: bytes) -> None:
        """Nothing happens if the connection is gone: so is whoever wanted the answer."""
        if connection in self._open:
            self._open[connection].reply(frame)

    def close(self, connection: ConnectionId) -> None:
        if connection in self._open:
            self._open[connection].close()

    def received(self, connection: "Connection", frame: bytes) -> None:
        self._feed(
            FrameReceived(connection=connection.id, listener=connection.listener, frame=frame)
        )

    def lost(self, connection: "Connection") -> None:
        del self._open[connection.id]
        self._feed(ConnectionClosed(connection=connection.id))


class Connection(asyncio.Protocol):
    def __init__(self, connection: ConnectionId, listener: str, owner: Connections) -> None:
        self.id = connection
        self.listener = listener
        self._owner = owner
        self._cutter = FrameCutter()
        self._waiting: deque[bytes] = deque()
        self._answering = False  # a frame is with the node
        self._writable = True  # the peer takes our answers
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport  # TCP_NODELAY is set by asyncio

    def data_received(self, data: bytes) -> None:
        try:
            self._waiting.extend(self._cutter.cut(data))
        except FrameSizeRefused:
            self.close()
            return
        self._hand_over()

    def reply(self, frame: bytes) -> None:
        assert self._transport is not None
        self._answering = False
        self._transport.write(with_size(frame))
        self._hand_over()

    def close(self) -> None:
        """What was answered still goes out; what waits is forgotten."""
        self._waiting.clear()
        if self._transport is not None:
            self._transport.close()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._waiting.clear()
        self._owner.lost(self)

    def _hand_over(self) -> None:
        if self._waiting and not self._answering and self._writable:
            self._answering = True
            self._owner.received(self, self._waiting.popleft())
        self._throttle()

    def _throttle(self) -> None:
        assert self._transport is not None
        if self._transport.is_closing():
            return
        full = len(self._waiting) >= MAX_WAITING_FRAMES
        if full and self._transport.is_reading():
            self._transport.pause_reading()
        elif not full and not self._transport.is_reading():
            self._transport.resume_reading()
