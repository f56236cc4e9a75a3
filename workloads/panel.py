"""One question to one node or to all of them at once, over connections that are kept."""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from workloads.connection import Connection, Driver, LostError, NotSentError
from workloads.frames import Api, MalformedAnswerError

T = TypeVar("T")


class Panel:
    """Who does not answer in time, or not in Kafka's words, has not answered."""

    def __init__(self, driver: Driver, timeout_s: float) -> None:
        self.nodes = driver.nodes
        self._driver = driver
        self._timeout_s = timeout_s
        self._connections: dict[int, Connection] = {}

    async def ask(self, node: int, api: Api, body: bytes, read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of the node's answer; None without one."""
        try:
            connection = self._connections.get(node)
            if connection is None or connection.closed:
                connection = await self._driver.connect(node, self._timeout_s)
                self._connections[node] = connection
            return read(await connection.ask(api, body, self._timeout_s))
        except (NotSentError, LostError):
            return None
        except MalformedAnswerError:
            self._connections.pop(node).close()
            return None

    async def ask_all(
        self, nodes: Iterable[int], api: Api, body: bytes, read: Callable[[bytes], T]
    ) -> dict[int, T]:
        """The answers, by node."""
        asked = list(nodes)
        found = await asyncio.gather(*(self.ask(node, api, body, read) for node in asked))
        return {node: one for node, one in zip(asked, found, strict=True) if one is not None}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
