"""One request to every node at once; one connection to each, kept for the next time."""

import asyncio
from collections.abc import Callable
from typing import Generic

from workloads.connection import Connection, Driver, LostError, NotSentError, Response
from workloads.wire.header import Api

_ASK_TIMEOUT_S = 0.5
_RIVALS_S = 0.1  # how long other answers may still contradict one that is enough


class Survey(Generic[Response]):
    """A request, and how its answers are read."""

    def __init__(
        self, driver: Driver, api: Api, request: bytes, read: Callable[[bytes], Response]
    ) -> None:
        self._driver = driver
        self._api = api
        self._request = request
        self._read = read
        self._connections: dict[int, Connection] = {}

    async def take(self, enough: Callable[[Response], bool] | None = None) -> dict[int, Response]:
        """Answers by node, in the order of nodes; late ones are left out.

        Once one is `enough`, the others get only a moment.
        """
        tasks = {node: asyncio.create_task(self._send(node)) for node in self._driver.nodes}
        pending = set(tasks.values())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _ASK_TIMEOUT_S
        try:
            while pending and (left := deadline - loop.time()) > 0:
                done, pending = await asyncio.wait(
                    pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                responses = [task.result() for task in done]
                if enough and any(
                    response is not None and enough(response) for response in responses
                ):
                    deadline = min(deadline, loop.time() + _RIVALS_S)
        finally:
            for task in pending:
                task.cancel()
        told = {node: task.result() for node, task in tasks.items() if _responded(task)}
        return {node: response for node, response in told.items() if response is not None}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _send(self, node: int) -> Response | None:
        try:
            connection = self._connections.get(node)
            if connection is None or connection.closed:
                connection = await self._driver.connect(node, _ASK_TIMEOUT_S)
                self._connections[node] = connection
            return await connection.send(self._api, self._request, _ASK_TIMEOUT_S, self._read)
        except (NotSentError, LostError):
            return None


def _responded(task: asyncio.Task[Response | None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
