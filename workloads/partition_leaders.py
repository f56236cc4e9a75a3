"""The leaders of partitions: every broker is asked, the leader with the highest epoch counts.

A broker that is cut from the controllers answers from a stale image, and nothing in its answer says
so; the comparison of leader epochs exposes it. Where all answers are stale, the broker that they
name refuses or does not answer, and the next search begins. One search serves all clients.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workloads.connection import Driver
from workloads.leader import Survey
from workloads.wire.header import Api
from workloads.wire.topic_requests import LedPartition, metadata, read_metadata

_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


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
