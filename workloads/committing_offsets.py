"""Commits offsets of a group without members, and asks after each for the committed one.

The offset grows by one each time: an answer with a smaller one than was last acknowledged shows
that the group forgot a commit.
"""

import asyncio
from collections.abc import Callable

from checkers.history.events import EventType
from workloads.chore import Tools
from workloads.connection import LostError, NotSentError
from workloads.group_coordinator import GroupCoordinator
from workloads.log_driver import NOBODY
from workloads.operation_history import COMMIT_OFFSET, COMMITTED_OFFSET, FINAL, MAIN
from workloads.wire.error_codes import error_name
from workloads.wire.group_offsets import (
    GroupOffset,
    commit_offset,
    fetch_offset,
    read_commit,
    read_group_offset,
)
from workloads.wire.header import Api

_PAUSE_S = 0.05
_TOLD_WITHIN_S = 30.0


class CommittingOffsets:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._group = f"{tools.prefix}-committed"
        self._place = tools.partitions[0]
        self._coordinator = GroupCoordinator(tools.driver, self._group, tools.timeout_s)
        self._process = tools.history.new_process()
        self._next = 1

    async def run(self, goes_on: Callable[[], bool]) -> None:
        """Commits nothing more before it has the answer: a new commit would replace a lost one."""
        has_told = True
        while goes_on():
            await self._coordinator.find()
            if self._coordinator.node is not None and has_told:
                await self._commit()
                has_told = False
            elif self._coordinator.node is not None:
                has_told = await self._fetch(MAIN)
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _TOLD_WITHIN_S
        while True:
            await self._coordinator.find()
            if await self._fetch(FINAL):
                return ()
            if loop.time() > deadline:
                return (f"the committed offset of {self._group}",)
            await asyncio.sleep(_PAUSE_S)

    async def close(self) -> None:
        self._coordinator.close()

    async def _commit(self) -> None:
        topic, index = self._place.topic, self._place.partition
        value, self._next = self._next, self._next + 1
        body = commit_offset(self._group, topic, index, value)
        self._begin(COMMIT_OFFSET, value, MAIN)
        try:
            error = await self._coordinator.send(
                Api.OFFSET_COMMIT,
                body,
                lambda response: read_commit(response, topic, index),
            )
        except NotSentError as trouble:
            self._end(EventType.FAIL, value, str(trouble))
        except LostError as trouble:
            self._end(EventType.INFO, value, str(trouble))
        else:
            outcome = EventType.INFO if error else EventType.OK
            self._end(outcome, value, error_name(error) if error else None)

    async def _fetch(self, phase: str) -> bool:
        """Whether the coordinator returned the committed offset."""
        topic, index = self._place.topic, self._place.partition
        self._begin(COMMITTED_OFFSET, None, phase)
        try:
            found = await self._coordinator.send(
                Api.OFFSET_FETCH,
                fetch_offset(self._group, topic, index),
                lambda response: read_group_offset(response, self._group, topic, index),
            )
        except (NotSentError, LostError) as trouble:
            return self._end(EventType.FAIL, None, str(trouble))
        return self._told(found)

    def _told(self, found: GroupOffset) -> bool:
        if found.error:
            return self._end(EventType.FAIL, None, error_name(found.error))
        return self._end(EventType.OK, found.offset, None)

    def _begin(self, f: str, value: int | None, phase: str) -> None:
        self._tools.tally.invoke()
        node = NOBODY if self._coordinator.node is None else self._coordinator.node
        self._tools.history.invoke(self._process, f, self._group, value, node, phase)

    def _end(self, outcome: EventType, value: int | None, error: str | None) -> bool:
        """Whether it succeeded; after an error the coordinator is looked up again."""
        self._tools.tally.complete(outcome)
        self._tools.history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self._tools.history.new_process()
        if outcome is not EventType.OK:
            self._coordinator.node = None
        return outcome is EventType.OK
