"""Whether a process answers, asked of servers that do and do not."""

import asyncio
from collections.abc import Awaitable, Callable

from chaos.cluster.interface import Address
from chaos.cluster.probe import answers, api_versions_request

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def asked(serve: Serve) -> bool:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        answered = await answers(Address("127.0.0.1", port), timeout_s=0.5)
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        if serving:
            await asyncio.wait(serving, timeout=1.0)
    return answered


async def kafka(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    body = frame[4:8] + bytes(6)
    writer.write(len(body).to_bytes(4, "big") + body)
    writer.close()
    await writer.wait_closed()


async def proxy_before_a_dead_node(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()
    await writer.wait_closed()


def test_who_answers_answers() -> None:
    assert asyncio.run(asked(kafka))
    assert not asyncio.run(asked(proxy_before_a_dead_node))
    assert not asyncio.run(asked(silence))


def test_the_request_is_one_frame_of_api_18_version_0() -> None:
    request = api_versions_request(5)
    assert request[:4] == (len(request) - 4).to_bytes(4, "big")
    assert request[4:12] == bytes([0, 18, 0, 0, 0, 0, 0, 5])
