"""Frames in a TCP stream: four bytes of size, then that many of content. TCP keepalive."""

import socket
from struct import Struct

from node import limits

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
