"""Operations on transactional ids, each sent to their coordinator: commits transactions, and ends
the open ones of a load."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.clients.consuming import Seen
from workloads.clients.log_driver import NO_NODE
from workloads.clients.raw_clients import describe, end, initialize
from workloads.connection import Brokers, Driver, LostError, NotSentError
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import (
    COMMIT,
    COMMITTED_END,
    FINAL,
    INIT_TRANSACTIONS,
    IS_COMMITTED,
    LogHistory,
    Tally,
)
from workloads.wire.error_codes import error_name
from workloads.wire.fetch import LATEST, list_offset, read_listed
from workloads.wire.header import Api
from workloads.wire.produce import COMPLETE_COMMIT, ProducerId

_ID_NOT_FOUND = 105


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    error: int
    value: int | None = None


class TransactionCalls:
    """One client. After an error the next node is asked for the coordinator."""

    def __init__(
        self, driver: Driver, history: LogHistory, tally: Tally, *, phase: str, timeout_s: float
    ) -> None:
        self._nodes = driver.nodes
        self._brokers = Brokers(driver, timeout_s)
        self._history = history
        self._tally = tally
        self._phase = phase
        self._process = history.new_process()
        self._turn = 0

    def close(self) -> None:
        self._brokers.close()

    async def initialize(self, owner: str) -> bool:
        """Whether the coordinator confirmed that nothing is open any more."""

        async def call(node: int) -> _Answer:
            return _Answer(error=(await initialize(self._brokers, node, owner)).error)

        return await self._call(INIT_TRANSACTIONS, owner, call) is not None

    async def commit(self, owner: str, producer: ProducerId) -> bool:
        """Whether the coordinator confirmed that it commits what `producer` has open."""

        async def call(node: int) -> _Answer:
            ended = await end(self._brokers, node, owner, producer, commits=True)
            return _Answer(error=ended.error)

        return await self._call(COMMIT, owner, call) is not None

    async def is_committed(self, owner: str) -> bool | None:
        """Whether the coordinator reported the last one as committed in every partition; None: no
        answer."""

        async def call(node: int) -> _Answer:
            found = await describe(self._brokers, node, owner)
            is_known = found.error != _ID_NOT_FOUND
            return _Answer(
                error=found.error if is_known else 0, value=int(found.state == COMPLETE_COMMIT)
            )

        told = await self._call(IS_COMMITTED, owner, call)
        return None if told is None else bool(told.value)

    async def _call(
        self, f: str, owner: str, call: Callable[[int], Awaitable[_Answer]]
    ) -> _Answer | None:
        """None after an error; whether it was done all the same is unknown."""
        node = self._nodes[self._turn % len(self._nodes)]
        self._tally.invoke()
        self._history.invoke(self._process, f, owner, None, node, self._phase)
        try:
            told = await call(node)
        except (NotSentError, LostError) as trouble:
            self._fail(str(trouble))
            return None
        if told.error:
            self._fail(error_name(told.error))
            return None
        self._complete(EventType.OK, told.value, None)
        return told

    def _fail(self, error: str) -> None:
        self._complete(EventType.INFO, None, error)
        self._process = self._history.new_process()
        self._turn += 1

    def _complete(self, outcome: EventType, value: int | None, error: str | None) -> None:
        self._tally.complete(outcome)
        self._history.complete(self._process, outcome, value, error)


# Commits a transaction, and asks until its coordinator reports it as committed.
#
# The coordinator answers a commit once it has decided it. Then it writes a marker to every
# partition, and at last records that all have theirs (KIP-98): a client that has seen that knows
# that nothing is left to do.


_PAUSE_S = 0.2


async def commit_whole(
    calls: TransactionCalls, owner: str, producer: ProducerId, goes_on: Callable[[], bool]
) -> bool:
    """Commit what `producer` has open under the transactional id `owner`; returns whether that was
    completed while `goes_on`."""
    while goes_on():
        if await calls.commit(owner, producer):
            break
        await asyncio.sleep(_PAUSE_S)
    while goes_on():
        if await calls.is_committed(owner):
            return True
        await asyncio.sleep(_PAUSE_S)
    return False


# Ends the transactions that a load left open, then asks for the last stable offsets.
#
# InitProducerId for a transactional id ends what that id had open (KIP-98): once the coordinator
# has answered, no transaction of it is open in any partition. So the last stable offset lies behind
# all acknowledged records.


# Longer than the judge requires: how long a partition is asked while its offset does not move.
STANDS_FOR_S = 5.0
_INITIALIZED_WITHIN_S = 20.0  # all ids together
_DESCRIBED_WITHIN_S = 3.0  # each
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
        self._invoke(partition.key, NO_NODE if node is None else node)
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
