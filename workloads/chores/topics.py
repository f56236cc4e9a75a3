"""Chores of operators: configurations, and topics that come, go and change their shape.

Alters a configuration through the brokers (KIP-339), and asks for the epoch of the quorum's
leader between any two requests.

It alters the configuration of its own CLIENT_METRICS resource, on which nothing else depends. The
operation is valid, or unknown to Kafka.

Creates a topic, deletes the one before, changes the cluster's min.insync.replicas, and repeats;
every third topic is kept. At the end every broker is asked which topics it knows.

A change of min.insync.replicas empties the ELRs of all topics (KIP-966, ClearElrRecord). A last
topic, created after all of this, shows how far a broker has replayed the metadata log: a broker
that knows it has replayed the rest too.

Adds partitions to a topic of its own, and moves its first one from broker to broker
(KIP-195, KIP-455), while records are put there.
"""

import asyncio
from collections.abc import Callable
from itertools import count

from checkers.history.asked import ADD_PARTITIONS, CONFIG_OF_ALL_BROKERS, REASSIGN, TopicShape
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.chores.records import OwnLog
from workloads.clients.administering import RawTopicClient, Topics
from workloads.connection import Brokers, LostError, NotSentError, Response
from workloads.operation_history import (
    ALTER_CONFIGS,
    DESCRIBE_TOPIC,
    FINAL,
    MAIN,
    QUORUM_EPOCH,
    SET_MIN_ISR,
)
from workloads.wire.client_metrics import (
    LOWEST_INTERVAL,
    Alteration,
    ConfigChange,
    alter,
    read_altered,
)
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.header import Api
from workloads.wire.topic_requests import (
    create_partitions,
    list_reassignments,
    metadata,
    read_created_partitions,
    read_metadata,
    read_reassigned,
    read_reassignments,
    reassign,
)

NO_ACTION = 9
# Between a request and the next question: a controller that resigns still answers for a moment.
_PAUSE_S = 1.0
_TIMEOUT_S = 5.0  # of a request that the broker forwards to the controllers
_TOLD_WITHIN_S = 20.0
_QUORUM = "quorum"


class AlteringConfigs:
    """Implements `Chore`. `action`: an `Action`, or `NO_ACTION`."""

    def __init__(self, tools: Tools, action: int) -> None:
        self._tools = tools
        self._resource = f"{tools.prefix}-altered"
        change = ConfigChange(action=action, value=str(LOWEST_INTERVAL))
        self._body = alter([Alteration(resource=self._resource, changes=(change,))])
        self._action = action
        self._brokers = Brokers(tools.driver, _TIMEOUT_S)
        self._process = tools.history.new_process()
        self._turn = 0

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            if await self._wrote(MAIN):
                await self._alter()
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _TOLD_WITHIN_S
        while not await self._wrote(FINAL):
            if loop.time() > deadline:
                return ("the epoch of the quorum",)
            await asyncio.sleep(_PAUSE_S)
        return ()

    async def close(self) -> None:
        self._brokers.close()

    async def _wrote(self, phase: str) -> bool:
        """Whether a leader answered with its epoch."""
        self._begin(QUORUM_EPOCH, _QUORUM, None, phase)
        found = await self._send(Api.DESCRIBE_QUORUM, describe_quorum(), read_quorum_response)
        if not isinstance(found, LeaderClaim):
            return self._end(EventType.FAIL, None, found)
        if found.leader is None:
            return self._end(EventType.FAIL, None, error_name(found.error))
        return self._end(EventType.OK, found.epoch, None)

    async def _alter(self) -> None:
        self._begin(ALTER_CONFIGS, self._resource, self._action, MAIN)
        errors = await self._send(
            Api.INCREMENTAL_ALTER_CONFIGS,
            self._body,
            lambda response: read_altered(response, [self._resource]),
        )
        if isinstance(errors, str):
            self._end(EventType.INFO, self._action, errors)
        elif errors[0]:
            self._end(EventType.INFO, self._action, error_name(errors[0]))
        else:
            self._end(EventType.OK, self._action, None)

    async def _send(
        self, api: Api, body: bytes, read: Callable[[bytes], Response]
    ) -> Response | str:
        """The answer of the next broker in turn, or why there is none."""
        try:
            return await self._brokers.send(self._node, api, body, read)
        except (NotSentError, LostError) as trouble:
            return str(trouble)

    @property
    def _node(self) -> int:
        nodes = self._tools.driver.nodes
        return nodes[self._turn % len(nodes)]

    def _begin(self, f: str, key: str, value: int | None, phase: str) -> None:
        self._tools.tally.invoke()
        self._tools.history.invoke(self._process, f, key, value, self._node, phase)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> bool:
        """Whether it succeeded; after an error the next broker is asked."""
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self._tools.history.new_process()
        self._turn += outcome is not EventType.OK
        return outcome is EventType.OK


_DELETION_PAUSE_S = 0.1
_LEFT_ALONE = 3  # every third topic is kept
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
            await asyncio.sleep(_DELETION_PAUSE_S)
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
            await asyncio.sleep(_DELETION_PAUSE_S)
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
            await asyncio.sleep(_DELETION_PAUSE_S)
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


_MOVED_WITHIN_S = 30.0
_RESHAPING_PAUSE_S = 0.2
_PUTS = 5  # between two moves
_MOVES = 3  # for each added partition
_MOST_PARTITIONS = 4


class ReshapingTopics:
    """Implements `Chore`. Each move goes to the next brokers, as many as before; it replaces a move
    that is still under way."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._log = OwnLog(tools, "reshaped")
        self._brokers = Brokers(tools.driver, _TIMEOUT_S)
        self._process = tools.history.new_process()
        self._turn = 0
        self._partitions = 1

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        while goes_on():
            for _ in range(_PUTS):
                if goes_on():
                    await self._log.put(b"key", b"value")
                    await asyncio.sleep(_RESHAPING_PAUSE_S)
            if goes_on():
                await self._reshape()

    async def look_back(self) -> tuple[str, ...]:
        """Wait until no move is under way."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _MOVED_WITHIN_S
        while not await self._is_at_rest():
            if loop.time() > deadline:
                return (f"the end of the last move of {self._log.place.key}",)
            await asyncio.sleep(_RESHAPING_PAUSE_S)
        return ()

    async def close(self) -> None:
        self._brokers.close()
        await self._log.close()

    async def _reshape(self) -> None:
        self._turn += 1
        if self._turn % (_MOVES + 1) == 0 and self._partitions < _MOST_PARTITIONS:
            if await self._add(self._partitions + 1):
                self._partitions += 1
        else:
            await self._move()

    async def _add(self, count: int) -> bool:
        """Whether it was acknowledged."""
        topic = self._log.place.topic
        body = create_partitions(topic, count, timeout_ms=int(_TIMEOUT_S * 1000))
        return await self._ask(
            (ADD_PARTITIONS, topic, count),
            Api.CREATE_PARTITIONS,
            body,
            lambda response: read_created_partitions(response, topic),
        )

    async def _move(self) -> None:
        place, nodes = self._log.place, self._tools.driver.nodes
        count = min(self._tools.replication, len(nodes))
        replicas = [nodes[(self._turn + each) % len(nodes)] for each in range(count)]
        body = reassign(place.topic, place.partition, replicas, timeout_ms=int(_TIMEOUT_S * 1000))
        await self._ask(
            (REASSIGN, place.key, count),
            Api.ALTER_PARTITION_REASSIGNMENTS,
            body,
            lambda response: read_reassigned(response, place.topic, place.partition),
        )

    async def _is_at_rest(self) -> bool:
        """Whether a broker reports a move under way."""
        place, nodes = self._log.place, self._tools.driver.nodes
        self._turn += 1
        try:
            error, goes_on = await self._brokers.send(
                nodes[self._turn % len(nodes)],
                Api.LIST_PARTITION_REASSIGNMENTS,
                list_reassignments(place.topic, place.partition, timeout_ms=int(_TIMEOUT_S * 1000)),
                lambda response: read_reassignments(response, place.topic, place.partition),
            )
        except (NotSentError, LostError):
            return False
        return error == 0 and not goes_on

    async def _ask(
        self,
        what: tuple[str, str, int],
        api: Api,
        body: bytes,
        read: Callable[[bytes], int],
    ) -> bool:
        f, key, value = what
        nodes, history = self._tools.driver.nodes, self._tools.history
        node = nodes[self._turn % len(nodes)]
        self._tools.tally.invoke()
        history.invoke(self._process, f, key, value, node, MAIN)
        try:
            error = await self._brokers.send(node, api, body, read)
            trouble = error_name(error) if error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        outcome = EventType.INFO if trouble else EventType.OK
        self._tools.tally.complete(outcome)
        history.complete(self._process, outcome, value, trouble)
        if outcome is EventType.INFO:
            self._process = history.new_process()
        return outcome is EventType.OK
