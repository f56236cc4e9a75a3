"""Streams as their two ends see them: transports of asyncio, over the lanes of a network.

Written bytes go to the network (`chaos.cluster.sim.network`); arriving bytes are handed to
the end's protocol, at once or when its process next looks.
"""

import asyncio
import errno
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

from chaos.cluster.interface import Link

Accept = Callable[[], asyncio.BaseProtocol]
Hear = Callable[[Callable[[], None]], None]


class Path(StrEnum):
    """On which streams bytes go from i to j: those that i opened, or those that j opened."""

    REQUESTS = "requests"
    ANSWERS = "answers"


@dataclass(slots=True)
class StreamLane:
    """One of the two paths along a link, and what it took in and passed on since the beginning."""

    link: Link
    is_between_nodes: bool
    is_stopped: bool = False
    flakiness: float = 0.0  # the share of writes that break their connection
    received: int = 0
    sent: int = 0


class Carrier(Protocol):
    """What is between the two ends."""

    def carry(self, end: "StreamEnd", data: bytes) -> None:
        """What was written, to the other end, in its time."""

    def farewell(self, end: "StreamEnd", error: Exception | None) -> None:
        """The same for its close, or its reset."""


class StreamEnd(asyncio.Transport):
    """One end of a stream, as its protocol sees it. Made by the network."""

    def __init__(
        self,
        network: Carrier,
        lane: StreamLane,
        protocol: asyncio.BaseProtocol,
        hear: Hear,
    ) -> None:
        super().__init__()
        self.place = lane.link.source
        self.lane = lane  # what it sends goes there
        self.protocol = protocol
        self.other: StreamEnd  # set once both are there
        self.is_open = True
        self.is_known = False  # its protocol was told of it
        self.is_dead = False  # what it sends is swallowed
        self.arrived = 0.0  # when what was sent last arrives at the other
        self._network = network
        self._hear = hear
        self._is_reading = True
        self._unread = deque[bytes]()

    # --- what its protocol may do ---

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_open and data:
            self._network.carry(self, bytes(data))

    def is_closing(self) -> bool:
        return not self.is_open

    def close(self) -> None:
        """What was written still arrives; what comes is not read any more."""
        if self.is_open:
            self._network.farewell(self, None)
            self.end(None)

    def abort(self) -> None:
        """What was written may arrive; the other end sees a reset."""
        if self.is_open:
            self._network.farewell(self, reset())
            self.end(None)

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        if self._unread:
            self._hear(self._read_on)

    def is_reading(self) -> bool:
        return self._is_reading and self.is_open

    # --- what the network does ---

    def begin(self) -> None:
        if self.is_open:
            self.is_known = True
            self._hear(lambda: self.protocol.connection_made(self))

    def deliver(self, data: bytes) -> None:
        self._hear(partial(self._receive, data))

    def end(self, error: Exception | None) -> None:
        """Its protocol is told, once, if it ever heard of it."""
        if self.is_open and self.is_known:
            self._hear(lambda: self.protocol.connection_lost(error))
        self.is_open = False

    def _receive(self, data: bytes) -> None:
        self._unread.append(data)
        self._read_on()

    def _read_on(self) -> None:
        """What came, in its order, until its reader pauses."""
        while self._unread and self._is_reading and self.is_open:
            data, protocol = self._unread.popleft(), self.protocol
            if isinstance(protocol, asyncio.BufferedProtocol):
                buffer = memoryview(protocol.get_buffer(-1))
                size = min(len(buffer), len(data))
                buffer[:size] = data[:size]
                if size < len(data):
                    self._unread.appendleft(data[size:])
                protocol.buffer_updated(size)
            else:
                assert isinstance(protocol, asyncio.Protocol)
                protocol.data_received(data)


class ConnectAttempt:
    """A connection in the making; `cancel` takes it back wherever it is."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.is_over = False

    def cancel(self) -> None:
        self.is_cancelled = True


def reset() -> ConnectionResetError:
    return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
