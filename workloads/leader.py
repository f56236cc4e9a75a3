"""The leader of the quorum: every node is asked, the claim with the highest epoch counts.

A leader that was cut off goes on claiming to lead, in its old epoch, until it resigns; only the
comparison of epochs exposes it. One search serves all clients that wait for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from workloads.connection import Connection, Driver, LostError, NotSentError, Response
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.header import Api

# One request to every node at once; one connection to each, kept for the next time.


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


_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    node: int
    epoch: int


class LeaderFinder:
    """The last known leader, looked up again after a client met an error with it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._survey = Survey(driver, Api.DESCRIBE_QUORUM, describe_quorum(), read_quorum_response)
        self._search: asyncio.Task[Leader | None] | None = None
        self.current: Leader | None = None

    async def find(self, timeout_s: float) -> Leader | None:
        """Ask all nodes until one claims to lead; None if none did within the time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        pause = _FIRST_PAUSE_S
        while (found := await self._shared_search()) is None and loop.time() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return found

    async def claims(self) -> dict[int, LeaderClaim]:
        """The current answers, by node."""
        return await self._survey.take()

    async def close(self) -> None:
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait([self._search])
        self._survey.close()

    async def _shared_search(self) -> Leader | None:
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(self._search_once())
        return await asyncio.shield(self._search)

    async def _search_once(self) -> Leader | None:
        claims = await self._survey.take(enough=_leads)
        self.current = newest_leader(claims, self._driver.nodes)
        return self.current


def newest_leader(claims: dict[int, LeaderClaim], nodes: Sequence[int]) -> Leader | None:
    """The leader of the highest epoch that any node claims to lead."""
    leaders = [
        Leader(node=claim.leader, epoch=claim.epoch)
        for claim in claims.values()
        if claim.leader in nodes and claim.leader is not None
    ]
    return max(leaders, key=lambda leader: (leader.epoch, leader.node), default=None)


def _leads(claim: LeaderClaim) -> bool:
    return claim.leader is not None
