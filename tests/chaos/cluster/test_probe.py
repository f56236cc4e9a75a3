"""Whether a process answers, asked of servers that do and do not."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from kio.schema.metadata.v1.request import MetadataRequest
from kio.schema.metadata.v1.response import MetadataResponse, MetadataResponseBroker
from kio.schema.types import BrokerId
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32

from chaos.cluster.interface import Address
from chaos.cluster.probe import answers, api_versions_request, brokers_known, until_it_knows
from tests.support.virtual_time import in_virtual_time, listen, take_port

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def asked(serve: Serve) -> bool:
    return await asking(serve, lambda address: answers(address, timeout_s=0.5))


async def asking(serve: Serve, ask: Callable[[Address], Awaitable[T]]) -> T:
    port = take_port(1)
    listener = await listen(1, port, serve)
    answered = await ask(Address("127.0.0.1", port))
    serving = asyncio.all_tasks() - {asyncio.current_task()}
    if serving:
        await asyncio.wait(serving, timeout=1.0)
    listener.close()
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
    assert in_virtual_time(asked(kafka))
    assert not in_virtual_time(asked(proxy_before_a_dead_node))
    assert not in_virtual_time(asked(silence))


def test_the_request_is_one_frame_of_api_18_version_0() -> None:
    request = api_versions_request(5)
    assert request[:4] == (len(request) - 4).to_bytes(4, "big")
    assert request[4:12] == bytes([0, 18, 0, 0, 0, 0, 0, 5])


def broker_that_knows(brokers: Sequence[int]) -> Serve:
    """Its question and answer read and written by kio."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        assert frame[:4] == bytes([0, 3, 0, 1])
        body = 10 + int.from_bytes(frame[8:10], "big")
        question, _ = entity_reader(MetadataRequest)(frame, body)
        assert question.topics == ()
        answer = MetadataResponse(
            brokers=tuple(
                MetadataResponseBroker(
                    node_id=BrokerId(node), host=f"node-{node}", port=i32(9100), rack=rack
                )
                for node, rack in zip(brokers, ("here", None, ""), strict=False)
            ),
            controller_id=BrokerId(brokers[0]),
            topics=(),
        )
        buffer = io.BytesIO(frame[4:8])
        buffer.seek(4)
        entity_writer(MetadataResponse)(buffer, answer)
        data = buffer.getvalue()
        writer.write(len(data).to_bytes(4, "big") + data)
        writer.close()
        await writer.wait_closed()

    return serve


def test_a_broker_tells_of_those_that_it_knows() -> None:
    three = broker_that_knows([1, 2, 3])
    assert in_virtual_time(asking(three, lambda at: brokers_known(at, 10.0))) == {1, 2, 3}
    assert in_virtual_time(asking(silence, lambda at: brokers_known(at, 0.1))) == frozenset()


def test_a_broker_is_asked_until_it_knows_all() -> None:
    def enough(at: Address) -> Awaitable[bool]:
        return until_it_knows(at, frozenset({1, 2}), 0.5)

    assert in_virtual_time(asking(broker_that_knows([1, 2, 3]), enough))
    assert not in_virtual_time(asking(broker_that_knows([1, 3]), enough))
