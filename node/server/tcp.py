"""The connections that others open to this node.

Kafka answers one connection's requests in order and works on one at a time; so the next frame is
handed to the node only when the last one was answered and the answers are taken, and until then the
socket is not read: TCP slows the sender (Kafka mutes the channel).

Service is fair: a turn of the node takes one frame of a connection, waiting connections take turns,
and a turn takes few of clients' frames before it polls the sockets again. So a client that sends
ten thousand requests at once delays others by one of them at most. Frames of other nodes are all
taken, if they come by a listener of their own. Unserved frames of a closed connection are dropped.

What all of them hold is bounded (`node.config.ConnectionLimits`). The number of connections: beyond
it the one that was silent longest is closed; connections by which other nodes come go last, as in
Kafka. The bytes of requests, of which small ones are taken as they come, and large ones when there
is room (`Room`): a connection has at most `SMALL_BYTES`, and one large request. The bytes of
answers that are not taken: beyond the same bound the connection that holds most is closed, so that
others need not wait for one that may never take them. An answer partly in files is read from them
as it is taken.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from node.config import ConnectionLimits
from node.effects import ConnectionClosed, Event, FrameReceived, Piece
from node.ids import ConnectionId
from node.server.framing import SIZE, Arrived, FrameSizeRefused, Room, with_size
from node.server.output import NoticeKind, Notices

Feed = Callable[[Event], None]
Clock = Callable[[], int]  # monotonic, in ns
Callback = Callable[[], None]
Later = Callable[[Callback], object]  # to be called after what is ready now
_MS = 1_000_000
# Bytes of clients' frames in a turn, the last one whole: as much work as the worst frame.
TURN_BYTES = 16 * 1024
# A frame of this size needs no room, and it is read at once: what connections hold beside large
# ones.
SMALL_BYTES = 64 * 1024
# The read size for a frame that has room.
_LARGE_BYTES = 256 * 1024
# Of an answer in files: the read size, and what is sent before others continue.
CHUNK_BYTES = 256 * 1024
_BURST_BYTES = 1024 * 1024


class Connections:
    """The open connections, by the id under which the node knows them; silent ones first."""

    def __init__(
        self,
        feed: Feed,
        clock: Clock,
        later: Later,
        limits: ConnectionLimits,
        inner: frozenset[str],
        notices: Notices,
    ) -> None:
        """`inner` are the names of the listeners by which other nodes come, and no clients."""
        self._feed = feed
        self._clock = clock
        self.later = later
        self._limits = limits
        self._inner = inner
        self._notices = notices
        self._open: dict[ConnectionId, Connection] = {}
        self._next = 1
        self._turn = 0
        self._turn_bytes = 0  # of clients' frames that this turn took
        # Connections with a frame for the node: for this turn if it has room, or for the next.
        self._callers: deque[Connection] = deque()
        self._served: deque[Connection] = deque()
        self.buffer = bytearray(_LARGE_BYTES)  # the last read, while it is processed
        self.room = Room["Connection"](limits.queued_max_bytes)
        self.held_bytes = 0  # of answers that are not taken
        self.most_bytes = limits.queued_max_bytes

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def all(self) -> "list[Connection]":
        """Silent ones first."""
        return list(self._open.values())

    def knows(self, connection: "Connection") -> bool:
        return connection.id in self._open

    def accept(self, listener: str, host: str = "") -> "Connection":
        arrived = Arrived(self._limits.request_max_bytes)
        connection = Connection(ConnectionId(self._next), listener, host, arrived, self)
        self._open[connection.id] = connection
        self._next += 1
        connection.active_ns = self._clock()
        return connection

    def send_frame(self, connection: ConnectionId, frame: bytes) -> None:
        """Does nothing if the connection is gone."""
        if connection in self._open:
            self._open[connection].send_frame(frame)

    def send_pieces(self, connection: ConnectionId, pieces: Sequence[Piece]) -> None:
        """The same, for a frame in pieces."""
        if connection in self._open:
            self._open[connection].send_pieces(pieces)

    def go_on(self, connection: ConnectionId) -> None:
        """Continue with the next request: the last one is done, and needs no answer."""
        if connection in self._open:
            self._open[connection].go_on()

    def close(self, connection: ConnectionId) -> None:
        if connection in self._open:
            self._open[connection].close()

    # --- bounds ---

    def make_room(self, host: str, descriptors: int) -> bool:
        """May one more be accepted from that host? If need be, in place of another.

        `descriptors` is how many of the process's are for connections.
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
        """Close connections that neither sent anything nor took an answer for so long, or that keep
        others waiting for room that they do not use.
        """
        now_ns = self._clock()
        before_ns = now_ns - self._limits.idle_ms * _MS
        for connection in [c for c in self._open.values() if c.active_ns < before_ns]:
            connection.drop()
        reading = ((c, c.arrived_bytes) for c in self._open.values() if c.is_reading_large)
        for connection in self.room.idle(reading, now_ns):
            self._notices.add(
                NoticeKind.SLOW,
                f"hung up on {connection}: others wait for its request of a few bytes a second:"
                f" queued.max.request.bytes={self._limits.queued_max_bytes}",
            )
            connection.drop()
        self._notices.look()

    def _dispensable(self) -> "list[Connection]":
        """The connection to close, silent ones first; other nodes' only if there is no other."""
        others = [c for c in self._open.values() if c.listener not in self._inner]
        return others or self.all()

    # --- turns ---

    def next_turn(self) -> bool:
        """The node's turn is over. Is there something for the next already?"""
        self._turn += 1
        self._turn_bytes = 0
        if not self._callers and not self._served:
            return False
        served, self._served = self._served, deque()
        taken = [self._take(each) for each in served if each.listener in self._inner]
        self._callers.extend(each for each in served if each.listener not in self._inner)
        return self._take_callers() or any(taken)

    def wants(self, connection: "Connection") -> None:
        """It has a frame for the node."""
        if connection.turn == self._turn:
            self._served.append(connection)
        elif connection.listener in self._inner:
            self._take(connection)
        else:
            self._callers.append(connection)
            self._take_callers()

    def _take_callers(self) -> bool:
        before = self._turn_bytes
        while self._callers and self._turn_bytes < TURN_BYTES:
            self._turn_bytes += self._take(self._callers.popleft())
        return self._turn_bytes > before

    def _take(self, connection: "Connection") -> int:
        """Hand its frame to the node; returns the frame's size. 0: it was closed meanwhile."""
        if not connection.is_waiting:
            return 0
        connection.turn = self._turn
        frame = connection.take_frame()
        self._feed(FrameReceived(connection.id, connection.listener, frame))
        return len(frame)

    # --- calls by connections ---

    def active(self, connection: "Connection") -> None:
        """It sent something, or took an answer: it is the last in the order of silence."""
        if self._open.pop(connection.id, None) is not None:
            self._open[connection.id] = connection
            connection.active_ns = self._clock()

    def ask_room(self, connection: "Connection", size: int) -> bool:
        return self.room.ask(connection, size, self._clock())

    def give_back(self, connection: "Connection") -> None:
        for waited in self.room.give_back(connection, self._clock()):
            waited.look()

    def drop_largest(self) -> None:
        """Close the connection that holds most, as long as answers hold too much."""
        while self.held_bytes > self.most_bytes:
            max(self._dispensable(), key=lambda each: each.held_bytes).drop()

    def lost(self, connection: "Connection", unserved: int) -> None:
        """`unserved`: its requests that the node had not begun."""
        if self._open.pop(connection.id, None) is not None:
            self._feed(ConnectionClosed(connection=connection.id))
        if unserved:
            line = f"{unserved} requests were dropped with {connection}, which is gone"
            self._notices.add(NoticeKind.GONE, line)

    def refused(self, connection: "Connection", size: int) -> None:
        """It begins with a size that no request has."""
        most = self._limits.request_max_bytes
        why = f"socket.request.max.bytes={most}" if size > most else "it speaks another protocol"
        line = f"hung up on {connection}: a request of {size} bytes; {why}"
        self._notices.add(NoticeKind.TOO_LARGE, line)

    def cut(self, connection: "Connection") -> None:
        """Part of an answer that it is taking is in no file any more."""
        line = f"hung up on {connection}: records that it was being sent were cut off the log"
        self._notices.add(NoticeKind.CUT, line)


class Connection(asyncio.BufferedProtocol):
    def __init__(
        self,
        connection: ConnectionId,
        listener: str,
        host: str,
        arrived: Arrived,
        owner: Connections,
    ) -> None:
        self.id = connection
        self.listener = listener
        self.host = host
        self.active_ns = 0  # when it last sent something, or took an answer
        self.turn = -1  # the last turn in which the node was handed a frame of it
        self.held_bytes = 0  # of an answer
        self._owner = owner
        self._arrived = arrived
        self.is_waiting = False  # its next frame is whole, and for the node
        self._is_served = False  # a frame of it is with the node
        self.is_muted = False  # its socket is not read
        self._writable = True  # the peer takes our answers
        self._sending: deque[tuple[Piece, int]] = deque()  # and the position to continue at
        self._transport: asyncio.Transport | None = None

    def __str__(self) -> str:
        return f"{self.host or 'an unknown host'} at {self.listener}"

    @property
    def arrived_bytes(self) -> int:
        return len(self._arrived)

    @property
    def is_reading_large(self) -> bool:
        return self._owner.room.has(self) and not self._is_served

    # --- asyncio's side ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport  # TCP_NODELAY is set by asyncio
        if not self._owner.knows(self):
            transport.abort()  # dropped before it began

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (asyncio's signature)
        most = _LARGE_BYTES if self.is_reading_large else SMALL_BYTES
        return memoryview(self._owner.buffer)[:most]

    def buffer_updated(self, nbytes: int) -> None:
        self._owner.active(self)
        with memoryview(self._owner.buffer) as view:
            self._arrived.add(view[:nbytes])
        self.look()

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        # Not at once: a transport that is aborted in this callback reports its loss twice.
        self._owner.later(self._go_on_sending)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (asyncio's signature)
        self._end()

    # --- the node's ---

    def take_frame(self) -> bytes:
        """The one that `look` found."""
        self.is_waiting, self._is_served = False, True
        frame = self._arrived.take()
        self.look()
        return frame

    def send_frame(self, frame: bytes) -> None:
        transport = self._transport
        assert transport is not None
        if not transport.is_closing():
            transport.write(with_size(frame))
        self.go_on()

    def send_pieces(self, pieces: Sequence[Piece]) -> None:
        self._sending.append((SIZE.pack(sum(map(len, pieces))), 0))
        self._sending.extend((piece, 0) for piece in pieces)
        self._send_on()
        self.go_on()

    def go_on(self) -> None:
        self._owner.active(self)
        self._is_served = False
        if self._owner.room.has(self):
            self._owner.give_back(self)
        self.look()

    def close(self) -> None:
        """Answers still go out; waiting requests are dropped."""
        self._arrived.drop()
        self.is_waiting = False
        if self._transport is not None and not self._sending:
            self._transport.close()
        elif self._transport is not None:
            self._transport.abort()  # half an answer is none

    def drop(self) -> None:
        """Close at once: nothing that is still to go out is waited for."""
        self._end()
        if self._transport is not None:
            self._transport.abort()

    # --- what it does by itself ---

    def look(self) -> None:
        """Is there something to hand over, or to read?"""
        transport = self._transport
        if transport is None or transport.is_closing():
            return  # its loss is reported soon
        try:
            is_whole, size = self._arrived.is_whole(), self._arrived.size()
        except FrameSizeRefused as refused:
            self._owner.refused(self, refused.size)
            self.close()
            return
        is_large, room = size is not None and size > SMALL_BYTES, self._owner.room
        if self._writable and not (self._is_served or self._sending):
            if is_whole and not self.is_waiting:
                self.is_waiting = True
                self._owner.wants(self)
                if not self.is_waiting:
                    return  # it was taken, and `look` was called again
            elif is_large and not room.has(self):
                assert size is not None
                self._owner.ask_room(self, size)
        self._mute(is_whole or (is_large and (self._is_served or not room.has(self))))
        self._count()

    def _mute(self, is_muted: bool) -> None:
        """Stop reading, or continue."""
        if is_muted == self.is_muted:
            return
        assert self._transport is not None
        self.is_muted = is_muted
        if is_muted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _send_on(self) -> None:
        """Send as much as the peer takes, but no more than others can wait for."""
        sent = 0
        transport = self._transport
        assert transport is not None
        while self._sending and self._writable and not transport.is_closing():
            if sent >= _BURST_BYTES:
                self._owner.later(self._go_on_sending)
                return
            chunk = self._next_chunk()
            if chunk is None:
                self._owner.cut(self)
                self.drop()
                return
            transport.writelines(chunk)
            sent += sum(map(len, chunk))

    def _next_chunk(self) -> list[bytes] | None:
        """The next bytes to send; None: they are gone from their file."""
        chunk, left = [], CHUNK_BYTES
        while self._sending and left:
            piece, start = self._sending.popleft()
            size = min(len(piece) - start, left)
            data = (
                piece[start : start + size] if isinstance(piece, bytes) else piece.read(start, size)
            )
            if data is None:
                return None
            if start + size < len(piece):
                self._sending.appendleft((piece, start + size))
            chunk.append(data)
            left -= size
        return chunk

    def _go_on_sending(self) -> None:
        if self._owner.knows(self):
            self._owner.active(self)
            self._send_on()
            self.look()

    def _count(self) -> None:
        """What it holds of an answer: bytes that the peer does not take, and those to come that are
        in no file.
        """
        held_bytes = 0
        if not self._writable:
            assert self._transport is not None
            held_bytes = self._transport.get_write_buffer_size()
        held_bytes += sum(len(piece) - at for piece, at in self._sending if type(piece) is bytes)
        if held_bytes != self.held_bytes:
            self._hold(held_bytes)

    def _end(self) -> None:
        self._sending.clear()
        self.is_waiting = False
        if self.held_bytes:
            self._hold(0)
        self._owner.lost(self, self._arrived.drop())
        self._owner.give_back(self)

    def _hold(self, held_bytes: int) -> None:
        owner, more = self._owner, held_bytes - self.held_bytes
        self.held_bytes = held_bytes
        owner.held_bytes += more
        if owner.held_bytes > owner.most_bytes:
            owner.drop_largest()
