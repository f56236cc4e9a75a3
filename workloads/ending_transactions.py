"""Ends the transactions that a load left open, then asks for the last stable offsets.

InitProducerId for a transactional id ends what that id had open (KIP-98): once the coordinator has
answered, no transaction of it is open in any partition. So the last stable offset lies behind all
acknowledged records.
"""

import asyncio
from collections.abc import Iterable

from checkers.history.events import EventType
from workloads.broker_connections import Brokers
from workloads.connection import Driver, LostError, NotSentError
from workloads.log_driver import NOBODY
from workloads.operation_history import COMMITTED_END, FINAL, LogHistory
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.producing import Seen
from workloads.transaction_calls import TransactionCalls
from workloads.wire.error_codes import error_name
from workloads.wire.fetch import LATEST, list_offset, read_listed
from workloads.wire.header import Api

# Longer than the judge requires: how long a partition is asked while its offset does not move.
STANDS_FOR_S = 5.0
_INITIALIZED_WITHIN_S = 20.0  # all ids together
_DESCRIBED_WITHIN_S = 3.0  # each
_PAUSE_S = 0.2
_SEARCH_S = 1.0


class EndingTransactions:
    """One client; it closes its connections after its run."""

    def __init__(
        self,
        driver: Driver,
        leaders: PartitionLeaders,
        history: LogHistory,
        seen: Seen,
        *,
        timeout_s: float,
    ) -> None:
        self._brokers = Brokers(driver, timeout_s)
        self._leaders = leaders
        self._history = history
        self._seen = seen
        self._process = history.new_process()
        self._calls = TransactionCalls(
            driver, history, seen.tally, phase=FINAL, timeout_s=timeout_s
        )

    async def run(
        self, ids: Iterable[str], partitions: Iterable[TopicPartition]
    ) -> tuple[str, ...]:
        """Initialise every id, then ask every partition; returns what was not answered, in
        words."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _INITIALIZED_WITHIN_S
        try:
            short = [
                f"transactions of {owner} (it was not initialised)"
                for owner in ids
                if not await self._initialize(owner, deadline)
            ]
            until = loop.time() + STANDS_FOR_S
            for partition in partitions:
                if not await self._is_ended(partition, until):
                    short.append(f"the last stable offset of {partition.key}")
        finally:
            self._brokers.close()
            self._calls.close()
        return tuple(short)

    async def _initialize(self, owner: str, deadline: float) -> bool:
        """Retry until the coordinator confirms it. The last transaction is described before, for a
        while: after this the coordinator has forgotten it."""
        loop = asyncio.get_running_loop()
        described_until = min(deadline, loop.time() + _DESCRIBED_WITHIN_S)
        while loop.time() < described_until:
            if await self._calls.is_committed(owner) is not None:
                break
            await asyncio.sleep(_PAUSE_S)
        while loop.time() < deadline:
            if await self._calls.initialize(owner):
                return True
            await asyncio.sleep(_PAUSE_S)
        return False

    async def _is_ended(self, partition: TopicPartition, until: float) -> bool:
        """Ask until all acknowledged records can be read; returns whether there was an answer."""
        loop = asyncio.get_running_loop()
        told: int | None = None
        while True:
            found = await self._committed_end(partition)
            told = found if found is not None else told
            if loop.time() > until or (told or 0) >= self._seen.polled.get(partition, 0):
                return told is not None
            await asyncio.sleep(_PAUSE_S)

    async def _committed_end(self, partition: TopicPartition) -> int | None:
        node = self._leaders.known(partition)
        self._invoke(partition.key, NOBODY if node is None else node)
        topic, index = partition.topic, partition.partition
        try:
            listed = await self._brokers.send(
                node,
                Api.LIST_OFFSETS,
                list_offset(topic, index, LATEST, committed=True),
                lambda body: read_listed(body, topic, index),
            )
            trouble = error_name(listed.error) if listed.error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        if trouble is None:
            self._complete(EventType.OK, listed.offset, None)
            return listed.offset
        self._complete(EventType.FAIL, None, trouble)
        await self._leaders.find(partition, _SEARCH_S)
        return None

    def _invoke(self, key: str, node: int) -> None:
        self._seen.tally.invoke()
        self._history.invoke(self._process, COMMITTED_END, key, None, node, FINAL)

    def _complete(self, outcome: EventType, value: int | None, error: str | None) -> None:
        self._seen.tally.complete(outcome)
        self._history.complete(self._process, outcome, value, error)
        if outcome is EventType.INFO:
            self._process = self._history.new_process()
