"""Streams: order, latency, cuts and their counters, resets, refusals."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from chaos.cluster.fault_evidence import Passage
from chaos.cluster.interface import Address, Link, NodeId
from chaos.cluster.sim.loop import VirtualLoop, run
from chaos.cluster.sim.network import CLIENT, Network, Path, StreamEnd, client_address, link_address
from chaos.cluster.topology import OUTER_PORT, inner_port

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)
THERE, BACK = Link(ONE, TWO), Link(TWO, ONE)


@dataclass
class Talker(asyncio.Protocol):
    """Writes down what it is told, and when."""

    loop: VirtualLoop
    heard: bytes = b""
    times: list[float] = field(default_factory=list)
    end: str = ""
    transport: StreamEnd | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, StreamEnd)
        assert self.transport is None
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        assert not self.end, "nothing is heard after the end"
        self.heard += data
        self.times.append(self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        assert not self.end, "told once"
        self.end = type(exc).__name__ if exc is not None else "closed"

    def say(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)


@dataclass
class Net:
    """Two nodes that listen, and whoever they accepted."""

    loop: VirtualLoop
    network: Network
    accepted: list[Talker] = field(default_factory=list)

    def listen(self, node: NodeId) -> None:
        for port in (inner_port(node), OUTER_PORT):
            self.network.listen(node, port, self._accept, at_once)

    def _accept(self) -> Talker:
        self.accepted.append(Talker(self.loop))
        return self.accepted[-1]

    async def dial(self, link: Link = THERE) -> tuple[Talker, Talker]:
        """Both ends of a new stream; from CLIENT, by the clients' entrance."""
        address = client_address(link.destination) if link.source == CLIENT else link_address(link)
        mine = Talker(self.loop)
        await self.network.dial(mine, address.host, address.port)
        return mine, self.accepted[-1]


def never_told(end: StreamEnd | None) -> None:
    raise AssertionError(f"told of {end}")


def at_once(callback: Callable[[], None]) -> None:
    callback()


def told(story: Callable[[Net], Awaitable[None]], seed: int = 1) -> None:
    async def main() -> None:
        for node in (ONE, TWO, THREE):
            net.listen(node)
        await story(net)

    loop = VirtualLoop()
    net = Net(loop, Network(loop, (ONE, TWO, THREE), seed))
    run(main(), loop)


def test_a_direction_keeps_its_order_however_latencies_fall() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial()
        words = [b"%d " % number for number in range(2000)]
        for word in words:
            mine.say(word)
            await asyncio.sleep(0.0001)
        await asyncio.sleep(1)
        assert other.heard == b"".join(words)
        assert other.times == sorted(other.times)

    told(story)


def test_streams_overtake_each_other() -> None:
    async def story(net: Net) -> None:
        pairs = [await net.dial() for _ in range(50)]
        for mine, _ in pairs:
            mine.say(b"x")
        await asyncio.sleep(1)
        arrivals = [other.times[0] for _, other in pairs]
        assert arrivals != sorted(arrivals)

    told(story)


def test_the_same_seed_gives_the_same_latencies() -> None:
    found: list[list[float]] = []

    async def story(net: Net) -> None:
        mine, other = await net.dial()
        for _ in range(20):
            mine.say(b"x")
            await asyncio.sleep(0.2)
        found.append(other.times)

    for seed in (1, 1, 2):
        told(story, seed)
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(
    "address", [Address("nowhere", 9092), Address(link_address(THERE).host, 1)]
)
def test_where_nobody_ever_listens_is_refused(address: Address) -> None:
    async def story(net: Net) -> None:
        with pytest.raises(ConnectionRefusedError):
            await net.network.dial(Talker(net.loop), address.host, address.port)

    told(story)


def test_nobody_listens_is_refused() -> None:
    async def story(net: Net) -> None:
        net.network.leave(TWO)
        with pytest.raises(ConnectionRefusedError):
            await net.dial()

    told(story)


def test_a_cut_swallows_its_direction_on_both_paths_and_no_other() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial(THERE)
        theirs, answering = await net.dial(BACK)
        for path in Path:
            net.network.stop(THERE, path)
        for talker in (mine, answering, other, theirs):
            talker.say(b"four")
        await asyncio.sleep(1)
        assert (other.heard, theirs.heard) == (b"", b""), "from one to two"
        assert (mine.heard, answering.heard) == (b"four", b"four"), "from two to one"
        for path in Path:
            assert net.network.passage(THERE, path) == Passage(4, 0)
            assert net.network.passage(BACK, path) == Passage(4, 4)

    told(story)


def test_bytes_under_way_when_a_link_is_cut_are_swallowed() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial()
        mine.say(b"late")
        net.network.stop(THERE, Path.REQUESTS)
        await asyncio.sleep(1)
        assert other.heard == b""
        assert net.network.passage(THERE, Path.REQUESTS) == Passage(4, 0)

    told(story)


def test_a_stream_with_a_hole_stays_dead_and_a_new_one_lives() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial()
        whole, listening = await net.dial()
        net.network.stop(THERE, Path.REQUESTS)
        mine.say(b"lost")
        await asyncio.sleep(1)
        net.network.let_pass(THERE, Path.REQUESTS)
        mine.say(b"more")
        whole.say(b"well")
        await asyncio.sleep(1)
        assert (other.heard, listening.heard) == (b"", b"well")
        other.say(b"back")
        await asyncio.sleep(1)
        assert mine.heard == b"back", "the other direction has no hole"

    told(story)


def test_connections_are_made_whatever_is_cut() -> None:
    """By the proxy on the link; what is then said is swallowed."""

    async def story(net: Net) -> None:
        for path in Path:
            net.network.stop(THERE, path)
        mine, other = await net.dial()
        mine.say(b"hush")
        await asyncio.sleep(1)
        assert other.heard == b""

    told(story)


def test_a_cut_swallows_farewells_too() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial()
        net.network.stop(THERE, Path.REQUESTS)
        net.network.leave(ONE)
        await asyncio.sleep(1)
        assert mine.end == "closed"
        assert other.end == ""

    told(story)


def test_a_close_arrives_behind_what_was_said_and_an_abort_is_a_reset() -> None:
    async def story(net: Net) -> None:
        for hang_up, end in (("close", "closed"), ("abort", "ConnectionResetError")):
            mine, other = await net.dial()
            assert mine.transport is not None
            mine.say(b"last words")
            getattr(mine.transport, hang_up)()
            mine.say(b"never sent")
            await asyncio.sleep(1)
            assert (other.heard, other.end) == (b"last words", end)
            assert mine.end == "closed"

    told(story)


def test_the_death_of_a_process_resets_its_streams_and_frees_its_ports() -> None:
    async def story(net: Net) -> None:
        mine, _ = await net.dial()
        _, served = await net.dial(BACK)
        other, _ = await net.dial(Link(ONE, THREE))
        net.network.leave(TWO)
        await asyncio.sleep(1)
        assert (mine.end, served.end, other.end) == (
            "ConnectionResetError",
            "ConnectionResetError",
            "",
        )

    told(story)


def test_an_attempt_that_was_taken_back_is_never_heard_of() -> None:
    async def story(net: Net) -> None:
        mine = Talker(net.loop)
        attempt = net.network.connect(link_address(THERE), mine, at_once, never_told)
        attempt.cancel()
        await asyncio.sleep(1)
        assert mine.transport is None
        assert net.accepted[-1].end == "ConnectionResetError"

    told(story)


def test_slow_links_are_slow_each_way_between_nodes_only() -> None:
    async def story(net: Net) -> None:
        net.network.slow(200)
        pairs = [await net.dial(link) for link in (THERE, Link(CLIENT, TWO))]
        began = net.loop.time()
        for mine, other in pairs:
            mine.say(b"x")
            other.say(b"x")
        await asyncio.sleep(1)
        delays = [talker.times[0] - began for pair in pairs for talker in pair]
        assert all(0.2 <= delay < 0.3 for delay in delays[:2])
        assert all(delay < 0.1 for delay in delays[2:])
        net.network.slow(0)
        mine, other = await net.dial()
        mine.say(b"x")
        began = net.loop.time()
        await asyncio.sleep(1)
        assert other.times[0] - began < 0.1

    told(story)


def test_a_flaky_link_breaks_connections_at_both_ends() -> None:
    async def story(net: Net) -> None:
        net.network.make_flaky(THERE, 0.2)
        broken = 0
        for _ in range(100):
            mine, other = await net.dial()
            for _ in range(5):
                mine.say(b"x")
            await asyncio.sleep(0.2)
            assert mine.end == other.end
            broken += bool(mine.end)
        assert broken == net.network.resets[THERE]
        assert 50 < broken < 85  # 1 - 0.8 ** 5
        net.network.make_flaky(THERE, 0.0)
        mine, other = await net.dial()
        mine.say(b"x" * 100)
        await asyncio.sleep(1)
        assert other.heard == b"x" * 100

    told(story)


def test_who_does_not_read_hears_it_later_in_order() -> None:
    async def story(net: Net) -> None:
        mine, other = await net.dial()
        assert other.transport is not None
        other.transport.pause_reading()
        for word in (b"a", b"b", b"c"):
            mine.say(word)
        await asyncio.sleep(1)
        assert other.heard == b""
        other.transport.resume_reading()
        assert other.heard == b"abc"

    told(story)
