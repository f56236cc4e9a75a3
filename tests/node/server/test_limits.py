"""What clients can take of a node: connections, descriptors, bytes, time. And who goes first."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from socket import create_connection

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from node.config import ConnectionLimits
from node.effects import ConnectionClosed, Event, FrameReceived
from node.ids import ConnectionId
from node.server.framing import PATIENCE_NS, with_size
from node.server.output import QUIET_NS, Notices
from node.server.tcp import SMALL_BYTES, TURN_BYTES, Connection, Connections
from tests.node.server.scripted import INNER, OUTER, World, ask, frame_from, until, world
from tests.support.quorum_processes import ROOT, wait_until

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
KIB = 1024
MIB = 1024 * KIB
SECOND_NS = 10**9


async def echo(stream: Stream, word: bytes = b"echo") -> bytes:
    reader, writer = stream
    writer.write(with_size(word))
    return await frame_from(reader)


async def is_hung_up_on(stream: Stream) -> bool:
    """True as soon as it ends; False if it is served all the same."""
    try:
        async with asyncio.timeout(60):
            return await echo(stream) != b"echo"
    except (asyncio.IncompleteReadError, ConnectionError):
        return True


async def opened(at: World, count: int, *, inner: bool = False) -> list[Stream]:
    """That are all known to the node, in this order."""
    streams = []
    for _ in range(count):
        streams.append(await at.connect(inner=inner))
        assert await echo(streams[-1]) == b"echo"
    return streams


def test_who_was_silent_longest_makes_room() -> None:
    async def story() -> None:
        async with world(limits=ConnectionLimits(connections=3)) as at:
            first, second, third = await opened(at, 3)
            assert await echo(first) == b"echo"
            (fourth,) = await opened(at, 1)
            assert await is_hung_up_on(second)
            assert not any([await is_hung_up_on(each) for each in (first, third, fourth)])
            assert len(at.connections) == 3

    asyncio.run(story())


def test_clients_take_no_place_of_voters() -> None:
    async def story() -> None:
        async with world(limits=ConnectionLimits(connections=2)) as at:
            (voter,) = await opened(at, 1, inner=True)
            client, newer = await opened(at, 2)
            assert await is_hung_up_on(client)
            assert not await is_hung_up_on(voter)
            assert not await is_hung_up_on(newer)
            other = (await opened(at, 1, inner=True))[0]  # a voter takes the place of a client
            assert await is_hung_up_on(newer)
            assert not await is_hung_up_on(voter)
            await opened(at, 1)  # where there are only voters, the silent one goes
            assert await is_hung_up_on(other)
            assert not await is_hung_up_on(voter)

    asyncio.run(story())


def test_descriptors_are_a_limit_of_connections() -> None:
    async def story() -> None:
        left = 3
        async with world(descriptors=lambda: left) as at:
            streams = await opened(at, 3)
            streams += await opened(at, 2)
            assert len(at.connections) == 3
            left = 1  # the log has more segments now
            streams += await opened(at, 1)
            assert len(at.connections) == 1
            left = 0
            assert await is_hung_up_on(await at.connect())

    asyncio.run(story())


def test_connections_of_one_address() -> None:
    async def story() -> None:
        async with world(limits=ConnectionLimits(connections_per_ip=2)) as at:
            first, _ = await opened(at, 2)
            assert await is_hung_up_on(await at.connect())
            assert await echo(first) == b"echo"
            first[1].close()
            await until(lambda: len(at.connections) == 1)
            await opened(at, 1)

    asyncio.run(story())


def test_the_silent_are_hung_up_on_after_a_while() -> None:
    """Who sends nothing, who never ends a frame, and who takes no answer."""

    async def story() -> None:
        now_ns = 0
        limits = ConnectionLimits(idle_ms=1000)
        async with world(limits=limits, clock=lambda: now_ns) as at:
            idle, torn, deaf, active = await opened(at, 4)
            torn[1].write(with_size(b"never ends")[:-1])
            deaf[1].write(with_size(b"x" * MIB) * 20)
            await until(lambda: at.connections.held_bytes > 0)
            await echo(active)
            now_ns = SECOND_NS
            at.connections.close_idle()
            assert len(at.connections) == 4  # not yet
            await echo(active)
            now_ns += 1
            at.connections.close_idle()
            assert len(at.connections) == 1
            assert await is_hung_up_on(idle)
            assert await is_hung_up_on(torn)
            assert not await is_hung_up_on(active)

    asyncio.run(story())


def test_answers_that_nobody_takes_are_few() -> None:
    """The requests behind them are not even read."""

    async def story() -> None:
        async with world() as at:
            deaf = await at.connect()
            for _ in range(200):
                deaf[1].write(with_size(b"x" * 100_000))
            transport = deaf[1].transport
            await until(lambda: at.account.count("step FrameReceived") > 2)
            left = transport.get_write_buffer_size()
            while True:
                assert await ask(at, b"echo") == b"echo"
                before, left = left, transport.get_write_buffer_size()
                if left == before:
                    break
            assert at.connections.held_bytes < MIB
            assert transport.get_write_buffer_size() > 0
            taken = [await frame_from(deaf[0]) for _ in range(200)]  # all of them, once it reads
            assert taken == [b"x" * 100_000] * 200

    asyncio.run(story())


def test_large_requests_wait_for_room_and_nobody_is_hung_up_on() -> None:
    async def story() -> None:
        limits = ConnectionLimits(request_max_bytes=MIB, queued_max_bytes=2 * MIB)
        async with world(limits=limits) as at:
            streams = await opened(at, 6)
            for stream in streams[:5]:
                stream[1].write(with_size(b"z" * MIB)[:-1])
            room = at.connections.room
            await until(lambda: room.held_bytes == 2 * MIB)
            assert await echo(streams[5], b"y" * SMALL_BYTES) == b"y" * SMALL_BYTES
            assert room.held_bytes == 2 * MIB
            for stream in streams[:5]:
                stream[1].write(b"z")
            for stream in streams[:5]:
                assert await frame_from(stream[0]) == b"z" * MIB
            assert room.held_bytes == 0
            assert len(at.connections) == 6

    asyncio.run(story())


def test_who_has_room_and_sends_nothing_goes_once_others_wait_for_it() -> None:
    async def story() -> None:
        now_ns = 0
        limits = ConnectionLimits(request_max_bytes=MIB, queued_max_bytes=2 * MIB)
        async with world(limits=limits, clock=lambda: now_ns) as at:
            lazy, busy, third = await opened(at, 3)
            busy[1].write(with_size(b"b" * MIB)[:-1])
            lazy[1].write(with_size(b"l" * MIB)[:100])
            await until(lambda: at.connections.room.held_bytes == 2 * MIB)
            await until(lambda: _arrived(at) == MIB + 3 + 100)
            now_ns = 2 * PATIENCE_NS
            at.connections.close_idle()
            assert len(at.connections) == 3  # nobody waits
            third[1].write(with_size(b"t" * MIB))
            await until(lambda: _arrived(at) > MIB + 103)
            at.connections.close_idle()
            assert await frame_from(third[0]) == b"t" * MIB
            assert await is_hung_up_on(lazy)
            busy[1].write(b"b")
            assert await frame_from(busy[0]) == b"b" * MIB
            assert len(at.told) == 1
            assert "queued.max.request.bytes=2097152" in at.told[0]

    asyncio.run(story())


def _arrived(at: World) -> int:
    return sum(each.arrived_bytes for each in at.connections.all())


def test_answers_that_nobody_takes_count() -> None:
    async def story() -> None:
        limits = ConnectionLimits(request_max_bytes=8 * MIB, queued_max_bytes=16 * MIB)
        async with world(limits=limits) as at:
            deaf = await opened(at, 4)
            for stream in deaf:  # a socket's buffers hold some of it
                stream[1].write(with_size(b"x" * 8 * MIB))
            await until(lambda: len(at.connections) < 4)
            assert at.connections.held_bytes <= 16 * MIB
            assert await ask(at, b"echo") == b"echo"

    asyncio.run(story())


def test_a_voter_does_not_wait_for_many_clients() -> None:
    """All of them send in the same moment; a turn takes the voter's frame and few of theirs."""

    async def story() -> None:
        async with world() as at:
            clients = await opened(at, 20)
            (voter,) = await opened(at, 1, inner=True)
            at.core.events.clear()
            for _, writer in clients:
                writer.write(with_size(b"c" * TURN_BYTES))
            assert await echo(voter, b"voter") == b"voter"
            for stream in clients:
                assert await frame_from(stream[0]) == b"c" * TURN_BYTES
            heard = [e.frame for e in at.core.events if isinstance(e, FrameReceived)]
            assert len(heard) == 21
            assert heard.index(b"voter") < 5

    asyncio.run(story())


def test_a_frame_above_the_limit_is_refused_at_its_size() -> None:
    async def story() -> None:
        async with world(limits=ConnectionLimits(request_max_bytes=1000)) as at:
            (stream,) = await opened(at, 1)
            assert await echo(stream, b"x" * 1000) == b"x" * 1000
            stream[1].write((1001).to_bytes(4, "big"))
            assert await is_hung_up_on(stream)
            (line,) = at.told
            assert "a request of 1001 bytes; socket.request.max.bytes=1000" in line

    asyncio.run(story())


# --- answers that are in files ---


class Numbers:
    """A slice of which each eight bytes say where they are, and that tells what is read of it."""

    def __init__(self, size: int) -> None:
        self._size = size
        self.sound = True
        self.read_bytes = 0

    def __len__(self) -> int:
        return self._size

    def read(self, position: int, length: int) -> bytes | None:
        self.read_bytes += length
        first, last = position // 8, (position + length) // 8 + 1
        data = b"".join(number.to_bytes(8, "big") for number in range(first, last))
        return data[position - 8 * first :][:length] if self.sound else None


async def asked(at: World) -> tuple[Stream, ConnectionId]:
    """A connection whose request waits for an answer."""
    stream = await at.connect()
    await echo(stream)
    before = len(at.core.waiting)
    stream[1].write(with_size(b"silence"))
    await until(lambda: len(at.core.waiting) > before)
    return stream, at.core.waiting[-1]


def test_an_answer_is_read_from_files_as_it_is_taken() -> None:
    async def story() -> None:
        limits = ConnectionLimits(request_max_bytes=MIB, queued_max_bytes=2 * MIB)
        async with world(limits=limits) as at:
            slow = [await asked(at) for _ in range(4)]
            files = [Numbers(50 * MIB) for _ in slow]
            for (_, connection), file in zip(slow, files, strict=True):
                at.connections.send_pieces(connection, (b"head", file, b"tail"))
            assert await ask(at, b"echo") == b"echo"
            sent = 0
            while sum(file.read_bytes for file in files) != sent:
                sent = sum(file.read_bytes for file in files)
                assert await ask(at, b"echo") == b"echo"
            assert all(file.read_bytes < 20 * MIB for file in files)  # what sockets hold
            assert at.connections.held_bytes < 2 * MIB
            assert len(at.connections) >= 4
            (reader, _), _ = slow[0]
            taken = await frame_from(reader)
            assert taken == b"head" + (Numbers(50 * MIB).read(0, 50 * MIB) or b"") + b"tail"
            assert await echo(slow[0][0], b"next") == b"next"

    asyncio.run(story())


def test_of_what_was_cut_off_no_other_byte_is_sent() -> None:
    async def story() -> None:
        async with world() as at:
            stream, connection = await asked(at)
            file = Numbers(50 * MIB)
            at.connections.send_pieces(connection, (b"head", file))
            await until(lambda: at.connections.held_bytes > 0)
            file.sound = False
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await frame_from(stream[0])
            (line,) = at.told
            assert "records that it was being sent were cut off the log" in line

    asyncio.run(story())


# --- who goes first ---


def test_who_sends_most_is_not_served_most() -> None:
    """One listener for all: each of a crowd that sent 5,000 requests at once keeps another one
    waiting for some of them."""

    async def story() -> None:
        async with world() as at:
            crowd = await opened(at, 30)
            (other,) = await opened(at, 1)
            for _, writer in crowd:
                writer.write(with_size(b"c") * 5_000)
            await until(lambda: at.account.count("step FrameReceived") > 500)
            for _ in range(10):
                at.core.events.clear()
                assert await echo(other, b"other") == b"other"
                heard = [e.frame for e in at.core.events if isinstance(e, FrameReceived)]
                assert heard.index(b"other") <= 6 * len(crowd)

    asyncio.run(story())


def test_a_turn_takes_one_frame_of_a_connection() -> None:
    events: list[Event] = []
    table = connections(events)
    one, other = (table.accept(OUTER) for _ in range(2))
    for each in (one, other):
        each.connection_made(Wire())
    feed(one, with_size(b"1") * 3)
    feed(other, with_size(b"2") * 2)
    table.send_frame(one.id, b"answer")
    table.send_frame(other.id, b"answer")
    assert frames(events) == [b"1", b"2"]
    assert table.next_turn()
    assert frames(events) == [b"1", b"2", b"1", b"2"]
    assert not table.next_turn()  # they are not answered
    table.send_frame(one.id, b"answer")
    assert frames(events)[4:] == [b"1"]


def test_who_is_gone_is_answered_no_more() -> None:
    """Its next requests are dropped, and counted in one line for all who are gone like that."""

    async def story() -> None:
        now_ns = 0
        async with world(clock=lambda: now_ns) as at:
            crowd = await opened(at, 10)
            for _, writer in crowd:
                writer.write(with_size(b"c" * 1000) * 1000)
                writer.transport.abort()
            await until(lambda: len(at.connections) == 0)
            assert at.account.count("step FrameReceived") < 500
            now_ns = QUIET_NS
            at.connections.close_idle()
            first, rest = at.told
            assert " requests were dropped with 127.0.0.1 at EXTERNAL, which is gone" in first
            assert rest.endswith("which is gone (and 8 like it before)")

    asyncio.run(story())


# --- whatever happens, the bounds hold ---


def connections(
    events: list[Event], limits: ConnectionLimits | None = None, now: Callable[[], int] = int
) -> Connections:
    return Connections(
        events.append,
        now,
        lambda callback: callback(),
        limits or ConnectionLimits(),
        frozenset((INNER,)),
        Notices(list[str]().append, now),
    )


def feed(connection: Connection, data: bytes) -> None:
    """As asyncio does."""
    while data and not connection.is_muted:
        buffer = connection.get_buffer(-1)
        size = min(len(buffer), len(data))
        buffer[:size] = data[:size]
        connection.buffer_updated(size)
        data = data[size:]


def frames(events: list[Event]) -> list[bytes]:
    return [event.frame for event in events if isinstance(event, FrameReceived)]


@dataclass
class Wire(asyncio.Transport):
    """A socket's other side, without one."""

    reading: bool = True
    closing: bool = False

    def write(self, data: object) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 50

    def close(self) -> None:
        self.closing = True

    abort = close

    def is_closing(self) -> bool:
        return self.closing

    def is_reading(self) -> bool:
        return self.reading

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["connect", "data", "answer", "gone", "deaf", "takes", "late", "turn"]),
        st.integers(0, 9),
        st.integers(1, 400),
    ),
    max_size=60,
)


@given(STEPS)
@hypothesis_settings(deadline=None)
def test_no_order_of_events_breaks_a_bound(steps: list[tuple[str, int, int]]) -> None:
    """Sizes are in KiB here: of frames, small and large."""
    limits = ConnectionLimits(
        connections=5,
        connections_per_ip=4,
        idle_ms=1,
        request_max_bytes=100 * KIB,
        queued_max_bytes=300 * KIB,
    )
    events: list[Event] = []
    now_ns = 0
    table = connections(events, limits, lambda: now_ns)
    made: list[Connection] = []
    for what, number, size in steps:
        now_ns += 1000 * size
        if what == "connect":
            host = f"10.0.0.{number % 2}"
            if table.make_room(host, 5):
                made.append(table.accept(INNER if number < 3 else OUTER, host))
                made[-1].connection_made(Wire())
        elif what == "late":
            table.close_idle()
        elif what == "turn":
            table.next_turn()
        elif made:
            chosen = made[number % len(made)]
            match what:
                case "data" if table.knows(chosen):
                    feed(chosen, (with_size(b"d" * (size * KIB // 4 + 1)) * 4)[: size * KIB])
                case "answer" if table.knows(chosen):
                    table.send_frame(chosen.id, b"answer")
                case "gone":
                    chosen.connection_lost(None)
                case "deaf":
                    chosen.pause_writing()
                case "takes" if table.knows(chosen):
                    chosen.resume_writing()
                case _:
                    pass
        known = [each for each in made if table.knows(each)]
        assert len(known) == len(table) <= 5
        assert sum(each.held_bytes for each in made) == table.held_bytes <= 300 * KIB
        assert table.room.held_bytes <= 300 * KIB
        for each in made:
            has_room = table.room.has(each)
            assert table.knows(each) or not has_room
            assert each.arrived_bytes <= (100 * KIB + 256 * KIB if has_room else 2 * SMALL_BYTES)
        assert sum(each.host == "10.0.0.1" for each in known) <= 4
        closed = [event for event in events if isinstance(event, ConnectionClosed)]
        assert len(closed) == len(set(closed)) == len(made) - len(known)


# --- without descriptors ---

ECHO_NODE = """
import asyncio, resource, sys
from tests.node.server.scripted import world

async def serve():
    async with world() as at:
        resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))
        print(at.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(serve())
"""


def test_an_accept_without_descriptors_waits_and_goes_on() -> None:
    """Here nobody limits connections, so accept itself fails; that is no reason to end or spin."""
    with subprocess.Popen(
        [sys.executable, "-c", ECHO_NODE],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as node:
        assert node.stdout is not None
        assert node.stdin is not None
        assert node.stderr is not None
        port = int(node.stdout.readline())
        with ExitStack() as held:
            for _ in range(40):
                held.enter_context(closing(create_connection(("127.0.0.1", port), 10)))
            said = [node.stderr.readline() for _ in range(2)]
            assert node.poll() is None
        with closing(create_connection(("127.0.0.1", port), 20)) as client:
            client.sendall(with_size(b"echo"))
            assert wait_until(lambda: client.recv(8), "an answer") == with_size(b"echo")
        node.stdin.close()
        rest = node.stderr.read().splitlines()
        assert node.wait(20) == 0, rest
    assert set(said) | {line + b"\n" for line in rest} == {
        b"listener EXTERNAL: cannot accept: Too many open files\n"
    }
    assert len(rest) < 10
