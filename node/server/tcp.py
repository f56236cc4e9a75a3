"""The connections that others open to us.

Kafka answers one connection's requests in order and works on one at a time; so the next frame is
handed to the node only when the last one was answered and the answers are taken, and until then the
socket is not read: TCP tells the sender (Kafka mutes the channel).

What all of them hold is bounded (`node.config.ConnectionLimits`): their number, and the bytes of
frames that are being read, wait, or are being answered, and of answers that nobody takes. Beyond a
bound somebody is hung up on, rather than made to wait for others that may never be done: the one
that was silent longest, or that holds most. Connections by which other nodes come go last, as in
Kafka. Beside its part of `queued.max.request.bytes` a connection has at most one read of a socket
(256 KiB), what asyncio buffers before it asks to pause (64 KiB), and the elements of one request
(`node.limits`).

Many clients together must not keep a node waiting either: of their frames a turn takes a few, and
then looks at the sockets again. Frames of other nodes are all taken.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from node.config import ConnectionLimits
from node.events import ConnectionClosed, Event, FrameReceived
from node.ids import ConnectionId
from node.server.framing import FrameCutter, FrameSizeRefused, with_size

Feed = Callable[[Event], None]
Clock = Callable[[], int]  # monotonic, in ns
Callback = Callable[[], None]
Later = Callable[[Callback], object]  # to be called after what is ready now
_MS = 1_000_000
# Of clients' frames in a turn, and the last one of these whole: as much work as the worst frame.
TURN_BYTES = 16 * 1024


class Connections:
    """Those that are open, by the id under which the node knows them; silent ones first."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        later: Later,
        limits: ConnectionLimits,
        inner: frozenset[str],
    ) -> None:
        """`inner` are the names of the listeners by which other nodes come."""
        self._feed = feed
        self._clock = clock
        self._later = later
        self._limits = limits
        self._inner = inner
        self._open: dict[ConnectionId, Connection] = {}
        self._next = 1
        self._callers: deque[FrameReceived] = deque()  # clients' frames, for this turn or later
        self._turn_bytes = 0  # of clients' frames that this turn took
        self.held_bytes = 0
        self.most_bytes = limits.queued_max_bytes

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def knows(self, connection: "Connection") -> bool:
        return connection.id in self._open

    def accept(self, listener: str, host: str = "") -> "Connection":
        cutter = FrameCutter(self._limits.request_max_bytes)
        connection = Connection(ConnectionId(self._next), listener, host, cutter, self)
        self._open[connection.id] = connection
        self._next += 1
        connection.active_ns = self._clock()
        return connection

    def send_frame(self, connection: ConnectionId, frame: bytes) -> None:
        """Nothing happens if the connection is gone: so is whoever wanted the answer."""
        if connection in self._open:
            self._open[connection].send_frame(frame)

    def go_on(self, connection: ConnectionId) -> None:
        """With the next request: the last one is done, and wants no answer."""
        if connection in self._open:
            self._open[connection].go_on()

    def close(self, connection: ConnectionId) -> None:
        if connection in self._open:
            self._open[connection].close()

    # --- bounds ---

    def make_room(self, host: str, descriptors: int) -> bool:
        """May one more be accepted from there? If need be, in the place of another.

        `descriptors` is how many of the process's are there for connections.
        """
        of_host = sum(connection.host == host for connection in self._open.values())
        if of_host >= self._limits.connections_per_ip:
            return False
        most = min(self._limits.connections, descriptors)
        while len(self._open) >= most:
            if not self._open:
                return False
            self._dispensable()[0].drop()
        return True

    def close_idle(self) -> None:
        """Hang up on whoever neither sent anything nor took an answer for so long."""
        before_ns = self._clock() - self._limits.idle_ms * _MS
        idle = [c for c in self._open.values() if c.active_ns < before_ns]
        for connection in idle:
            connection.drop()

    def _dispensable(self) -> "list[Connection]":
        """Whom to hang up on, silent ones first; other nodes only if there is nobody else."""
        others = [c for c in self._open.values() if c.listener not in self._inner]
        return others or list(self._open.values())

    # --- what connections tell ---

    def received(self, connection: "Connection", frame: bytes) -> None:
        event = FrameReceived(connection.id, connection.listener, frame)
        if connection.listener in self._inner:
            self._feed(event)
        else:
            self._callers.append(event)
            self._take_callers()

    def _take_callers(self) -> None:
        while self._callers and self._turn_bytes < TURN_BYTES:
            event = self._callers.popleft()
            if event.connection in self._open:
                if not self._turn_bytes:
                    self._later(self._begin_turn)
                self._turn_bytes += len(event.frame)
                self._feed(event)

    def _begin_turn(self) -> None:
        self._turn_bytes = 0
        self._take_callers()

    def active(self, connection: "Connection") -> None:
        """It sent something, or took an answer: it is the last that counts as silent."""
        if self._open.pop(connection.id, None) is not None:
            self._open[connection.id] = connection
            connection.active_ns = self._clock()

    def drop_largest(self) -> None:
        """As long as all hold too much, hang up on who holds most."""
        while self.held_bytes > self.most_bytes:
            max(self._dispensable(), key=lambda each: each.held_bytes).drop()

    def lost(self, connection: "Connection") -> None:
        if self._open.pop(connection.id, None) is not None:
            self._feed(ConnectionClosed(connection=connection.id))


class Connection(asyncio.Protocol):
    def __init__(
        self,
        connection: ConnectionId,
        listener: str,
        host: str,
        cutter: FrameCutter,
        owner: Connections,
    ) -> None:
        self.id = connection
        self.listener = listener
        self.host = host
        self.active_ns = 0  # when it last sent something, or took an answer
        self.held_bytes = 0
        self._owner = owner
        self._cutter = cutter
        self._waiting: deque[bytes] = deque()
        self._in_hand = 0  # the size of the frame that is with the node
        self._is_muted = False  # its socket is not read
        self._writable = True  # the peer takes our answers
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport  # TCP_NODELAY is set by asyncio
        if not self._owner.knows(self):
            transport.abort()  # dropped before it began

    def data_received(self, data: bytes) -> None:
        self._owner.active(self)
        try:
            self._waiting.extend(self._cutter.cut(data))
        except FrameSizeRefused:
            self.close()
            return
        self._hand_over()

    def send_frame(self, frame: bytes) -> None:
        assert self._transport is not None
        self._transport.write(with_size(frame))
        self.go_on()

    def go_on(self) -> None:
        self._owner.active(self)
        self._in_hand = 0
        self._hand_over()

    def close(self) -> None:
        """What was answered still goes out; what waits is forgotten."""
        self._waiting.clear()
        if self._transport is not None:
            self._transport.close()

    def drop(self) -> None:
        """Hang up at once: nobody waits for anything that is still to go out."""
        self._release()
        self._owner.lost(self)
        if self._transport is not None:
            self._transport.abort()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._owner.active(self)
        self._hand_over()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._release()
        self._owner.lost(self)

    def _hand_over(self) -> None:
        if self._waiting and not self._in_hand and self._writable:
            frame = self._waiting.popleft()
            self._in_hand = len(frame)
            self._owner.received(self, frame)
        if bool(self._waiting) != self._is_muted:
            self._throttle()
        held_bytes = self._cutter.held_bytes + self._in_hand
        if self._waiting:
            held_bytes += sum(map(len, self._waiting))
        if not self._writable:
            held_bytes += self._untaken()
        if held_bytes != self.held_bytes:
            self._hold(held_bytes)

    def _untaken(self) -> int:
        """Bytes of answers: there are so many that we wait for the peer to take them."""
        assert self._transport is not None
        return self._transport.get_write_buffer_size()

    def _throttle(self) -> None:
        """Read no further while a frame waits."""
        assert self._transport is not None
        if self._transport.is_closing():
            return
        self._is_muted = not self._is_muted
        if self._is_muted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _release(self) -> None:
        self._waiting.clear()
        self._cutter = FrameCutter(0)
        if self.held_bytes:
            self._hold(0)

    def _hold(self, held_bytes: int) -> None:
        owner, more = self._owner, held_bytes - self.held_bytes
        self.held_bytes = held_bytes
        owner.held_bytes += more
        if owner.held_bytes > owner.most_bytes:
            owner.drop_largest()
