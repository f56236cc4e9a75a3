"""Byte streams between nodes and clients, over links that can be cut, slowed and broken.

As in containers, every connection goes through a proxy on the directed link from its client to its
server, and a link's name is the address that is dialled. Within one direction of a stream bytes
keep their order; streams may overtake each other, since each write draws its own latency.

`cut(i->j)` swallows what i sends to j, on streams that either of them opened, and neither is
notified: the proxy still accepts connections. Where bytes of a stream were swallowed, that
direction stays dead until the stream is closed: a hole in it would be no TCP.
"""

import asyncio
import errno
import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

from chaos.cluster.fault_evidence import Passage
from chaos.cluster.interface import Address, Link, NodeId
from chaos.cluster.sim.loop import VirtualLoop
from chaos.cluster.topology import (
    OUTER_PORT,
    client_port,
    host_name,
    inner_port,
    link_name,
    second_port,
)
from chaos.conditions import Conditions

# The two ends of a stream: transports of asyncio, over the lanes of a network.
#
# Written bytes go to the network; arriving bytes are handed to the end's protocol, at once or when
# its process next looks.


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


CLIENT = NodeId(0)  # where all clients are, and the harness
_MS = 1_000_000


@dataclass(frozen=True, slots=True)
class _Listener:
    accept: Accept
    hear: Hear


class Network:
    """All streams of one cluster; a virtual loop's `Internet`.

    Clients dial `127.0.0.1:<client port of j>`, node i dials `link-i-j:<an inner port of j>`.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        nodes: tuple[NodeId, ...],
        seed: int,
        conditions: Conditions | None = None,
    ) -> None:
        self._loop = loop
        like = conditions or Conditions()
        self._least_ns = like.latency_least_us * 1000
        self._spread_ns = like.latency_most_us * 1000 - self._least_ns
        self._spikes, self._spike_factor = like.spikes, like.spike_factor
        self._rng = random.Random(f"{seed}:network")
        self._listeners: dict[tuple[NodeId, int], _Listener] = {}
        self._ends: dict[NodeId, dict[StreamEnd, None]] = {place: {} for place in (CLIENT, *nodes)}
        self._lanes: dict[tuple[Link, Path], StreamLane] = {}
        self._latency_ms = 0
        self.resets: dict[Link, int] = {}  # how many streams a flaky link broke
        self._ways = dict(_ways(nodes))
        self._links = {
            (node, host_name(other)): Link(node, other) for node in nodes for other in nodes
        }

    # --- for nodes and clients ---

    def resolve(self, node: NodeId, address: Address) -> Address:
        """What an address means in a node, where the others' names are the proxies of the links to
        them, as in containers; by its own name it reaches itself, and no fault is in between."""
        link = self._links.get((node, address.host))
        return address if link is None else Address(link_name(link), address.port)

    def listen(self, node: NodeId, port: int, accept: Accept, hear: Hear) -> None:
        """`hear` delivers events to the listening process: at once, or when it next looks."""
        self._listeners[node, port] = _Listener(accept, hear)

    async def dial(self, protocol: asyncio.BaseProtocol, host: str, port: int) -> asyncio.Transport:
        """For code that waits. Raises ConnectionRefusedError where nothing listens."""
        made: asyncio.Future[StreamEnd | None] = self._loop.create_future()
        attempt = self.connect(
            Address(host, port),
            protocol,
            lambda callback: callback(),
            lambda end: None if made.done() else made.set_result(end),
        )
        try:
            end = await made
        except asyncio.CancelledError:
            attempt.cancel()
            raise
        if end is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
        return end

    def connect(
        self,
        address: Address,
        protocol: asyncio.BaseProtocol,
        hear: Hear,
        tell: Callable[[StreamEnd | None], None],
    ) -> ConnectAttempt:
        """Begin a stream; `tell` is called with this end, or with None where it is refused.

        `protocol` hears of its connection first.
        """
        attempt = ConnectAttempt()

        def made(mine: StreamEnd | None) -> None:
            attempt.is_over = True
            if not attempt.is_cancelled:
                if mine is not None:
                    mine.begin()
                hear(lambda: tell(mine))
            elif mine is not None:
                mine.abort()

        way = self._ways.get(address)
        if way is None:  # no node has that name, or ever listens at that port
            self._loop.at(self._loop.now, made, None)
            return attempt
        source, destination, port = way
        there = self._lane(Link(source, destination), Path.REQUESTS)
        back = self._lane(Link(destination, source), Path.ANSWERS)

        def arrive() -> None:
            answer_at = self._loop.now + self._latency_s(back)
            listener = self._listeners.get((destination, port))
            mine: StreamEnd | None = None
            if listener is not None:
                mine = StreamEnd(self, there, protocol, hear)
                other = StreamEnd(self, back, listener.accept(), listener.hear)
                other.arrived = answer_at
                self._join(mine, other)
                other.begin()
            self._loop.at(answer_at, made, mine)

        self._loop.at(self._loop.now + self._latency_s(there), arrive)
        return attempt

    def leave(self, node: NodeId) -> None:
        """The process at a place has ended: nothing listens there, and others see resets."""
        for where in [where for where in self._listeners if where[0] == node]:
            del self._listeners[where]
        for end in list(self._ends[node]):
            end.abort()

    # --- faults ---

    def stop(self, link: Link, path: Path) -> None:
        """Let no byte pass along a link, on one of its two paths."""
        self._lane(link, path).is_stopped = True

    def let_pass(self, link: Link, path: Path) -> None:
        self._lane(link, path).is_stopped = False

    def is_stopped(self, link: Link, path: Path) -> bool:
        return self._lane(link, path).is_stopped

    def slow(self, latency_ms: int) -> None:
        """Let every byte between nodes take so much longer, each way; 0 undoes it."""
        self._latency_ms = latency_ms

    def make_flaky(self, link: Link, share: float) -> None:
        """Let this share of the writes along a link break their connection; 0 undoes it."""
        for path in Path:
            self._lane(link, path).flakiness = share

    def passage(self, link: Link, path: Path) -> Passage:
        """What was taken in and passed on since the beginning; bytes under way are not in it."""
        lane = self._lane(link, path)
        return Passage(lane.received, lane.sent)

    # --- for its ends ---

    def carry(self, end: StreamEnd, data: bytes) -> None:
        """Take in what was written, and bring it to the other end in its time."""
        lane = end.lane
        if lane.flakiness > 0.0 and self._rng.random() < lane.flakiness:
            self.resets[lane.link] = self.resets.get(lane.link, 0) + 1
            for each in (end, end.other):
                self._end(each, reset())
        elif lane.is_stopped or end.is_dead:
            self._swallow(end, data)
        else:
            end.arrived = max(self._loop.now + self._latency_s(lane), end.arrived)
            self._loop.at(end.arrived, self._arrive, end, data)

    def farewell(self, end: StreamEnd, error: Exception | None) -> None:
        """Tell the other end, behind all that was written; a cut swallows that too."""
        self._ends[end.place].pop(end, None)
        end.arrived = max(self._loop.now + self._latency_s(end.lane), end.arrived)
        self._loop.at(end.arrived, self._part, end, error)

    def _arrive(self, end: StreamEnd, data: bytes) -> None:
        lane = end.lane
        if lane.is_stopped or end.is_dead:
            self._swallow(end, data)
        elif end.other.is_open:
            lane.received += len(data)
            lane.sent += len(data)
            end.other.deliver(data)

    def _part(self, end: StreamEnd, error: Exception | None) -> None:
        if end.lane.is_stopped or end.is_dead:
            self._swallow(end, b"")
        else:
            self._end(end.other, error)

    def _end(self, end: StreamEnd, error: Exception | None) -> None:
        self._ends[end.place].pop(end, None)
        end.end(error)

    def _swallow(self, end: StreamEnd, data: bytes) -> None:
        end.is_dead = True
        end.lane.received += len(data)

    def _lane(self, link: Link, path: Path) -> StreamLane:
        if (link, path) not in self._lanes:
            own = link.source == link.destination
            between_nodes = CLIENT not in (link.source, link.destination) and not own
            self._lanes[link, path] = StreamLane(link, between_nodes)
        return self._lanes[link, path]

    def _join(self, mine: StreamEnd, other: StreamEnd) -> None:
        mine.other, other.other = other, mine
        for end in (mine, other):
            self._ends[end.place][end] = None

    def _latency_s(self, lane: StreamLane) -> float:
        """As the conditions say: short as a rule, and now and then many times as long."""
        rng = self._rng
        ns = self._least_ns + int(rng.random() * self._spread_ns)
        if rng.random() < self._spikes:
            ns *= self._spike_factor
        if lane.is_between_nodes:
            ns += self._latency_ms * _MS
        return ns / 1e9


def _ways(nodes: tuple[NodeId, ...]) -> Iterator[tuple[Address, tuple[NodeId, NodeId, int]]]:
    """What each address leads from and to, and the port that the proxy dials there."""
    for node in nodes:
        yield client_address(node), (CLIENT, node, OUTER_PORT)
        for other in nodes:
            for port in (inner_port(other), second_port(other)):
                yield Address(link_name(Link(node, other)), port), (node, other, port)


def client_address(node: NodeId) -> Address:
    """Where clients of a node enter."""
    return Address("127.0.0.1", client_port(node))


def link_address(link: Link) -> Address:
    """What a node dials to reach another: as in containers, a proxy of that link alone."""
    return Address(link_name(link), inner_port(link.destination))
