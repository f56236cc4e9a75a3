"""Brokers in this process: real frames (by kio), in virtual time or on loopback sockets; partitions
held in memory.

All brokers share the logs, so nothing is ever lost unless a test says so: `on_produce` decides what
becomes of the next sends, `truncate` and `damage` what readers find.
"""

import asyncio
import io
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.serial import entity_reader, entity_writer

from tests.support.broker_answers import BrokerAnswers
from tests.support.fake_log import Ending
from tests.support.virtual_time import Listener, give_back_port, listen, take_port
from workloads.connection import ClientEntry


class FakeBrokers(BrokerAnswers):
    """A cluster of brokers, known to its clients by `entries`."""

    def __init__(self, count: int = 3) -> None:
        super().__init__(count)
        self._listeners: dict[int, Listener] = {}
        self._writers: dict[asyncio.StreamWriter, int] = {}  # and the broker that writes
        self._ports: dict[int, int] = {}

    async def __aenter__(self) -> "FakeBrokers":
        for node in range(1, self._count + 1):
            self._ports[node] = take_port(node)
            await self.start(node)
        return self

    async def __aexit__(self, *_: object) -> None:
        for node in list(self._listeners):
            self.stop(node)
        await asyncio.sleep(0)
        while self._ports:
            give_back_port(self._ports.popitem()[1])

    @property
    def entries(self) -> Mapping[int, ClientEntry]:
        return {
            node: ClientEntry(host="127.0.0.1", port=port) for node, port in self._ports.items()
        }

    async def start(self, node: int) -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers[writer] = node
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                await self._serve(node, reader, writer)
            del self._writers[writer]
            writer.close()

        self._listeners[node] = await listen(node, self._ports[node], serve)

    def stop(self, node: int) -> None:
        """Its connections break."""
        self._listeners.pop(node).close()
        for writer in [writer for writer, broker in self._writers.items() if broker == node]:
            writer.transport.abort()

    async def _serve(
        self, node: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            frame = await reader.readexactly(size)
            header, start = entity_reader(RequestHeader)(frame, 0)
            answer = self.answer(node, int(header.request_api_key), frame[start:])
            if answer is Ending.CLOSE:
                return
            if answer is Ending.SILENCE:
                continue
            body = b"\xff\xff" if isinstance(answer, Ending) else _write(answer)
            whole = _write(ResponseHeader(correlation_id=header.correlation_id)) + body
            writer.write(len(whole).to_bytes(4, "big") + whole)
            await writer.drain()


def _write(value: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()
