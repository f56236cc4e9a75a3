"""A TCP stream to frames: four bytes of size, then that many of content."""

import socket
from struct import Struct

from node import limits

# TCP's own probes, both on connections that others opened and on those to voters: whoever is gone
# without a farewell, as after a power cut, is found out in a minute and a half, whether nothing was
# on its way to him (the probes) or something was (the time for which it may be unacknowledged).


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
    """A size that no frame has: what comes is no Kafka, and cannot be cut any further."""

    def __init__(self, size: int) -> None:
        super().__init__(f"a frame of {size} bytes")
        self.size = size


class FrameCutter:
    """Holds what is not a whole frame yet."""

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
    """What came over a connection, and was not taken: a part of a frame, or several of them."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def add(self, data: bytes | memoryview) -> None:
        self._bytes += data

    def size(self) -> int | None:
        """Of the frame that is next; None: that is not told yet. Raises FrameSizeRefused."""
        if len(self._bytes) < _SIZE_BYTES:
            return None
        size: int = SIZE.unpack_from(self._bytes)[0]
        if not 0 < size <= self._max_bytes:
            raise FrameSizeRefused(size)
        return size

    def is_whole(self) -> bool:
        """Is there all of the next one? Raises FrameSizeRefused."""
        size = self.size()
        return size is not None and len(self._bytes) >= _SIZE_BYTES + size

    def take(self) -> bytes:
        """The next one, all of which is there."""
        size = self.size()
        assert size is not None, "its size is not told yet"
        end = _SIZE_BYTES + size
        with memoryview(self._bytes) as view:
            frame = bytes(view[_SIZE_BYTES:end])
        assert len(frame) == size, f"{len(frame)} of {size} bytes are there"
        if end == len(self._bytes):
            self._bytes = bytearray()  # a large one goes at once
        else:
            del self._bytes[:end]
        return frame

    def drop(self) -> int:
        """All of it; how many whole frames that are."""
        dropped = 0
        try:
            while self.is_whole():
                self.take()
                dropped += 1
        except FrameSizeRefused:
            pass  # there is no frame any more
        self._bytes = bytearray()
        return dropped


def with_size(frame: bytes) -> bytes:
    return SIZE.pack(len(frame)) + frame
