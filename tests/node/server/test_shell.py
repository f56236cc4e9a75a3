"""The orders that the shell keeps: a scripted core behind the real loop, sockets and pipes."""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest

from node.config import ConnectionLimits
from node.effects import (
    ConnectionClosed,
    FrameReceived,
    PeerDisconnected,
    PeerFrameReceived,
    Stop,
)
from node.ids import METADATA_LOG, ConnectionId, NodeId, Now, ReplicaKey
from node.server.framing import with_size
from node.server.listener import accepted_from
from node.server.metrics import Meter
from node.server.output import Notices, TraceWriter
from node.server.peer_links import PeerLinks, TcpDial
from node.server.run import close, end
from node.server.shell import Shell, read_clocks
from node.server.tcp import SMALL_BYTES, Connections
from tests.node.server.scripted import (
    CHANNEL,
    INNER,
    Elections,
    FlushedLog,
    ScriptedCore,
    ask,
    frame_from,
    until,
    world,
)


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


def test_what_arrives_before_the_start_is_handled_by_it() -> None:
    """Listeners are open before the node starts: a voter that comes back is called at once."""

    async def story() -> list[str]:
        account: list[str] = []
        shell = Shell(
            node=ScriptedCore(account),
            logs={METADATA_LOG: FlushedLog(account)},
            elections=Elections(account),
            traces=TraceWriter(ReplicaKey(NodeId(1)), UUID(int=1), lambda _: None),
            meter=Meter(read_clocks()),
            stop=lambda _: None,
        )
        gone = ConnectionId(1)
        shell.feed(FrameReceived(connection=gone, listener="CONTROLLER", frame=b"append"))
        assert account == []
        later = asyncio.get_running_loop().call_soon
        notices = Notices(account.append, time.monotonic_ns)
        inner = frozenset((INNER,))
        connections = Connections(
            shell.feed, time.monotonic_ns, later, ConnectionLimits(), inner, notices
        )
        shell.start(connections, PeerLinks(shell.feed, TcpDial(1.0)))
        return account

    assert asyncio.run(story()) == ["step FrameReceived", "append", "flush", "step LogFlushed"]


def test_a_vote_is_saved_and_told_before_it_is_answered() -> None:
    async def story() -> None:
        async with world() as at:
            assert await ask(at, b"vote") == b"granted"
            assert "save 0" in at.account
            # The trace line is in the pipe by the time the answer is here.
            line = json.loads(os.read(at.traces, 1 << 16))
            assert (line["ev"], line["node"], line["seq"], line["epoch"]) == ("c.resign", 1, 0, 7)

    asyncio.run(story())


class StoppedClock:
    """Time passes where a test says so, for the shell and for the loop that it runs on."""

    def __init__(self) -> None:
        self.mono_ns = time.monotonic_ns()

    def pass_by(self, ns: int) -> None:
        self.mono_ns += ns

    def read(self) -> Now:
        return Now(self.mono_ns, self.mono_ns + 1)

    @contextmanager
    def of_the_running_loop(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(loop, "time", lambda: self.mono_ns / 1e9)
            yield


def test_a_line_has_the_time_of_its_step_however_long_the_disk_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a follower would seem to have followed for a shorter time than it waited for its
    leader."""
    clock = StoppedClock()
    monkeypatch.setattr("node.server.shell.read_clocks", clock.read)

    def slow_save(_elections: Elections, _state: object) -> None:
        clock.pass_by(700_000_000)

    monkeypatch.setattr(Elections, "save", slow_save)

    async def story() -> None:
        began_ns = clock.mono_ns
        async with world() as at:
            for number in range(2):
                assert await ask(at, b"vote") == b"granted"
                line = json.loads(os.read(at.traces, 1 << 16))
                assert line["mono"] == began_ns + number * 700_000_000
                assert line["wall"] == line["mono"] + 1

    asyncio.run(story())


@pytest.mark.parametrize("due_already", [False, True])
def test_input_that_waits_behind_a_slow_fsync_is_heard_before_the_timer(
    due_already: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline passes while the process is held up; so does what would have calmed it arrive.

    `due_already`: the timer's callback is queued behind the fsync, in the same turn of the loop.
    """

    clock = StoppedClock()
    monkeypatch.setattr("node.server.shell.read_clocks", clock.read)

    async def story() -> list[str]:
        async with world() as at:
            (_, slow), (calm_in, calm) = await at.connect(), await at.connect()

            def during_flush() -> None:
                clock.pass_by(200_000_000)
                os.write(calm.get_extra_info("socket").fileno(), with_size(b"calm"))

            with clock.of_the_running_loop():
                at.core.deadline_ns = clock.mono_ns + 50_000_000
                await ask(at, b"echo")  # the shell looks at the deadline again
                at.log.during_flush = during_flush
                slow.write(with_size(b"append"))
                if due_already:
                    asyncio.get_running_loop().call_soon(clock.pass_by, 60_000_000)
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


def test_what_is_due_by_the_end_of_a_turn_waits_for_one_look_at_the_sockets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So do writes that are to be appended: whoever asks waits for each look."""

    async def story() -> list[str]:
        async with world() as at:
            selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
            select = selector.select

            def look(timeout: float | None) -> object:
                at.account.append("look")
                return select(timeout)

            at.core.deadline_ns = 0
            monkeypatch.setattr(selector, "select", look)
            await ask(at, b"echo")
            await until(lambda: "step TimeoutElapsed" in at.account)
            return at.account

    account = asyncio.run(story())
    began = account.index("step FrameReceived")
    assert account[began : account.index("step TimeoutElapsed")].count("look") == 1


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
            writer.write(with_size(b"echo"))
            await frame_from(reader)  # from now on it is read
            writer.write(with_size(b"silence"))
            big = with_size(b"x" * 100_000)
            assert await sent_until_full(writer, big) < 500
            (silent,) = at.connections.all()
            assert 0 < silent.arrived_bytes <= 2 * SMALL_BYTES
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
            answer = PeerFrameReceived(channel=CHANNEL, frame=b"answer")
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
            await until(lambda: PeerDisconnected(channel=CHANNEL) in at.core.events)
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
            await until(lambda: PeerDisconnected(channel=CHANNEL) in at.core.events)

    asyncio.run(story())


def test_who_calls_as_the_node_ends_is_no_failure_of_it() -> None:
    """asyncio has the connection accepted for a task that is cancelled in the same turn."""

    async def story() -> list[str]:
        loop, failures = asyncio.get_running_loop(), list[str]()
        loop.set_exception_handler(lambda _, context: failures.append(str(context)))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            taken = accepted_from(listening, "CONTROLLER")
            task = loop.create_task(take(taken))
            await asyncio.sleep(0)  # it waits for callers
            with socket.create_connection(listening.getsockname()):
                loop.call_soon(close, "1", [task], [listening])  # before whoever calls is seen
                await asyncio.wait([task])
        return failures

    async def take(accepted: AsyncIterator[object]) -> None:
        async for _ in accepted:
            raise AssertionError("the node has ended")

    assert asyncio.run(story()) == []


def test_a_node_that_is_done_as_its_patience_ends_stops_once() -> None:
    async def story() -> Stop:
        stopped: asyncio.Future[Stop] = asyncio.get_running_loop().create_future()
        for reason in ("shutdown", "leadership not handed over in 5 s"):
            end(stopped, Stop(code=0, reason=reason))
        return await stopped

    assert asyncio.run(story()).reason == "shutdown"
