"""Real answers, damaged on their way to a client: at every byte, or now and then under a load."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from workloads.connection import Connection, Driver, Response
from workloads.wire.flexible import MalformedResponseError
from workloads.wire.header import Api

Read = Callable[[bytes], Any]
_OF_AN_API = 6  # answers kept, those first that are unlike in length
_LARGEST = 1500  # bytes: each is damaged at every one of them, and read again


@dataclass
class TappedDriver:
    """A driver whose answers pass through `pass_on` before they are read."""

    driver: Driver
    pass_on: Callable[[Api, bytes, Read], bytes]

    @property
    def nodes(self) -> tuple[int, ...]:
        return self.driver.nodes

    async def connect(self, node: int, timeout_s: float) -> Connection:
        return _TappedConnection(await self.driver.connect(node, timeout_s), self.pass_on)


@dataclass
class _TappedConnection:
    connection: Connection
    pass_on: Callable[[Api, bytes, Read], bytes]

    @property
    def closed(self) -> bool:
        return self.connection.closed

    async def send(
        self, api: Api, body: bytes, timeout_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        return await self.connection.send(
            api, body, timeout_s, lambda answer: read(self.pass_on(api, answer, read))
        )

    async def tell(self, api: Api, body: bytes, timeout_s: float) -> None:
        await self.connection.tell(api, body, timeout_s)

    def close(self) -> None:
        self.connection.close()


@dataclass
class Keeper:
    """Passes answers on as they are, and keeps some of each API with what reads them."""

    kept: dict[Api, dict[int, tuple[bytes, Read]]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def pass_on(self, api: Api, answer: bytes, read: Read) -> bytes:
        if len(self.kept[api]) < _OF_AN_API and len(answer) <= _LARGEST:
            self.kept[api].setdefault(len(answer), (answer, read))
        return answer


@dataclass
class Garbler:
    """Damages a share of all answers."""

    rng: random.Random
    share: float
    damaged: int = 0

    def pass_on(self, api: Api, answer: bytes, read: Read) -> bytes:
        del api, read
        if not answer or self.rng.random() >= self.share:
            return answer
        self.damaged += 1
        at = self.rng.randrange(len(answer))
        match self.rng.randrange(3):
            case 0:
                return answer[:at]
            case 1:
                return answer[:at] + self.rng.randbytes(1) + answer[at + 1 :]
            case _:
                return answer[:at] + self.rng.randbytes(8) + answer[at + 8 :]


def damaged(answer: bytes) -> Iterator[bytes]:
    """Cut at every byte, and with every byte lost, doubled, and changed in several ways."""
    for at in range(len(answer)):
        yield answer[:at]
        yield answer[:at] + answer[at + 1 :]
        yield answer[: at + 1] + answer[at:]
        changed = {0x00, 0x01, 0x7F, 0x80, 0xFF, answer[at] ^ 0x01, answer[at] ^ 0x80}
        for byte in sorted(changed - {answer[at]}):
            yield answer[:at] + bytes((byte,)) + answer[at + 1 :]
    yield answer + b"\x00"
    yield answer + answer


def read_or_malformed(answer: bytes, read: Read) -> tuple[int, int]:
    """How many damaged answers were read all the same, and how many were malformed.

    Any other exception would end a client, and is let through.
    """
    legal = malformed = 0
    for each in damaged(answer):
        try:
            read(each)
        except MalformedResponseError:
            malformed += 1
        else:
            legal += 1
    return legal, malformed
