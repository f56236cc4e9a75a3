"""Creates and deletes topics, one after another, and records each request.

Topics by the raw driver: any broker forwards the request to the controllers; after an error the
next one is asked.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from checkers.history.asked import TopicShape
from checkers.history.events import EventType
from workloads.clients.library import TopicClient, TopicResult
from workloads.connection import Brokers, Driver, LostError, NotSentError
from workloads.leader import PartitionLeaders
from workloads.operation_history import CREATE_TOPIC, DELETE_TOPIC, MAIN, LogHistory, Tally
from workloads.wire.error_codes import ErrorCode, admin_outcome, error_name
from workloads.wire.header import Api
from workloads.wire.topic_requests import create_topic, delete_topic, read_created, read_deleted

_PAUSE_S = 0.2
_THERE = (0, ErrorCode.TOPIC_ALREADY_EXISTS)
_DELETED_SHARE = 0.4


class NoTopicsError(Exception):
    """The topics of a workload could not be created; the message says why and what to look at."""


class Topics:
    """One process that creates and deletes topics."""

    def __init__(
        self, client: TopicClient, history: LogHistory, shape: TopicShape, tally: Tally
    ) -> None:
        self._client = client
        self._history = history
        self._shape = shape
        self._tally = tally
        self._process = history.new_process()

    async def close(self) -> None:
        await self._client.close()

    async def create(self, name: str, shape: TopicShape | None = None) -> int | None:
        """The answer's error code, None if there was no proper answer."""
        wanted = shape or self._shape
        return await self._do(CREATE_TOPIC, name, lambda: self._client.create(name, wanted))

    async def delete(self, name: str) -> int | None:
        """As `create`."""
        return await self._do(DELETE_TOPIC, name, lambda: self._client.delete(name))

    async def _do(
        self, f: str, name: str, attempt: Callable[[], Awaitable[TopicResult]]
    ) -> int | None:
        self._history.invoke(self._process, f, name, None, self._client.aim(), MAIN)
        self._tally.invoke()
        told = await attempt()
        self._tally.complete(told.outcome)
        self._history.complete(self._process, told.outcome, None, told.error)
        if told.outcome is EventType.INFO:
            self._process = self._history.new_process()
        return told.code


async def have_topics(
    topics: Topics,
    leaders: PartitionLeaders,
    names: tuple[str, ...],
    within_s: float,
    *,
    others: Mapping[str, TopicShape] = MappingProxyType({}),
) -> None:
    """Create these topics, before them `others`, and wait for a leader of each partition that
    `leaders` is asked about. Raises NoTopicsError.
    """
    names = (*others, *names)
    last: int | None = None
    try:
        async with asyncio.timeout(within_s):
            for name in names:
                while (last := await topics.create(name, others.get(name))) not in _THERE:
                    await asyncio.sleep(_PAUSE_S)
            await leaders.look()
            while not leaders.all_known:
                await asyncio.sleep(_PAUSE_S)
                await leaders.look()
    except TimeoutError:
        outcome = error_name(last) if last else "no answer" if last is None else "no leaders"
        raise NoTopicsError(
            f"topics {', '.join(names)} were not created within {within_s:g} s ({outcome}); look "
            "at the brokers' logs in logs/, and check that at least as many brokers run as a "
            "topic has replicas"
        ) from None


async def until_created(topics: Topics, name: str, within_s: float) -> None:
    """Raises NoTopicsError."""
    try:
        async with asyncio.timeout(within_s):
            while await topics.create(name) not in _THERE:
                await asyncio.sleep(_PAUSE_S)
    except TimeoutError:
        raise NoTopicsError(f"topic {name} was not created within {within_s:g} s") from None


async def keep_administering(
    topics: Topics, rng: random.Random, prefix: str, rate: float, goes_on: Callable[[], bool]
) -> None:
    """Create a topic with a new name, or delete an existing one, `rate` times a second."""
    there: list[str] = []
    created = 0
    while goes_on():
        if there and rng.random() < _DELETED_SHARE:
            await topics.delete(there.pop(rng.randrange(len(there))))
        else:
            name = f"{prefix}-{created}"
            created += 1
            if await topics.create(name) == 0:
                there.append(name)
        await asyncio.sleep(rng.expovariate(rate))


class RawTopicClient:
    """Implements `TopicClient`."""

    def __init__(self, driver: Driver, timeout_s: float) -> None:
        self._nodes = driver.nodes
        self._brokers = Brokers(driver, timeout_s)
        self._timeout_ms = int(timeout_s * 1000)
        self._turn = 0

    def aim(self) -> int:
        return self._nodes[self._turn % len(self._nodes)]

    async def create(self, name: str, shape: TopicShape) -> TopicResult:
        body = create_topic(
            name,
            partitions=shape.partitions,
            replication=shape.replication,
            configs=shape.configs,
            timeout_ms=self._timeout_ms,
        )
        return self._end(await self._send(name, Api.CREATE_TOPICS, body, read_created))

    async def delete(self, name: str) -> TopicResult:
        body = delete_topic(name, timeout_ms=self._timeout_ms)
        return self._end(await self._send(name, Api.DELETE_TOPICS, body, read_deleted))

    async def close(self) -> None:
        self._brokers.close()

    async def _send(
        self, name: str, api: Api, body: bytes, read: Callable[[bytes, str], int]
    ) -> TopicResult:
        try:
            code = await self._brokers.send(
                self.aim(), api, body, lambda response: read(response, name)
            )
        except NotSentError as trouble:
            return TopicResult(outcome=EventType.FAIL, error=str(trouble))
        except LostError as trouble:
            return TopicResult(outcome=EventType.INFO, error=str(trouble))
        error = error_name(code) if code else None
        return TopicResult(outcome=admin_outcome(code), code=code, error=error)

    def _end(self, told: TopicResult) -> TopicResult:
        if told.outcome is not EventType.OK:
            self._turn += 1
        return told
