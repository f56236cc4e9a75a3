"""A client that behaves, whose waiting is measured beside those that do not."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from node.server.framing import FrameCutter, with_size
from node.wire import encode_request
from node.wire.apis import BY_REQUEST, Request
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from tests.fuzz.callers import PATIENCE_S
from tests.fuzz.drawing import Drawn, read_answer

REGISTER = "steady"
TICK_S = 0.01


@dataclass
class Waits:
    """In seconds: of each operation, and of this process for its own timers."""

    operations: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)

    @property
    def p99(self) -> float:
        return sorted(self.operations)[len(self.operations) * 99 // 100]

    @property
    def latest(self) -> float:
        """The machine kept a timer waiting for so long; a node's may have fared no better."""
        return max(self.late)


def write(value: int) -> Request:
    change = ConfigChange(name="interval.ms", operation=0, value=str(value))
    resource = ResourceChange(type=16, name=REGISTER, changes=(change,))
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


READ = DescribeConfigsRequest(
    resources=(ResourceQuery(type=16, name=REGISTER, keys=("interval.ms",)),)
)


class Steady:
    """Writes a register and reads it, on one connection that must never end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._asked = 0
        self.value = 1000  # the last that was acknowledged

    async def work(self, goes_on: Callable[[int], bool]) -> Waits:
        """As long as `goes_on` says so, of the number of operations that are done."""
        waits = Waits()
        watch = asyncio.create_task(_watch(waits.late))
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            while goes_on(len(waits.operations)):
                async with asyncio.timeout(PATIENCE_S):
                    began = time.monotonic()
                    await self._write_or_read(reader, writer)
                    waits.operations.append(time.monotonic() - began)
        finally:
            watch.cancel()
            writer.transport.abort()
        return waits

    async def _write_or_read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if self._asked % 2:
            (result,) = (await self._ask(reader, writer, READ)).results
            (entry,) = result.configs
            assert entry.value == str(self.value), f"read {entry.value}, wrote {self.value}"
        else:
            (told,) = (await self._ask(reader, writer, write(self.value + 1))).responses
            assert told.error_code == 0, f"a write was refused: {told}"
            self.value += 1

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request
    ) -> Any:
        self._asked += 1
        header, frame = encode_request(request, correlation_id=self._asked, client_id="steady")
        writer.write(with_size(frame))
        cutter, answers = FrameCutter(), list[bytes]()
        while not answers:
            data = await reader.read(1 << 16)
            assert data, "a client that behaves was hung up on"
            answers += cutter.cut(data)
        api = BY_REQUEST[type(request)]
        drawn = Drawn(api=api, version=header.api_version, correlation_id=self._asked, frame=frame)
        return read_answer(drawn, answers[0])


async def _watch(late: list[float]) -> None:
    """Until cancelled."""
    while True:
        due = time.monotonic() + TICK_S
        await asyncio.sleep(TICK_S)
        late.append(time.monotonic() - due)
