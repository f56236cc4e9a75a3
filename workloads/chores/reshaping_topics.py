"""Adds partitions to a topic of its own, and moves its first one from broker to broker
(KIP-195, KIP-455), while records are put there."""

import asyncio
from collections.abc import Callable

from checkers.history.asked import ADD_PARTITIONS, REASSIGN
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.chores.records import OwnLog
from workloads.connection import Brokers, LostError, NotSentError
from workloads.operation_history import MAIN
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api
from workloads.wire.topic_requests import (
    create_partitions,
    list_reassignments,
    read_created_partitions,
    read_reassigned,
    read_reassignments,
    reassign,
)

_TIMEOUT_S = 5.0  # of a request that the broker forwards to the controllers
_MOVED_WITHIN_S = 30.0
_PAUSE_S = 0.2
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
                    await asyncio.sleep(_PAUSE_S)
            if goes_on():
                await self._reshape()

    async def look_back(self) -> tuple[str, ...]:
        """Wait until no move is under way."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _MOVED_WITHIN_S
        while not await self._is_at_rest():
            if loop.time() > deadline:
                return (f"the end of the last move of {self._log.place.key}",)
            await asyncio.sleep(_PAUSE_S)
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
