"""Creates a topic, deletes the one before, changes the cluster's min.insync.replicas, and repeats;
every third topic is kept. At the end every broker is asked which topics it knows.

A change of min.insync.replicas empties the ELRs of all topics (KIP-966, ClearElrRecord). A last
topic, created after all of this, shows how far a broker has replayed the metadata log: a broker
that knows it has replayed the rest too.
"""

import asyncio
from collections.abc import Callable
from itertools import count

from checkers.history.asked import CONFIG_OF_ALL_BROKERS, TopicShape
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.clients.administering import Topics
from workloads.clients.raw_topics import RawTopicClient
from workloads.connection import Brokers, LostError, NotSentError
from workloads.operation_history import DESCRIBE_TOPIC, FINAL, MAIN, SET_MIN_ISR
from workloads.wire.client_metrics import Alteration, ConfigChange, alter, read_altered
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.header import Api
from workloads.wire.topic_requests import metadata, read_metadata

_PAUSE_S = 0.1
_LEFT_ALONE = 3  # every third topic is kept
_TIMEOUT_S = 5.0  # of a request that the broker forwards to the controllers
_LAST_TOPIC_WITHIN_S = 20.0
_KNOWN_WITHIN_S = 10.0  # by every broker
_CLUSTER = ""  # the resource with the configurations of all brokers
_BROKERS = 4  # its type


class DeletingTopics:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._brokers = Brokers(tools.driver, _TIMEOUT_S)
        shape = TopicShape(partitions=1, replication=tools.replication)
        client = RawTopicClient(tools.driver, _TIMEOUT_S)
        self._topics = Topics(client, tools.history, shape, tools.tally)
        self._process = tools.history.new_process()
        self._created: list[str] = []
        self._turn = 0

    async def run(self, goes_on: Callable[[], bool]) -> None:
        there: list[str] = []
        for number in count():
            if not goes_on():
                return
            name = f"{self._tools.prefix}-deleted-{number}"
            if await self._topics.create(name) == 0:
                self._created.append(name)
                there += [name] * (number % _LEFT_ALONE > 0)
            await asyncio.sleep(_PAUSE_S)
            if len(there) > 1:
                await self._topics.delete(there.pop(0))
            await self._set_min_isr(1 + number % 2)

    async def look_back(self) -> tuple[str, ...]:
        """Ask each broker for the last topic until it knows it, and then for all the others."""
        last = f"{self._tools.prefix}-last"
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _LAST_TOPIC_WITHIN_S
        while await self._topics.create(last) not in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
            if loop.time() > deadline:
                return (f"{last} could not be created",)
            await asyncio.sleep(_PAUSE_S)
        troubles = [await self._trouble_of(node, last) for node in self._tools.driver.nodes]
        return tuple(trouble for trouble in troubles if trouble)

    async def close(self) -> None:
        await self._topics.close()
        self._brokers.close()

    async def _set_min_isr(self, value: int) -> None:
        """Any broker forwards it; after an error the next one does."""
        nodes = self._tools.driver.nodes
        node = nodes[self._turn % len(nodes)]
        change = ConfigChange(name=CONFIG_OF_ALL_BROKERS[SET_MIN_ISR], value=str(value))
        body = alter([Alteration(resource=_CLUSTER, changes=(change,), type=_BROKERS)])
        self._begin(SET_MIN_ISR, "cluster", value, node, MAIN)
        try:
            (code,) = await self._brokers.send(
                node,
                Api.INCREMENTAL_ALTER_CONFIGS,
                body,
                lambda response: read_altered(response, [_CLUSTER]),
            )
            trouble = error_name(code) if code else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        self._turn += trouble is not None
        self._end(EventType.INFO if trouble else EventType.OK, value, trouble)

    async def _trouble_of(self, node: int, last: str) -> str:
        """What a broker did not answer, in words; "" where it answered all."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _KNOWN_WITHIN_S
        while not await self._knows(node, last):
            if loop.time() > deadline:
                return f"node {node} does not know of {last}"
            await asyncio.sleep(_PAUSE_S)
        responses = [await self._knows(node, topic) for topic in self._created]
        unanswered = sum(response is None for response in responses)
        return (
            f"node {node} did not answer {unanswered} questions about topics" if unanswered else ""
        )

    async def _knows(self, node: int, topic: str) -> bool | None:
        """Whether the broker has a partition of it; None if it does not say."""
        self._begin(DESCRIBE_TOPIC, topic, None, node, FINAL)
        try:
            found = await self._brokers.send(node, Api.METADATA, metadata((topic,)), read_metadata)
        except (NotSentError, LostError) as trouble:
            self._end(EventType.FAIL, None, str(trouble))
            return None
        known = any(each.topic == topic for each in found)
        self._end(EventType.OK, int(known), None)
        return known

    def _begin(self, f: str, key: str, value: int | None, node: int, phase: str) -> None:
        self._tools.tally.invoke()
        self._tools.history.invoke(self._process, f, key, value, node, phase)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> None:
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self._tools.history.new_process()
