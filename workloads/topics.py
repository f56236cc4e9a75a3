"""Creates and deletes topics, by the raw driver only, and records it.

A client library may report success for a topic that was never created (librdkafka does so where its
operation time-out is 0), so what is judged goes over the wire by hand. Any broker takes the request
and passes it on to the controllers; after trouble the next one is asked.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.brokers import Brokers
from workloads.connection import Driver, LostError, NotSentError
from workloads.history import CREATE_TOPIC, DELETE_TOPIC, MAIN, LogHistory
from workloads.partitions import PartitionLeaders
from workloads.wire.errors import ErrorCode, admin_outcome, error_name
from workloads.wire.fields import MalformedAnswerError
from workloads.wire.header import Api
from workloads.wire.topics import create_topic, delete_topic, read_created, read_deleted

_PAUSE_S = 0.2
_DELETED_SHARE = 0.4


class NoTopicsError(Exception):
    """The topics of a workload could not be had; the message says why and what to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicShape:
    partitions: int
    replication: int
    configs: Mapping[str, str]


class Topics:
    """One process that creates and deletes topics."""

    def __init__(
        self, driver: Driver, history: LogHistory, *, shape: TopicShape, timeout_s: float
    ) -> None:
        self._nodes = driver.nodes
        self._brokers = Brokers(driver, timeout_s)
        self._history = history
        self._shape = shape
        self._timeout_ms = int(timeout_s * 1000)
        self._process = history.new_process()
        self._turn = 0

    def close(self) -> None:
        self._brokers.close()

    async def create(self, name: str) -> int | None:
        """The answer's error code, None if there was no proper answer."""
        shape = self._shape
        body = create_topic(
            name,
            partitions=shape.partitions,
            replication=shape.replication,
            configs=shape.configs,
            timeout_ms=self._timeout_ms,
        )
        return await self._do(CREATE_TOPIC, name, Api.CREATE_TOPICS, body, read_created)

    async def delete(self, name: str) -> int | None:
        """As `create`."""
        body = delete_topic(name, timeout_ms=self._timeout_ms)
        return await self._do(DELETE_TOPIC, name, Api.DELETE_TOPICS, body, read_deleted)

    async def _do(
        self, f: str, name: str, api: Api, body: bytes, read: Callable[[bytes, str], int]
    ) -> int | None:
        node = self._nodes[self._turn % len(self._nodes)]
        self._history.invoke(self._process, f, name, None, node, MAIN)
        try:
            code = read(await self._brokers.ask(node, api, body), name)
        except NotSentError as trouble:
            return self._end(EventType.FAIL, None, str(trouble))
        except LostError as trouble:
            return self._end(EventType.INFO, None, str(trouble))
        except MalformedAnswerError as trouble:
            return self._end(EventType.INFO, None, f"malformed: {trouble}")
        return self._end(admin_outcome(code), code, error_name(code) if code else None)

    def _end(self, outcome: EventType, code: int | None, error: str | None) -> int | None:
        self._history.complete(self._process, outcome, None, error)
        if outcome is not EventType.OK:
            self._turn += 1
        if outcome is EventType.INFO:
            self._process = self._history.new_process()
        return code


async def have_topics(
    topics: Topics, leaders: PartitionLeaders, names: tuple[str, ...], within_s: float
) -> None:
    """Create these topics and wait for a leader of each partition. Raises NoTopicsError."""
    last: int | None = None
    try:
        async with asyncio.timeout(within_s):
            for name in names:
                while (last := await topics.create(name)) not in (
                    0,
                    ErrorCode.TOPIC_ALREADY_EXISTS,
                ):
                    await asyncio.sleep(_PAUSE_S)
            await leaders.look()
            while not leaders.all_known:
                await asyncio.sleep(_PAUSE_S)
                await leaders.look()
    except TimeoutError:
        answer = error_name(last) if last else "no answer" if last is None else "no leaders"
        raise NoTopicsError(
            f"topics {', '.join(names)} could not be had within {within_s:g} s ({answer}); "
            "look at the brokers' logs in logs/, and whether as many brokers run as replicas "
            "are asked for"
        ) from None


async def keep_administering(
    topics: Topics, rng: random.Random, prefix: str, rate: float, goes_on: Callable[[], bool]
) -> None:
    """Create a topic of a new name, or delete one that is there, `rate` times a second."""
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
