"""A scripted core behind the real loop, sockets and pipes.

The core here answers a frame with what the frame asks for, so that a test can say in bytes which
effects there are, in which order.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from node.config import ConnectionLimits
from node.effects import (
    AppendBatches,
    CloseConnection,
    DisconnectPeer,
    Effect,
    ElectionState,
    Event,
    FlushLog,
    FrameReceived,
    LogFlushed,
    PersistElectionState,
    SendResponse,
    SendToPeer,
    Stop,
    TimeoutElapsed,
    Trace,
)
from node.ids import (
    METADATA_LOG,
    ChannelId,
    ConnectionId,
    Endpoint,
    LogPosition,
    NodeId,
    Now,
    Offset,
    ReplicaKey,
)
from node.server.framing import with_size
from node.server.listener import accept_from, bind
from node.server.metrics import Meter
from node.server.output import Notices, Outlet, TraceWriter
from node.server.peer_links import PeerLinks, TcpDial
from node.server.shell import Shell, read_clocks
from node.server.tcp import Connections

FAR_NS = 10**9 * 3600
INNER, OUTER = "CONTROLLER", "EXTERNAL"
CHANNEL = ChannelId(2)


@dataclass
class ScriptedCore:
    """Frames are words: `echo`, `append` (answered when flushed), `later`, `close`, `peer`..."""

    account: list[str]
    peer_port: int = 1
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
                return [SendResponse(connection=c, frame=b"flushed") for c in waiting]
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
                return [AppendBatches(log=METADATA_LOG, data=b"data"), FlushLog(log=METADATA_LOG)]
            case b"calm":
                self.deadline_ns = time.monotonic_ns() + FAR_NS
                return [SendResponse(connection=connection, frame=b"calm")]
            case b"vote":
                state = ElectionState()
                trace = Trace(event="c.resign", fields={"epoch": 7})
                reply = SendResponse(connection=connection, frame=b"granted")
                return [PersistElectionState(state=state), trace, reply]
            case b"close":
                return [CloseConnection(connection=connection, reason="as scripted")]
            case b"silence":
                self.waiting.append(connection)
                return []
            case b"peer":
                peer = Endpoint(name="CONTROLLER", host="127.0.0.1", port=self.peer_port)
                return [
                    SendToPeer(channel=CHANNEL, endpoint=peer, frame=b"hello"),
                    SendResponse(connection=connection, frame=b"sent"),
                ]
            case b"drop":
                return [
                    DisconnectPeer(channel=CHANNEL),
                    SendResponse(connection=connection, frame=b"dropped"),
                ]
            case b"stop":
                reply = SendResponse(connection=connection, frame=b"bye")
                return [reply, Stop(code=0, reason="asked")]
            case _:
                return [SendResponse(connection=connection, frame=frame)]


@dataclass
class FlushedLog:
    """Tells what was done to it; while it flushes, something else happens."""

    account: list[str]
    during_flush: Callable[[], object] | None = None

    def append(self, data: bytes) -> None:
        assert data
        self.account.append("append")

    def truncate(self, end: Offset) -> None:
        self.account.append(f"truncate {end}")

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None:
        self.account.append(
            f"write snapshot {id_.offset} from {position} to {position + len(data)}"
        )

    def finish_snapshot(self, id_: LogPosition) -> None:
        self.account.append(f"finish snapshot {id_.offset}")

    def delete_before_snapshot(self, snapshot: LogPosition) -> None:
        self.account.append(f"cut behind {snapshot.offset}")

    def replace(self, snapshot: LogPosition) -> None:
        self.account.append(f"replace by {snapshot.offset}")

    def flush(self) -> Offset:
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
    log: FlushedLog
    connections: Connections
    port: int
    inner_port: int
    traces: int
    stopped: "asyncio.Future[Stop]"
    told: list[str]  # to the operator
    opened: list[asyncio.StreamWriter] = field(default_factory=list)

    async def connect(
        self, *, inner: bool = False
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port = self.inner_port if inner else self.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self.opened.append(writer)
        return reader, writer


@asynccontextmanager
async def world(
    peer_port: int = 1,
    *,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (frozen)
    descriptors: Callable[[], int] = lambda: FAR_NS,
    clock: Callable[[], int] = time.monotonic_ns,
) -> AsyncIterator[World]:
    account: list[str] = []
    core, log = ScriptedCore(account, peer_port), FlushedLog(account)
    read_end, write_end = os.pipe()
    loop = asyncio.get_running_loop()
    failures: list[object] = []
    loop.set_exception_handler(lambda _, context: failures.append(context))
    stopped: asyncio.Future[Stop] = loop.create_future()
    told: list[str] = []
    shell = Shell(
        node=core,
        logs={METADATA_LOG: log},
        elections=Elections(account),
        traces=TraceWriter(
            ReplicaKey(NodeId(1)), UUID(int=1), Outlet(write_end, told.append).write
        ),
        meter=Meter(read_clocks()),
        stop=stopped.set_result,
    )
    connections = Connections(
        shell.feed, clock, loop.call_soon, limits, frozenset((INNER,)), Notices(told.append, clock)
    )
    peers = PeerLinks(shell.feed, TcpDial(1.0))
    listening, tasks = {}, []
    for name in (INNER, OUTER):
        (listening[name],) = bind(Endpoint(name=name, host="127.0.0.1", port=0))
        accepting = accept_from(listening[name], name, connections, descriptors)
        tasks.append(loop.create_task(accepting))
    shell.start(connections, peers)
    ports = {name: at.getsockname()[1] for name, at in listening.items()}
    made = World(
        account, core, log, connections, ports[OUTER], ports[INNER], read_end, stopped, told
    )
    yield made
    for writer in made.opened:
        writer.transport.abort()
    for task, at in zip(tasks, listening.values(), strict=True):
        assert not task.done()
        task.cancel()
        at.close()
    await until(lambda: len(connections) == 0)
    assert connections.held_bytes == connections.room.held_bytes == 0
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
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)
