"""Members of one group transform the load's records, each once, in transactions (KIP-98, KIP-447).

Each member reads the logs of its share, from the offset that the group has committed. The output of
some records goes to a log of the chore's own topic, in a transaction that commits the group's
offset with it. So either both stand or neither does, and a process that is no member any more
cannot commit: a member that falls silent in the midst of a transaction is refused, and others have
processed the same records by then. Some transactions are aborted for no reason, and their records
processed again. At the end all transactional ids are initialised anew, the output is read as
readers of committed transactions do, and the group is asked for its committed offsets.
"""

import asyncio
from collections.abc import Callable

from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.chores.groups import GroupCoordinator
from workloads.chores.records import OwnLog
from workloads.chores.transforming_member import (
    Manner,
    TransformingMember,
    processed,
)
from workloads.clients.log_driver import NO_NODE
from workloads.clients.transactions import TransactionCalls
from workloads.connection import Brokers, LostError, NotSentError
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import (
    FINAL,
    PROCESSED,
    PROCESSED_END,
    PROCESSED_UP_TO,
)
from workloads.wire.batch import (
    KeyedRecord,
    next_offset,
    read_committed,
)
from workloads.wire.error_codes import error_name
from workloads.wire.fetch import LATEST, Fetched, fetch, list_offset, read_fetch, read_listed
from workloads.wire.group_members import (
    GroupOffset,
    fetch_offset,
    read_group_offset,
)
from workloads.wire.header import Api

_PAUSE_S = 0.1
_SEARCH_S = 1.0
_LOOKED_BACK_WITHIN_S = 40.0
_MOST_BYTES = 1 << 20
_WAIT_MS = 100
_NOTHING = -1  # is committed


class Transforming:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._group = f"{tools.prefix}-transforming"
        self._log = OwnLog(tools, "transformed")
        self._leaders = PartitionLeaders(tools.driver, [self._log.place])
        self._brokers = Brokers(tools.driver, tools.timeout_s)
        self._coordinator = GroupCoordinator(tools.driver, self._group, tools.timeout_s)
        self._process = tools.history.new_process()
        self._members = [
            TransformingMember(
                tools,
                self._leaders,
                self._log.place,
                group=self._group,
                owner=f"{self._group}-{manner.value}",
                manner=manner,
            )
            for manner in Manner
        ]

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        async with asyncio.TaskGroup() as group:
            for member in self._members:
                group.create_task(member.run(goes_on))

    async def look_back(self) -> tuple[str, ...]:
        deadline = asyncio.get_running_loop().time() + _LOOKED_BACK_WITHIN_S
        short = await self._end_transactions(deadline)
        if not await self._read_output(deadline):
            short += (f"committed records of {self._log.place.key}, to their end",)
        for place in self._tools.partitions:
            if not await self._come_to(place, deadline):
                short += (f"how far {self._group} has come in {place.key}",)
        return short

    async def close(self) -> None:
        for member in self._members:
            member.close()
        self._coordinator.close()
        self._brokers.close()
        await self._leaders.close()
        await self._log.close()

    async def _end_transactions(self, deadline: float) -> tuple[str, ...]:
        tools = self._tools
        calls = TransactionCalls(
            tools.driver, tools.history, tools.tally, phase=FINAL, timeout_s=tools.timeout_s
        )
        short: tuple[str, ...] = ()
        try:
            for member in self._members:
                while not await calls.initialize(member.owner):
                    if asyncio.get_running_loop().time() > deadline:
                        short += (
                            f"transactions of {member.owner} (not initialised by any client)",
                        )
                        break
                    await asyncio.sleep(_PAUSE_S)
        finally:
            calls.close()
        return short

    async def _read_output(self, deadline: float) -> bool:
        """All of it, once no open transaction holds its end up; whether it came to that."""
        loop, place, position = asyncio.get_running_loop(), self._log.place, 0
        while loop.time() < deadline:
            try:
                end = await self._end(committed=False)
                is_ended = await self._end(committed=True) == end
                while is_ended and position < end:
                    position = await self._read_some(position)
                if is_ended:
                    self._note(PROCESSED_END, place.key, position)
                    return True
            except (NotSentError, LostError):
                pass  # asked again, of the node that leads by then
            await self._leaders.find(place, _SEARCH_S)
            await asyncio.sleep(_PAUSE_S)
        return False

    async def _end(self, *, committed: bool) -> int:
        """Raises LostError too for an answer that tells none."""
        topic, index = self._log.place.topic, self._log.place.partition
        listed = await self._brokers.send(
            self._leaders.known(self._log.place),
            Api.LIST_OFFSETS,
            list_offset(topic, index, LATEST, committed=committed),
            lambda body: read_listed(body, topic, index),
        )
        if listed.error:
            raise LostError(error_name(listed.error))
        return listed.offset

    async def _read_some(self, position: int) -> int:
        """Where to read on."""
        topic, index = self._log.place.topic, self._log.place.partition

        def read(body: bytes) -> tuple[Fetched, list[KeyedRecord]]:
            fetched = read_fetch(body, topic, index)
            if fetched.error:
                return fetched, []
            return fetched, list(read_committed(fetched.data, position, fetched.aborted))

        request = fetch(
            topic, index, position, most_bytes=_MOST_BYTES, wait_ms=_WAIT_MS, committed=True
        )
        node = self._leaders.known(self._log.place)
        fetched, records = await self._brokers.send(node, Api.FETCH, request, read)
        if fetched.error:
            raise LostError(error_name(fetched.error))
        for record in records:
            told = processed(record)
            self._note(PROCESSED, told.key, told.offset, told.transaction)
        return next_offset(fetched.data, position)

    async def _come_to(self, place: TopicPartition, deadline: float) -> bool:
        loop = asyncio.get_running_loop()
        while loop.time() < deadline:
            await self._coordinator.find()
            try:
                found = await self._ask(place)
            except (NotSentError, LostError):
                found = None
            if found is not None and not found.error:
                self._note(PROCESSED_UP_TO, place.key, max(found.offset, 0))
                return True
            self._coordinator.node = None
            await asyncio.sleep(_PAUSE_S)
        return False

    async def _ask(self, place: TopicPartition) -> GroupOffset:
        return await self._coordinator.send(
            Api.OFFSET_FETCH,
            fetch_offset(self._group, place.topic, place.partition, stable=True),
            lambda body: read_group_offset(body, self._group, place.topic, place.partition),
        )

    def _note(self, f: str, key: str, value: int, request: int | None = None) -> None:
        """What an answer told, as an operation that it ends."""
        history, tally = self._tools.history, self._tools.tally
        node = self._leaders.known(self._log.place)
        at = NO_NODE if node is None else node
        tally.invoke()
        history.invoke(self._process, f, key, value, at, FINAL, request)
        tally.complete(EventType.OK)
        history.complete(self._process, EventType.OK, value, None)
