"""Connections that come, stay, send and take as no client does, and floods of what is answered.

Each attack takes the ports of brokers and of controllers, and returns when it is over. Whoever is
hung up on meanwhile may be: these are no clients that behave.
"""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, islice

from node.server.framing import with_size
from tests.fuzz.attacks.odd import TOPIC, WIDE
from tests.fuzz.attacks.raw import (
    MOST_32,
    Stream,
    answer,
    array,
    ask,
    batch,
    connect,
    fetch,
    i32,
    i64,
    join,
    metadata,
    produce,
    record,
    request,
    text,
)

AT_ONCE = 50  # requests of a flood that are under way on a connection
LINGER_NOT = struct.pack("ii", 1, 0)  # a close is a reset
MB = 1_000_000


@dataclass(frozen=True)
class Ports:
    brokers: Sequence[int]
    outer: Sequence[int]  # of controllers, for others than controllers and brokers

    @property
    def all(self) -> Sequence[int]:
        return [*self.brokers, *self.outer]


Attack = Callable[[Ports], Awaitable[None]]


async def many(ports: Sequence[int], count: int, buffer: int | None = None) -> list[Stream]:
    return [await connect(port, buffer) for port in islice(cycle(ports), count)]


def leave(streams: Sequence[Stream]) -> None:
    for _, writer in streams:
        writer.transport.abort()


async def write(stream: Stream, data: bytes, seconds: float = 10.0) -> None:
    """As much as is taken in that time."""
    stream[1].write(data)
    with suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(seconds):
            await stream[1].drain()


async def flood(port: int, frames: Sequence[bytes]) -> None:
    """All of them over one connection, pipelined; until it is hung up on."""
    stream = await connect(port)
    try:
        for first in range(0, len(frames), AT_ONCE):
            some = frames[first : first + AT_ONCE]
            stream[1].write(b"".join(map(with_size, some)))
            for _ in some:
                if await answer(stream) is None:
                    return
    finally:
        leave([stream])


# --- connections ---


async def silent_crowd(ports: Ports) -> None:
    """More than a node takes: those that were silent longest make room."""
    leave(await many(ports.all, 3000))


async def slow_senders(ports: Ports) -> None:
    """900 that send a frame of a megabyte, a byte at a time."""
    streams = await many(ports.brokers, 900)
    for _, writer in streams:
        writer.write(i32(MB))
    for _ in range(10):
        for _, writer in streams:
            writer.write(b"\0")
        await asyncio.sleep(0.5)
    leave(streams)


async def resets(ports: Ports) -> None:
    """2,000 that are reset at once, half of them amid a request."""
    half = with_size(metadata(TOPIC))[:10]
    for number, port in enumerate(islice(cycle(ports.all), 2000)):
        reader, writer = await connect(port)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        if number % 2:
            writer.write(half)
        writer.transport.abort()
        del reader


async def resets_amid_waiting(ports: Ports) -> None:
    """2,000 that ask for what takes a while, and are gone before it is there."""
    asked = (
        fetch(TOPIC, [(0, 0, 10)], wait_ms=30_000, least=1 << 30),
        produce(TOPIC, 0, batch(), acks=-1),
        join("resets"),
        metadata(TOPIC),
    )
    for port, frame in islice(zip(cycle(ports.brokers), cycle(asked), strict=False), 2000):
        _, writer = await connect(port)
        writer.write(with_size(frame))
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        writer.transport.abort()


async def unread_pipelines(ports: Ports) -> None:
    """50 that each send 20,000 requests at once, read nothing, and go."""
    streams = await many(ports.brokers[:1], 50, buffer=4096)
    pipeline = with_size(metadata(TOPIC)) * 20_000
    await asyncio.gather(*(write(stream, pipeline) for stream in streams))
    leave(streams)


async def large_parts(ports: Ports) -> None:
    """200 that each send a megabyte, and not its last byte: more than there is room for."""
    streams = await many(ports.brokers, 200)
    await asyncio.gather(*(write(stream, with_size(bytes(MB))[:-1], 3.0) for stream in streams))
    leave(streams)


async def sizes(ports: Ports) -> None:
    """Sizes that no request has, and what other protocols begin with."""
    tls = b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"a" * 300
    others = (tls, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"SSH-2.0-x\r\n")
    for port in ports.all:
        for data in (*map(i32, (0, -1, MOST_32, 104_857_601)), *others):
            stream = await connect(port)
            stream[1].write(data)
            assert await answer(stream) is None, data
            leave([stream])


async def untaken_answers(ports: Ports) -> None:
    """40 that ask for all that there is, and take nothing."""
    await fill(ports)
    streams = await many(ports.brokers, 40, buffer=4096)
    frame = with_size(fetch(TOPIC, [(index, 0, 55 << 20) for index in range(3)]))
    for _, writer in streams:
        writer.write(frame)
    await asyncio.sleep(3)
    leave(streams)


async def slow_takers(ports: Ports) -> None:
    """60 that take a hundred bytes now and then."""
    await fill(ports)
    streams = await many(ports.brokers, 60, buffer=4096)
    frame = with_size(fetch(TOPIC, [(index, 0, 55 << 20) for index in range(3)]))
    for _, writer in streams:
        writer.write(frame)
    for _ in range(10):
        for reader, _ in streams:
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(0.01):
                    await reader.read(100)
        await asyncio.sleep(0.3)
    leave(streams)


async def fill(ports: Ports) -> None:
    """30 MB, to whoever leads."""
    large = batch(record(bytes(900_000)))
    for port in ports.brokers:
        await asyncio.gather(
            *(flood(port, [produce(TOPIC, index, large)] * 10) for index in range(3))
        )


async def interleaved(ports: Ports) -> None:
    """30 that send a megabyte each, ten kilobytes at a time in turn."""
    frame = with_size(produce(TOPIC, 0, batch(record(bytes(900_000)))))
    streams = await many(ports.brokers, 30)
    for at in range(0, len(frame), 10_000):
        for stream in streams:
            await write(stream, frame[at : at + 10_000])
    for stream in streams:
        assert await answer(stream) is not None
    leave(streams)


async def largest_requests(ports: Ports) -> None:
    """To each broker two requests of 54 MB at once: more than there is room for."""
    large = batch(record(bytes(900_000)))
    partitions = array([i32(index % 3) + i32(len(large)) + large for index in range(60)])
    head = text(None) + b"\0\1" + i32(2000)
    frame = request(0, 7, head + array([text(TOPIC) + partitions]))
    await asyncio.gather(*(ask(port, frame) for port in [*ports.brokers] * 2))


async def churn(ports: Ports) -> None:
    """Eight that connect, ask, and leave, 500 times each."""

    async def come_and_go(port: int) -> None:
        for _ in range(500):
            await ask(port, request(18, 0, b""))

    await asyncio.gather(*(come_and_go(port) for port in islice(cycle(ports.all), 8)))


async def waiting_for_ever(ports: Ports) -> None:
    """900 Fetches that wait for more than will ever be there."""
    streams = await many(ports.brokers, 900)
    frame = with_size(fetch(TOPIC, [(0, 0, 1)], wait_ms=MOST_32, least=MOST_32))
    for _, writer in streams:
        writer.write(frame)
    await asyncio.sleep(2)
    leave(streams)


# --- floods ---


async def producers(ports: Ports) -> None:
    """10,000 producers, each of which is remembered."""
    frames = [produce(TOPIC, 0, batch(producer=(10**6 + number, 0, 0))) for number in range(10_000)]
    await asyncio.gather(*(flood(port, frames[at::3]) for at, port in enumerate(ports.brokers)))


async def members(ports: Ports) -> None:
    """2,000 ids of members that nobody takes up, in one group, and as many groups."""
    frames = [join("flood", version=5) for _ in range(2000)]
    frames += [join(f"flood-{number}", version=5) for number in range(2000)]
    await asyncio.gather(*(flood(port, frames) for port in ports.brokers))


async def thousand_members(ports: Ports) -> None:
    """1,000 join one group, and none of them ever syncs."""
    streams = await many(ports.brokers, 900)
    for _, writer in streams:
        writer.write(with_size(join("thousand", metadata=bytes(300), session_ms=6000)))
    await asyncio.sleep(3)
    leave(streams)


async def commits(ports: Ports) -> None:
    """Offsets of 500 groups, each committed by nobody's member."""

    def commit(group: str) -> bytes:
        row = i32(0) + i64(1) + text("x" * 1000)
        body = text(group) + i32(-1) + text("") + array([text(TOPIC) + array([row])])
        return request(8, 5, body)

    frames = [commit(f"commits-{number}") for number in range(500)]
    await asyncio.gather(*(flood(port, frames) for port in ports.brokers))


async def widest(ports: Ports) -> None:
    """The widest requests of some kinds from 20 connections at once."""
    rows = array(i32(index % 3) + i64(1) for index in range(WIDE))
    frames = [
        request(2, 1, i32(-1) + array([text(TOPIC) + rows])),
        fetch(TOPIC, [(index % 3, 0, 1) for index in range(WIDE)]),
        request(15, 2, array(text(f"g{number}") for number in range(WIDE))),
        metadata(*[TOPIC] * WIDE),
    ]
    await asyncio.gather(*(flood(port, frames * 3) for port in islice(cycle(ports.all), 20)))


ATTACKS: dict[str, Attack] = {
    each.__name__.replace("_", "-"): each
    for each in (
        *(silent_crowd, slow_senders, resets, resets_amid_waiting, unread_pipelines, large_parts),
        *(sizes, untaken_answers, slow_takers, interleaved, largest_requests, churn),
        *(waiting_for_ever, producers, members, thousand_members, commits, widest),
    )
}
