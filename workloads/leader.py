"""The leader of the quorum: every node is asked, the claim with the highest epoch counts.

A leader that was cut off goes on claiming to lead, in its old epoch, until it resigns; only the
comparison of epochs exposes it. One search serves all clients that wait for it.

The leaders of partitions: every broker is asked, the leader with the highest epoch counts.

A broker that is cut from the controllers answers from a stale image, and nothing in its answer says
so; the comparison of leader epochs exposes it. Where all answers are stale, the broker that they
name refuses or does not answer, and the next search begins. One search serves all clients.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from workloads.connection import Connection, Driver, LostError, NotSentError, Response
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.header import Api
from workloads.wire.topic_requests import LedPartition, metadata, read_metadata

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


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    topic: str
    partition: int

    @property
    def key(self) -> str:
        """Its name in histories."""
        return f"{self.topic}-{self.partition}"


class PartitionLeaders:
    """The last known leaders, looked up again after a client met an error with one."""

    def __init__(self, driver: Driver, partitions: Iterable[TopicPartition]) -> None:
        self._driver = driver
        self._partitions = frozenset(partitions)
        topics = tuple(sorted({partition.topic for partition in self._partitions}))
        self._survey = Survey(driver, Api.METADATA, metadata(topics), read_metadata)
        self._search: asyncio.Task[None] | None = None
        self._leaders: Mapping[TopicPartition, LedPartition] = {}

    def known(self, partition: TopicPartition) -> int | None:
        """Its leader at the last search."""
        found = self._leaders.get(partition)
        return found.leader if found is not None else None

    @property
    def all_known(self) -> bool:
        return self._leaders.keys() == self._partitions

    async def find(self, partition: TopicPartition, timeout_s: float) -> int | None:
        """Ask all brokers, at least once, until one names a leader; None if none did in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        pause = _FIRST_PAUSE_S
        while True:
            await self.look()
            if (found := self.known(partition)) is not None or loop.time() >= deadline:
                return found
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    async def look(self) -> None:
        """Ask all brokers once; a search that is already under way is shared."""
        if self._search is None or self._search.done():
            self._search = asyncio.create_task(self._search_once())
        await asyncio.shield(self._search)

    async def close(self) -> None:
        if self._search is not None:
            self._search.cancel()
            await asyncio.wait([self._search])
        self._survey.close()

    async def _search_once(self) -> None:
        responses = await self._survey.take(enough=self._names_all)
        self._leaders = newest_leaders(responses.values(), self._driver.nodes)

    def _names_all(self, response: tuple[LedPartition, ...]) -> bool:
        return sum(each.leader >= 0 for each in response) == len(self._partitions)


def newest_leaders(
    responses: Iterable[Iterable[LedPartition]], nodes: Iterable[int]
) -> dict[TopicPartition, LedPartition]:
    """Of each partition the leader with the highest epoch in any answer."""
    reachable = frozenset(nodes)
    newest: dict[TopicPartition, LedPartition] = {}
    for response in responses:
        for each in response:
            partition = TopicPartition(each.topic, each.partition)
            rival = newest.get(partition)
            if rival is None or each.epoch > rival.epoch:
                newest[partition] = each
    return {key: each for key, each in newest.items() if each.leader in reachable}
