"""The smallest requests to a Kafka process: whether it answers, which brokers it knows."""

import asyncio
import struct
from collections.abc import Awaitable, Callable

from tenacity import AsyncRetrying, retry_if_not_result, stop_after_delay, wait_fixed

from chaos.cluster.interface import Address

API_VERSIONS = 18
METADATA = 3
CLIENT_ID = b"kraft-chaos-probe"
CORRELATION_ID = 7
LARGEST_ANSWER = 1 << 16


def api_versions_request(correlation_id: int) -> bytes:
    """An ApiVersions v0 request with its size before it; any node of any version answers one."""
    return _frame(API_VERSIONS, 0, correlation_id, b"")


async def answers(address: Address, timeout_s: float) -> bool:
    """Whether a process answers ApiVersions there; the proxy alone only accepts and closes."""
    return await _ask(address, api_versions_request(CORRELATION_ID), timeout_s) is not None


async def brokers_known(address: Address, timeout_s: float) -> frozenset[int]:
    """The brokers that a broker tells clients of, none fenced; empty when it does not answer.

    Metadata v1 about no topic: a broker is listed by what the asked one has read of the metadata.
    """
    request = _frame(METADATA, 1, CORRELATION_ID, struct.pack(">i", 0))
    answer = await _ask(address, request, timeout_s)
    return frozenset(_broker_ids(answer)) if answer is not None else frozenset()


async def until_it_answers(address: Address, within_s: float) -> bool:
    """Ask again and again; False when it never answered in that time."""

    async def look() -> bool:
        return await answers(address, timeout_s=1.0)

    return await _until(look, within_s)


async def until_it_knows(address: Address, brokers: frozenset[int], within_s: float) -> bool:
    """Ask a broker until it tells of all these; False when it never did in that time."""

    async def look() -> bool:
        return brokers <= await brokers_known(address, timeout_s=1.0)

    return await _until(look, within_s)


def _frame(api: int, version: int, correlation_id: int, body: bytes) -> bytes:
    """A request of a version without tagged fields, with its size before it."""
    header = struct.pack(">hhih", api, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header) + len(body)) + header + body


async def _ask(address: Address, request: bytes, timeout_s: float) -> bytes | None:
    """The answer behind its correlation id; None where there is none."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(request)
                size, correlation_id = struct.unpack(">ii", await reader.readexactly(8))
                if correlation_id != CORRELATION_ID or not 4 <= size <= LARGEST_ANSWER:
                    return None
                return await reader.readexactly(size - 4)
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return None


def _broker_ids(answer: bytes) -> list[int]:
    """Of a Metadata v1 answer, which begins with the brokers: id, host, port, rack."""
    (count,) = struct.unpack_from(">i", answer)
    position, found = 4, []
    for _ in range(count):
        node, host = struct.unpack_from(">ih", answer, position)
        position += 6 + host + 4
        (rack,) = struct.unpack_from(">h", answer, position)
        position += 2 + max(rack, 0)
        found.append(node)
    return found


async def _until(look: Callable[[], Awaitable[bool]], within_s: float) -> bool:
    asking = AsyncRetrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.01),
        retry_error_callback=lambda _: False,
    )
    return await asking(look)
