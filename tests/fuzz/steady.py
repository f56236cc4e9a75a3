"""A client that behaves, whose waiting is measured beside those that do not; and what it does."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

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
from tests.fuzz.drawing import Drawn, read_answer
from tests.support.quorum_processes import PATIENCE_S

REGISTER = "steady"
TICK_S = 0.01
DISK_TICK_S = 0.1


@dataclass
class Waits:
    """In seconds: of each operation, and of this process for its own timers and syncs."""

    operations: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    refusal: str = ""  # what ended it early, if something did

    @property
    def p99(self) -> float:
        """0 where nothing was done."""
        return sorted(self.operations or [0.0])[len(self.operations) * 99 // 100]

    @property
    def latest(self) -> float:
        """The machine kept a timer or a sync waiting for so long; a node's fared no better."""
        return max(self.late)


def write(value: int) -> Request:
    change = ConfigChange(name="interval.ms", operation=0, value=str(value))
    resource = ResourceChange(type=16, name=REGISTER, changes=(change,))
    return AlterConfigsRequest(resources=(resource,), validate_only=False)


READ = DescribeConfigsRequest(
    resources=(ResourceQuery(type=16, name=REGISTER, keys=("interval.ms",)),)
)


class HungUp(AssertionError):
    """On a client that behaves."""


class Refused(Exception):
    """By a node that does not lead, or not any more."""


class Ask(Protocol):
    """kio's answer to a request, over a connection that must not end."""

    async def __call__(self, request: Request) -> Any: ...


class Habit(Protocol):
    """What a client does all the time: one operation after the other. Raises Refused."""

    async def __call__(self, ask: Ask) -> None: ...


class Register:
    """Writes a register and reads it."""

    def __init__(self) -> None:
        self._operations = count()
        self.value = 1000  # the last that was acknowledged
        self.tried = 1000  # the last that was sent

    async def __call__(self, ask: Ask) -> None:
        if next(self._operations) % 2:
            (result,) = (await ask(READ)).results
            if result.error_code != 0:
                raise Refused(f"a read: {result}")
            (entry,) = result.configs
            assert entry.value == str(self.value), f"read {entry.value}, wrote {self.value}"
        else:
            self.tried = self.value + 1
            (told,) = (await ask(write(self.tried))).responses
            if told.error_code != 0:
                raise Refused(f"a write: {told}")
            self.value = self.tried


class Steady:
    """One client, on one connection that must never end, until it is refused.

    `scratch` is a file on the nodes' disk, to see how long syncs take there."""

    def __init__(self, port: int, scratch: Path, habit: Habit) -> None:
        self._port = port
        self._scratch = scratch
        self._habit = habit
        self._asked = 0

    async def work(self, goes_on: Callable[[int], bool]) -> Waits:
        """As long as `goes_on` says so, of the number of operations that are done."""
        waits = Waits()
        watches = [
            asyncio.create_task(_watch(waits.late)),
            asyncio.create_task(_watch_disk(waits.late, self._scratch)),
        ]
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            while goes_on(len(waits.operations)):
                async with asyncio.timeout(PATIENCE_S):
                    began = time.monotonic()
                    await self._habit(partial(self._ask, reader, writer))
                    waits.operations.append(time.monotonic() - began)
        except Refused as refusal:
            waits.refusal = str(refusal)
        finally:
            for watch in watches:
                watch.cancel()
            writer.transport.abort()
        return waits

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Request
    ) -> Any:
        self._asked += 1
        header, frame = encode_request(request, correlation_id=self._asked, client_id="steady")
        writer.write(with_size(frame))
        cutter, answers = FrameCutter(), list[bytes]()
        while not answers:
            data = await reader.read(1 << 16)
            if not data:
                raise HungUp("a client that behaves was hung up on")
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


async def _watch_disk(late: list[float], scratch: Path) -> None:
    """Until cancelled."""
    with scratch.open("ab", buffering=0) as file:
        while True:
            began = time.monotonic()
            file.write(b"x")
            await asyncio.to_thread(os.fdatasync, file.fileno())
            late.append(time.monotonic() - began)
            await asyncio.sleep(DISK_TICK_S)
