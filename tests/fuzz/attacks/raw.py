"""Requests byte by byte, as nobody's client writes them, and streams to send them over."""

import asyncio
import socket
import struct
from collections.abc import Iterable

import crc32c

from node.server.framing import with_size

PATIENCE_S = 30.0  # for an answer, or a hang-up
NOTHING = b"\0"  # no tagged fields
MOST_16, MOST_32, MOST_64 = 2**15 - 1, 2**31 - 1, 2**63 - 1
LEAST_32, LEAST_64 = -(2**31), -(2**63)

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def i8(value: int) -> bytes:
    return struct.pack(">b", value)


def i16(value: int) -> bytes:
    return struct.pack(">h", value)


def i32(value: int) -> bytes:
    return struct.pack(">i", value)


def i64(value: int) -> bytes:
    return struct.pack(">q", value)


def text(value: str | bytes | None) -> bytes:
    if value is None:
        return i16(-1)
    data = value.encode() if isinstance(value, str) else value
    return i16(len(data)) + data


def octets(value: bytes | None) -> bytes:
    return i32(-1) if value is None else i32(len(value)) + value


def array(values: Iterable[bytes] | None) -> bytes:
    if values is None:
        return i32(-1)
    found = list(values)
    return i32(len(found)) + b"".join(found)


def unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def signed(value: int) -> bytes:
    return unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def compact(value: str | bytes | None) -> bytes:
    if value is None:
        return b"\0"
    data = value.encode() if isinstance(value, str) else value
    return unsigned(len(data) + 1) + data


def compact_array(values: Iterable[bytes] | None) -> bytes:
    if values is None:
        return b"\0"
    found = list(values)
    return unsigned(len(found) + 1) + b"".join(found)


def request(
    api: int,
    version: int,
    body: bytes,
    *,
    tags: bytes | None = None,
    client: str | bytes | None = "attack",
) -> bytes:
    """A frame, without its size. `tags`: of the header, where it is a flexible one."""
    return i16(api) + i16(version) + i32(1) + text(client) + (tags or b"") + body


def record(value: bytes) -> bytes:
    body = b"\0\0\0" + signed(-1) + signed(len(value)) + value + b"\0"
    return signed(len(body)) + body


def batch(
    records: bytes | None = None,
    *,
    base: int = 0,
    magic: int = 2,
    attributes: int = 0,
    last_delta: int = 0,
    times: tuple[int, int] = (1, 1),
    producer: tuple[int, int, int] = (-1, -1, -1),
    count: int = 1,
    crc: int | None = None,
    length: int | None = None,
) -> bytes:
    """Of one record, unless told otherwise. `producer`: id, epoch, first sequence number."""
    covered = struct.pack(">hiqqqhii", attributes, last_delta, *times, *producer, count)
    covered += record(b"v") if records is None else records
    checked = crc32c.crc32c(covered) if crc is None else crc
    size = 9 + len(covered) if length is None else length
    return struct.pack(">qiibI", base, size, -1, magic, checked) + covered


def produce(topic: str, index: int, records: bytes | None, acks: int = 1, ms: int = 2000) -> bytes:
    partition = i32(index) + octets(records)
    body = text(None) + i16(acks) + i32(ms) + array([text(topic) + array([partition])])
    return request(0, 7, body)


def fetch(
    topic: str,
    offsets: Iterable[tuple[int, int, int]],
    *,
    replica: int = -1,
    wait_ms: int = 0,
    least: int = 0,
    most: int = 50 << 20,
    session: tuple[int, int] = (0, -1),
) -> bytes:
    """`offsets`: partition, offset, and the most bytes of it."""
    partitions = [
        i32(index) + i32(-1) + i64(offset) + i64(-1) + i32(size) for index, offset, size in offsets
    ]
    body = i32(replica) + i32(wait_ms) + i32(least) + i32(most) + i8(0)
    body += i32(session[0]) + i32(session[1])
    return request(1, 11, body + array([text(topic) + array(partitions)]) + array([]) + text(""))


def join(
    group: str, *, metadata: bytes = b"m", session_ms: int = 10_000, version: int = 3
) -> bytes:
    body = text(group) + i32(session_ms) + i32(1000) + text("")
    body += text(None) if version >= 5 else b""
    protocols = array([text("range") + octets(metadata)])
    return request(11, version, body + text("consumer") + protocols)


def metadata(*topics: str) -> bytes:
    return request(3, 1, array(text(each) for each in topics))


async def connect(port: int, buffer: int | None = None) -> Stream:
    """`buffer`: bytes that the kernel keeps for us of what nobody takes."""
    made = socket.socket()
    made.setblocking(False)
    if buffer is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
    return await asyncio.open_connection(sock=made)


async def answer(stream: Stream) -> bytes | None:
    """The next one; None: it hangs up."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            size = int.from_bytes(await stream[0].readexactly(4), "big")
            return await stream[0].readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


async def ask(port: int, frame: bytes) -> bytes | None:
    """On a connection of its own."""
    stream = await connect(port)
    try:
        stream[1].write(with_size(frame))
        return await answer(stream)
    finally:
        stream[1].transport.abort()
