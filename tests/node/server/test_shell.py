"""The orders that the shell keeps: a scripted core behind the real loop, sockets and pipes.

The core here answers a frame with what the frame asks for, so that a test can say in bytes which
effects there are, in which order.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest

from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    Effect,
    ElectionState,
    FlushLog,
    PersistElectionState,
    SendReply,
    SendToPeer,
    Stop,
    Trace,
)
from node.events import (
    ConnectionClosed,
    Event,
    FrameReceived,
    LogFlushed,
    PeerDisconnected,
    PeerFrameReceived,
    TimeoutElapsed,
)
from node.ids import ConnectionId, NodeId, Now, Offset, ReplicaKey
from node.messages import Endpoint
from node.server.frames import with_size
from node.server.peers import Peers
from node.server.shell import Shell
from node.server.tcp import MAX_WAITING_FRAMES, Connections
from node.server.traces import TraceWriter

FAR_NS = 10**9 * 3600
PEER = NodeId(2)


@dataclass
class ScriptedCore:
    """Frames are words: `echo`, `append` (answered when flushed), `later`, `close`, `peer`..."""

    account: list[str]
    deadline_ns: int = field(default_factory=lambda: time.monotonic_ns() + FAR_NS)
    waiting: list[ConnectionId] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def start(self, now: Now) -> list[Effect]:
        assert now.wall_ns > now.mono_ns
        return []

    def next_deadline_ns(self) -> int:
        return self.deadline_ns

    def step(self, event: Event, now: Now) -> list[Effect]:
        self.events.append(event)
        self.account.append(f"step {type(event).__name__}")
        match event:
            case FrameReceived(connection=connection, frame=frame):
                return self._on_frame(connection, frame)
            case LogFlushed():
                waiting, self.waiting = self.waiting, []
                return [SendReply(connection=c, frame=b"flushed") for c in waiting]
            case TimeoutElapsed():
                assert now.mono_ns >= self.deadline_ns
                self.deadline_ns = now.mono_ns + FAR_NS
                return []
            case _:
                return []

    def _on_frame(self, connection: ConnectionId, frame: bytes) -> list[Effect]:
        match frame:
            case b"append":
                self.waiting.append(connection)
                return [AppendBatches(data=b"data"), FlushLog()]
            case b"calm":
                self.deadline_ns = time.monotonic_ns() + FAR_NS
                return [SendReply(connection=connection, frame=b"calm")]
            case b"vote":
                state = ElectionState()
                trace = Trace(event="c.resign", fields={"epoch": 7})
                reply = SendReply(connection=connection, frame=b"granted")
                return [PersistElectionState(state=state), trace, reply]
            case b"close":
                return [CloseConnection(connection=connection)]
            case b"silence":
                self.waiting.append(connection)
                return []
            case b"peer":
                return [
                    SendToPeer(peer=PEER, frame=b"hello"),
                    SendReply(connection=connection, frame=b"sent"),
                ]
            case b"drop":
                return [
                    DisconnectPeer(peer=PEER),
                    SendReply(connection=connection, frame=b"dropped"),
                ]
            case b"stop":
                reply = SendReply(connection=connection, frame=b"bye")
                return [reply, Stop(code=0, reason="asked")]
            case _:
                return [SendReply(connection=connection, frame=frame)]


@dataclass
class SlowLog:
    """Tells what was done to it, and takes its time to flush."""

    account: list[str]
    flush_s: float = 0.0
    during_flush: Callable[[], object] | None = None

    def append(self, data: bytes) -> None:
        assert data
        self.account.append("append")

    def truncate(self, end: Offset) -> None:
        self.account.append(f"truncate {end}")

    def flush(self) -> Offset:
        time.sleep(self.flush_s)  # as fdatasync does: the whole process waits
        if self.during_flush is not None:
            self.during_flush()
        self.account.append("flush")
        return Offset(1)


@dataclass
class Elections:
    account: list[str]

    def save(self, state: ElectionState) -> None:
        self.account.append(f"save {state.epoch}")


@dataclass
class World:
    account: list[str]
    core: ScriptedCore
    log: SlowLog
    port: int
    traces: int
    stopped: "asyncio.Future[Stop]"

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


@asynccontextmanager
async def world(peer_port: int = 1) -> AsyncIterator[World]:
    account: list[str] = []
    core, log = ScriptedCore(account), SlowLog(account)
    read_end, write_end = os.pipe()
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    stopped: asyncio.Future[Stop] = loop.create_future()
    shell = Shell(
        node=core,
        log=log,
        elections=Elections(account),
        traces=TraceWriter(ReplicaKey(NodeId(1)), write_end),
        stop=stopped.set_result,
    )
    connections = Connections(shell.feed)
    address = Endpoint(name="CONTROLLER", host="127.0.0.1", port=peer_port)
    peers = Peers({PEER: address}, shell.feed, connect_timeout_s=1.0)
    server = await loop.create_server(lambda: connections.accept("OUTER"), "127.0.0.1", 0)
    shell.start(connections, peers)
    port: int = server.sockets[0].getsockname()[1]
    yield World(account, core, log, port, read_end, stopped)
    server.close()
    await until(lambda: len(connections) == 0)
    os.close(read_end)
    os.close(write_end)
    assert not failures


async def frame_from(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


async def ask(world: World, word: bytes) -> bytes:
    reader, writer = await world.connect()
    writer.write(with_size(word))
    answer = await frame_from(reader)
    writer.close()
    return answer


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def test_one_flush_serves_all_that_is_ready() -> None:
    async def story() -> list[str]:
        async with world() as at:
            streams = [await at.connect() for _ in range(5)]
            await ask(at, b"echo")
            at.account.clear()
            for _, writer in streams:
                writer.write(with_size(b"append"))  # all before the loop turns
            for reader, writer in streams:
                assert await frame_from(reader) == b"flushed"
                writer.close()
            return at.account

    account = asyncio.run(story())
    assert account.count("append") == 5
    assert account.count("flush") < 5


def test_a_vote_is_saved_and_told_before_it_is_answered() -> None:
    async def story() -> None:
        async with world() as at:
            assert await ask(at, b"vote") == b"granted"
            assert "save 0" in at.account
            # The trace line is in the pipe by the time the answer is here.
            line = json.loads(os.read(at.traces, 1 << 16))
            assert (line["ev"], line["node"], line["seq"], line["epoch"]) == ("c.resign", 1, 0, 7)

    asyncio.run(story())


@pytest.mark.parametrize("due_already", [False, True])
def test_input_that_waits_behind_a_slow_fsync_is_heard_before_the_timer(due_already: bool) -> None:
    """The deadline passes while the process is held up; so does what would have calmed it arrive.

    `due_already`: the timer's callback is queued behind the fsync, in the same turn of the loop.
    """

    async def story() -> list[str]:
        async with world() as at:
            (_, slow), (calm_in, calm) = await at.connect(), await at.connect()
            at.core.deadline_ns = time.monotonic_ns() + 50_000_000
            await ask(at, b"echo")  # the shell looks at the deadline again
            at.log.flush_s = 0.2
            descriptor = calm.get_extra_info("socket").fileno()
            at.log.during_flush = partial(os.write, descriptor, with_size(b"calm"))
            slow.write(with_size(b"append"))
            if due_already:
                asyncio.get_running_loop().call_soon(time.sleep, 0.06)
            assert await frame_from(calm_in) == b"calm"
            await ask(at, b"echo")
            slow.close()
            calm.close()
            return at.account

    account = asyncio.run(story())
    assert account.count("flush") == 1
    assert "step TimeoutElapsed" not in account


def test_a_timer_fires_once_its_deadline_is_there() -> None:
    async def story() -> None:
        async with world() as at:
            at.core.deadline_ns = time.monotonic_ns() + 30_000_000
            await ask(at, b"echo")
            await until(lambda: "step TimeoutElapsed" in at.account)
            await ask(at, b"echo")
            assert at.account.count("step TimeoutElapsed") == 1

    asyncio.run(story())


def test_answers_keep_the_order_of_pipelined_requests() -> None:
    async def story() -> None:
        async with world() as at:
            reader, writer = await at.connect()
            words = [b"a", b"append", b"b", b"append", b"c"]
            writer.write(b"".join(with_size(word) for word in words))
            answers = [await frame_from(reader) for _ in words]
            assert answers == [b"a", b"flushed", b"b", b"flushed", b"c"]
            writer.close()

    asyncio.run(story())


def test_a_connection_that_is_not_answered_is_not_read_without_end() -> None:
    async def story() -> None:
        async with world() as at:
            reader, writer = await at.connect()
            writer.write(with_size(b"silence"))
            big = with_size(b"x" * 100_000)
            assert MAX_WAITING_FRAMES <= await sent_until_full(writer, big) < 500
            assert await ask(at, b"echo") == b"echo"  # others are served
            assert not reader.at_eof()
            writer.transport.abort()
            await ask(at, b"append")  # answers the silent one as well
            await until(lambda: any(isinstance(e, ConnectionClosed) for e in at.core.events))

    asyncio.run(story())


async def sent_until_full(writer: asyncio.StreamWriter, frame: bytes) -> int:
    """How many times it can be sent before nobody takes more."""
    for count in range(1000):
        writer.write(frame)
        try:
            async with asyncio.timeout(0.5):
                await writer.drain()
        except TimeoutError:
            return count
    return 1000


@pytest.mark.parametrize(
    "bytes_sent", [with_size(b"close"), b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\0\0\0more"]
)
def test_who_sends_nonsense_is_hung_up_on(bytes_sent: bytes) -> None:
    async def story() -> None:
        async with world() as at:
            reader, writer = await at.connect()
            writer.write(with_size(b"echo"))
            assert await frame_from(reader) == b"echo"
            writer.write(bytes_sent)
            assert await reader.read() == b""
            writer.close()
            await until(lambda: any(isinstance(e, ConnectionClosed) for e in at.core.events))
            assert await ask(at, b"echo") == b"echo"

    asyncio.run(story())


def test_a_torn_frame_at_the_end_is_dropped() -> None:
    async def story() -> None:
        async with world() as at:
            reader, writer = await at.connect()
            writer.write(with_size(b"echo") + with_size(b"torn")[:-1])
            assert await frame_from(reader) == b"echo"
            writer.write_eof()
            assert await reader.read() == b""
            frames = [e.frame for e in at.core.events if isinstance(e, FrameReceived)]
            assert frames == [b"echo"]
            writer.close()

    asyncio.run(story())


def test_the_last_answer_leaves_before_the_node_stops() -> None:
    async def story() -> None:
        async with world() as at:
            assert await ask(at, b"stop") == b"bye"
            assert (await at.stopped).reason == "asked"

    asyncio.run(story())


# --- peers ---


def test_a_peer_gets_frames_and_its_answers_come_back() -> None:
    async def story() -> None:
        received: list[bytes] = []

        async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while not reader.at_eof():
                try:
                    received.append(await frame_from(reader))
                except asyncio.IncompleteReadError:
                    break
                writer.write(with_size(b"answer"))
            writer.close()

        server = await asyncio.start_server(peer, "127.0.0.1", 0)
        async with server, world(server.sockets[0].getsockname()[1]) as at:
            await ask(at, b"peer")
            await ask(at, b"peer")
            await until(lambda: "step PeerFrameReceived" in at.account)
            await until(lambda: received == [b"hello", b"hello"])
            answer = PeerFrameReceived(peer=PEER, frame=b"answer")
            assert answer in at.core.events
            assert await ask(at, b"drop") == b"dropped"
            await ask(at, b"peer")  # a new connection
            await until(lambda: len(received) == 3)
            assert "step PeerDisconnected" not in at.account
            await ask(at, b"drop")

    asyncio.run(story())


def test_a_peer_that_is_not_there_or_goes_is_told() -> None:
    async def story() -> None:
        async with world(peer_port=1) as at:
            await ask(at, b"peer")
            await until(lambda: PeerDisconnected(peer=PEER) in at.core.events)
            await ask(at, b"peer")  # tried again
            await until(lambda: at.account.count("step PeerDisconnected") == 2)

    asyncio.run(story())


def test_a_peer_that_hangs_up_is_told() -> None:
    async def story() -> None:
        async def peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await frame_from(reader)
            writer.close()

        server = await asyncio.start_server(peer, "127.0.0.1", 0)
        async with server, world(server.sockets[0].getsockname()[1]) as at:
            await ask(at, b"peer")
            await until(lambda: PeerDisconnected(peer=PEER) in at.core.events)

    asyncio.run(story())
