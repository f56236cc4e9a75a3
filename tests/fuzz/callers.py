"""Clients on sockets, good and bad: who takes answers, who takes few, who takes none.

Each is given requests and returns what was said on its connections; nothing is judged meanwhile,
so that sending is all that this process does beside the nodes.
"""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from node.config import ConnectionLimits
from node.server.framing import FrameCutter, with_size
from node.wire import MalformedFrame, decode_request
from tests.fuzz.drawing import Drawn
from tests.support.quorum_processes import PATIENCE_S

MORSEL = 200  # bytes that a slow reader takes at a time
PAUSE_S = 0.005  # between two of its morsels
SMALL_BUFFER = 4096
AT_ONCE = 8  # requests that are under way on a connection of somebody who takes answers

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class NoAnswer(Exception):
    """Neither an answer nor a hang-up in time."""


@dataclass
class Exchange:
    """What was said on one connection; the answers belong to the first of what was sent."""

    sent: Sequence[Drawn]
    answers: list[bytes] = field(default_factory=list)
    hung_up: bool = False  # the node did, before all was answered

    @property
    def unanswered(self) -> Sequence[Drawn]:
        return self.sent[len(self.answers) :]


def is_readable(drawn: Drawn) -> bool:
    """Will a node read it? It hangs up on everything else."""
    if len(drawn.frame) > ConnectionLimits().request_max_bytes:
        return False
    try:
        decode_request(drawn.frame, {drawn.api.key: drawn.api})
    except MalformedFrame:
        return False
    return True


async def takes_all(port: int, requests: Sequence[Drawn], rng: Random) -> list[Exchange]:
    """After a hang-up it goes on behind the request that could not be read. Raises NoAnswer."""
    found: list[Exchange] = []
    left = requests
    while left:
        found.append(await _talk(port, left, rng))
        behind = found[-1].unanswered
        skipped = next((at for at, each in enumerate(behind) if not is_readable(each)), len(behind))
        left = behind[skipped + 1 :]
    return found


async def _talk(port: int, requests: Sequence[Drawn], rng: Random) -> Exchange:
    """Until all is answered, or the node hangs up."""
    reader, writer = await _connect(port)
    sending = asyncio.Semaphore(rng.randint(1, AT_ONCE))
    exchange, cutter = Exchange(requests), FrameCutter()
    sender = asyncio.create_task(_send(writer, requests, sending, rng))
    try:
        while len(exchange.answers) < len(requests):
            async with asyncio.timeout(PATIENCE_S):
                data = await reader.read(1 << 16)
            if not data:
                exchange.hung_up = True
                break
            answers = cutter.cut(data)
            exchange.answers += answers
            for _ in answers:
                sending.release()
    except ConnectionError:
        exchange.hung_up = True
    except TimeoutError:
        raise NoAnswer(f"{exchange.unanswered[0].name} was not answered") from None
    finally:
        sender.cancel()
        writer.transport.abort()
    return exchange


async def _send(
    writer: asyncio.StreamWriter, requests: Sequence[Drawn], allowed: asyncio.Semaphore, rng: Random
) -> None:
    """Cut anywhere; an end is the reader's to notice."""
    for drawn in requests:
        await allowed.acquire()
        data = with_size(drawn.frame)
        cut = rng.randrange(len(data))
        for part in (data[:cut], data[cut:]):
            if writer.transport.is_closing():
                return
            with suppress(ConnectionError):
                writer.write(part)
                await writer.drain()


async def takes_little(port: int, requests: Sequence[Drawn], end: asyncio.Event) -> Exchange:
    """A few bytes of answers at a time, with everything sent at once; and then hangs up."""
    reader, writer = await _connect(port, SMALL_BUFFER)
    exchange, cutter = Exchange(requests), FrameCutter()
    writer.write(b"".join(with_size(drawn.frame) for drawn in requests))
    with suppress(ConnectionError):
        while not end.is_set() and (data := await _morsel(reader, end)):
            exchange.answers += cutter.cut(data)
            await asyncio.sleep(PAUSE_S)
    writer.transport.abort()
    return exchange


async def _morsel(reader: asyncio.StreamReader, end: asyncio.Event) -> bytes:
    """Nothing after a hang-up, or at the end."""
    reading, ending = asyncio.create_task(reader.read(MORSEL)), asyncio.create_task(end.wait())
    done, others = await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
    for other in others:
        other.cancel()
    return reading.result() if reading in done else b""


async def takes_nothing(port: int, requests: Sequence[Drawn], end: asyncio.Event) -> None:
    """Sends all the same; and nothing at all where there is nothing to send."""
    _, writer = await _connect(port, SMALL_BUFFER)
    transport = writer.transport
    assert isinstance(transport, asyncio.ReadTransport)
    transport.pause_reading()
    writer.write(b"".join(with_size(drawn.frame) for drawn in requests))
    await end.wait()
    transport.abort()


async def breaks_off(port: int, requests: Sequence[Drawn], rng: Random) -> None:
    """Each request on a connection of its own, which ends within it."""
    for drawn in requests:
        _, writer = await _connect(port)
        data = with_size(drawn.frame)
        writer.write(data[: rng.randrange(1, len(data))])
        with suppress(ConnectionError):
            await writer.drain()
        if rng.random() < 0.5:
            writer.transport.abort()
        else:
            writer.close()


async def _connect(port: int, buffer: int | None = None) -> Stream:
    """Small buffers of the kernel make a node feel sooner that nobody takes its answers."""
    connection = socket.socket()
    connection.setblocking(False)
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    return await asyncio.open_connection(sock=connection)
