"""Frames in a TCP stream: four bytes of size, then that many of content. TCP keepalive.

Room for large requests (`queued.max.request.bytes`).

The sender of one is read no further until there is room for all of it: TCP slows the sender, and no
connection is closed because others sent much (Kafka's `MemoryPool`, KIP-72). Room is given in the
order in which it was requested, so smaller requests never starve a large one.

Room that is held but not used keeps others waiting: a connection that has room, and sends next to
nothing while others wait, is closed.
"""

import socket
from collections.abc import Iterator
from struct import Struct
from typing import Generic, TypeVar

from node import limits
from node.lazy_dataclass import dataclass

# TCP keepalive, on accepted connections and on those to voters: a peer that is gone without
# closing, as after a power cut, is detected in a minute and a half, if nothing was sent to it (by
# probes) or something was (by the limit on unacknowledged data).


IDLE_S, INTERVAL_S, PROBES = 60, 10, 3


def keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, IDLE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, INTERVAL_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES)
    unacknowledged_ms = 1000 * (IDLE_S + INTERVAL_S * PROBES)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unacknowledged_ms)


SIZE = Struct(">i")
_SIZE_BYTES = SIZE.size


class FrameSizeRefused(ValueError):
    """A size that no frame has: the stream is not Kafka's protocol, and cannot be cut any
    further.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"a frame of {size} bytes")
        self.size = size


class FrameCutter:
    """Holds the bytes of a frame that is not whole yet."""

    def __init__(self, max_bytes: int = limits.MAX_FRAME_BYTES) -> None:
        self._arrived = Arrived(max_bytes)

    def cut(self, data: bytes) -> list[bytes]:
        """The frames that are complete with `data`. Raises FrameSizeRefused."""
        arrived = self._arrived
        arrived.add(data)
        frames = []
        while arrived.is_whole():
            frames.append(arrived.take())
        return frames


class Arrived:
    """Bytes that came over a connection and were not taken: a part of a frame, or several
    frames.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: bytes | memoryview) -> None:
        self._bytes += data

    def size(self) -> int | None:
        """The next frame's size; None: not known yet. Raises FrameSizeRefused."""
        if len(self._bytes) < _SIZE_BYTES:
            return None
        size: int = SIZE.unpack_from(self._bytes)[0]
        if not 0 < size <= self._max_bytes:
            raise FrameSizeRefused(size)
        return size

    def is_whole(self) -> bool:
        """Is the next frame whole? Raises FrameSizeRefused."""
        size = self.size()
        return size is not None and len(self._bytes) >= _SIZE_BYTES + size

    def take(self) -> bytes:
        """The next frame, which is whole."""
        size = self.size()
        assert size is not None, "its size is not told yet"
        end = _SIZE_BYTES + size
        with memoryview(self._bytes) as view:
            frame = bytes(view[_SIZE_BYTES:end])
        assert len(frame) == size, f"{len(frame)} of {size} bytes are there"
        if end == len(self._bytes):
            self._bytes = bytearray()  # free a large one at once
        else:
            del self._bytes[:end]
        return frame

    def drop(self) -> int:
        """Drop everything; returns how many whole frames that were."""
        dropped = 0
        try:
            while self.is_whole():
                self.take()
                dropped += 1
        except FrameSizeRefused:
            pass  # no frame follows
        self._bytes = bytearray()
        return dropped


def with_size(frame: bytes) -> bytes:
    return SIZE.pack(len(frame)) + frame


# While others wait: the period in which a request with room has to make some minimal progress.
PATIENCE_NS = 10 * 10**9
LEAST_BYTES = 640 * 1024

T = TypeVar("T")


@dataclass(slots=True)
class _Given:
    size: int
    # At the last look.
    looked_ns: int
    arrived: int


class Room(Generic[T]):
    """The room of one node, for connections `T`, each with room for one request at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._given: dict[T, _Given] = {}
        self._waiting: dict[T, int] = {}  # the size of each one's request; the first to ask first
        self.held_bytes = 0  # <= most

    def ask(self, asker: T, size: int, now_ns: int) -> bool:
        """False: there is none yet; `grant` is called when there is. `size` is no more than the
        total.
        """
        assert size <= self._most, f"{size} of {self._most} bytes"
        assert asker not in self._given, f"{asker} has room already"
        if asker not in self._waiting:
            self._waiting[asker] = size
        return self._grant(now_ns) == [asker]

    def give_back(self, asker: T, now_ns: int) -> list[T]:
        """Return what the connection has or waits for; returns the waiting ones that have room
        now.
        """
        self._waiting.pop(asker, None)
        given = self._given.pop(asker, None)
        if given is not None:
            self.held_bytes -= given.size
        return self._grant(now_ns)

    def idle(self, arrived: Iterator[tuple[T, int]], now_ns: int) -> list[T]:
        """The connections to close; `arrived` is how much there is of each unfinished request."""
        if not self._waiting:
            return []
        idle = []
        for asker, size in arrived:
            given = self._given.get(asker)
            if given is None or now_ns - given.looked_ns < PATIENCE_NS:
                continue
            if size - given.arrived < LEAST_BYTES:
                idle.append(asker)
            given.looked_ns, given.arrived = now_ns, size
        return idle

    def has(self, asker: T) -> bool:
        return asker in self._given

    def awaits(self, asker: T) -> bool:
        return asker in self._waiting

    def _grant(self, now_ns: int) -> list[T]:
        granted = []
        while self._waiting:
            asker, size = next(iter(self._waiting.items()))
            if self.held_bytes + size > self._most:
                break
            del self._waiting[asker]
            self._given[asker] = _Given(size, now_ns, 0)
            self.held_bytes += size
            granted.append(asker)
        return granted
