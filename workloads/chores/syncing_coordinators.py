"""Makes brokers sync the log of transaction coordinators: sets `flush.messages=1` on
`__transaction_state`, which exists once a client has asked for a coordinator."""

import asyncio
from collections.abc import Callable

from checkers.history.asked import CONFIG_OF_A_TOPIC
from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.connection import Brokers, LostError, NotSentError
from workloads.operation_history import MAIN, SET_CONFIG
from workloads.wire.client_metrics import TOPIC, Alteration, ConfigChange, alter, read_altered
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api

_TRANSACTIONS = "__transaction_state"
_EACH_MESSAGE = 1
_PAUSE_S = 0.2
_TIMEOUT_S = 5.0  # of a request that the broker forwards to the controllers


class SyncingCoordinators:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        change = ConfigChange(name=CONFIG_OF_A_TOPIC[SET_CONFIG], value=str(_EACH_MESSAGE))
        self._body = alter([Alteration(resource=_TRANSACTIONS, changes=(change,), type=TOPIC)])
        self._brokers = Brokers(tools.driver, _TIMEOUT_S)
        self._process = tools.history.new_process()
        self._turn = 0
        self._is_set = False

    async def run(self, goes_on: Callable[[], bool]) -> None:
        while goes_on() and not self._is_set:
            await self._set()
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return () if self._is_set else (f"flush.messages of {_TRANSACTIONS} (it was not set)",)

    async def close(self) -> None:
        self._brokers.close()

    async def _set(self) -> None:
        nodes, history = self._tools.driver.nodes, self._tools.history
        node = nodes[self._turn % len(nodes)]
        self._tools.tally.invoke()
        history.invoke(self._process, SET_CONFIG, _TRANSACTIONS, _EACH_MESSAGE, node, MAIN)
        trouble = await self._trouble_of(node)
        self._is_set = trouble is None
        outcome = EventType.OK if self._is_set else EventType.INFO
        self._tools.tally.complete(outcome)
        history.complete(self._process, outcome, _EACH_MESSAGE, trouble)
        if not self._is_set:
            self._process = history.new_process()
            self._turn += 1

    async def _trouble_of(self, node: int) -> str | None:
        """Why it is not set, if it is not."""
        try:
            errors = await self._brokers.send(
                node,
                Api.INCREMENTAL_ALTER_CONFIGS,
                self._body,
                lambda response: read_altered(response, [_TRANSACTIONS]),
            )
        except (NotSentError, LostError) as trouble:
            return str(trouble)
        return error_name(errors[0]) if errors[0] else None
