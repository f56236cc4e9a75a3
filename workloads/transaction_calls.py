"""Operations on transactional ids, each recorded and sent to their coordinator."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.broker_connections import Brokers
from workloads.connection import Driver, LostError, NotSentError
from workloads.operation_history import COMMIT, INIT_TRANSACTIONS, IS_COMMITTED, LogHistory
from workloads.producer_ids import describe, end, initialize
from workloads.tally import Tally
from workloads.wire.error_codes import error_name
from workloads.wire.produce import ProducerId
from workloads.wire.transactions import COMPLETE_COMMIT

_ID_NOT_FOUND = 105


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
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

        async def call(node: int) -> _Told:
            return _Told(error=(await initialize(self._brokers, node, owner)).error)

        return await self._call(INIT_TRANSACTIONS, owner, call) is not None

    async def commit(self, owner: str, producer: ProducerId) -> bool:
        """Whether the coordinator confirmed that it commits what `producer` has open."""

        async def call(node: int) -> _Told:
            ended = await end(self._brokers, node, owner, producer, commits=True)
            return _Told(error=ended.error)

        return await self._call(COMMIT, owner, call) is not None

    async def is_committed(self, owner: str) -> bool | None:
        """Whether the coordinator reported the last one as committed in every partition; None: no
        answer."""

        async def call(node: int) -> _Told:
            found = await describe(self._brokers, node, owner)
            is_known = found.error != _ID_NOT_FOUND
            return _Told(
                error=found.error if is_known else 0, value=int(found.state == COMPLETE_COMMIT)
            )

        told = await self._call(IS_COMMITTED, owner, call)
        return None if told is None else bool(told.value)

    async def _call(
        self, f: str, owner: str, call: Callable[[int], Awaitable[_Told]]
    ) -> _Told | None:
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
