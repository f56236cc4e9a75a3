"""Asks leaders where the epochs of their logs end, as consumers do to detect that what they read
was truncated (KIP-320)."""

import asyncio
from collections.abc import Callable

from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.clients.log_driver import NO_NODE
from workloads.connection import Brokers, LostError, NotSentError
from workloads.operation_history import EPOCH_END, MAIN
from workloads.partition_leaders import TopicPartition
from workloads.wire.error_codes import error_name
from workloads.wire.fetch import EpochEnd, end_of_epoch, read_end_of_epoch
from workloads.wire.header import Api

_PAUSE_S = 0.2
_SEARCH_S = 1.0
_BACK = 3  # epochs, before the newest that any broker reported


class AskingEpochs:
    """Implements `Chore`. Asks for the newest known epoch, for those right before it, and for the
    next one, which does not exist yet."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._brokers = Brokers(tools.driver, tools.timeout_s)
        self._process = tools.history.new_process()
        self._newest = dict.fromkeys(tools.partitions, 0)

    async def run(self, goes_on: Callable[[], bool]) -> None:
        turn = 0
        while goes_on():
            places = self._tools.partitions
            place = places[turn % len(places)]
            back = turn // len(places) % (_BACK + 2) - 1
            await self._ask(place, max(self._newest[place] - back, 0))
            turn += 1
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        self._brokers.close()

    async def _ask(self, place: TopicPartition, epoch: int) -> None:
        tools, (topic, index) = self._tools, (place.topic, place.partition)
        node = tools.leaders.known(place)
        tools.tally.invoke()
        at = NO_NODE if node is None else node
        tools.history.invoke(self._process, EPOCH_END, place.key, None, at, MAIN)
        found: EpochEnd | None = None
        try:
            found = await self._brokers.send(
                node,
                Api.OFFSET_FOR_LEADER_EPOCH,
                end_of_epoch(topic, index, epoch),
                lambda response: read_end_of_epoch(response, topic, index),
            )
            trouble = error_name(found.error) if found.error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        if found is None or trouble is not None:
            self._end(EventType.FAIL, None, trouble)
            await tools.leaders.find(place, _SEARCH_S)
            return
        self._newest[place] = max(self._newest[place], found.epoch)
        self._end(EventType.OK, found.end, None)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> None:
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
