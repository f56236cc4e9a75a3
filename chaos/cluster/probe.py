"""The smallest question to a Kafka process, asked to learn whether it answers at all."""

import asyncio
import struct

from tenacity import AsyncRetrying, retry_if_not_result, stop_after_delay, wait_fixed

from chaos.cluster.interface import Address

API_VERSIONS = 18
CLIENT_ID = b"kraft-chaos-probe"


def api_versions_request(correlation_id: int) -> bytes:
    """An ApiVersions v0 request with its size before it; any node of any version answers one."""
    header = struct.pack(">hhih", API_VERSIONS, 0, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    return struct.pack(">i", len(header)) + header


async def answers(address: Address, timeout_s: float) -> bool:
    """Whether a process answers ApiVersions there; the proxy alone only accepts and closes."""
    correlation_id = 7
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_connection(address.host, address.port)
            try:
                writer.write(api_versions_request(correlation_id))
                head = await reader.readexactly(8)
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False
    return struct.unpack(">i", head[4:]) == (correlation_id,)


async def until_it_answers(address: Address, within_s: float) -> bool:
    """Ask again and again; False when it never answered in that time."""
    asking = AsyncRetrying(
        retry=retry_if_not_result(bool),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(0.01),
        retry_error_callback=lambda _: False,
    )
    return await asking(answers, address, timeout_s=1.0)
