"""One question to every node at once; one connection a node, kept for the next time."""

import asyncio
from collections.abc import Callable
from typing import Generic

from workloads.connection import Answer, Connection, Driver, LostError, NotSentError
from workloads.wire.header import Api

_ASK_TIMEOUT_S = 0.5
_RIVALS_S = 0.1  # how long others may still contradict an answer that says enough


class Survey(Generic[Answer]):
    """A question, and how its answers are read."""

    def __init__(
        self, driver: Driver, api: Api, question: bytes, read: Callable[[bytes], Answer]
    ) -> None:
        self._driver = driver
        self._api = api
        self._question = question
        self._read = read
        self._connections: dict[int, Connection] = {}

    async def ask(self, enough: Callable[[Answer], bool] | None = None) -> dict[int, Answer]:
        """Answers by node, in the order of nodes; late ones are left out.

        Once one says `enough`, the others have but a moment left.
        """
        asked = {node: asyncio.create_task(self._ask(node)) for node in self._driver.nodes}
        pending = set(asked.values())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _ASK_TIMEOUT_S
        try:
            while pending and (left := deadline - loop.time()) > 0:
                done, pending = await asyncio.wait(
                    pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
                )
                answers = [task.result() for task in done]
                if enough and any(answer is not None and enough(answer) for answer in answers):
                    deadline = min(deadline, loop.time() + _RIVALS_S)
        finally:
            for task in pending:
                task.cancel()
        told = {node: task.result() for node, task in asked.items() if _answered(task)}
        return {node: answer for node, answer in told.items() if answer is not None}

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    async def _ask(self, node: int) -> Answer | None:
        try:
            connection = self._connections.get(node)
            if connection is None or connection.closed:
                connection = await self._driver.connect(node, _ASK_TIMEOUT_S)
                self._connections[node] = connection
            return await connection.ask(self._api, self._question, _ASK_TIMEOUT_S, self._read)
        except (NotSentError, LostError):
            return None


def _answered(task: asyncio.Task[Answer | None]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
