"""Alters a configuration through the brokers (KIP-339), and asks for the epoch of the quorum's
leader between any two requests.

It alters the configuration of its own CLIENT_METRICS resource, on which nothing else depends. The
operation is valid, or unknown to Kafka.
"""

import asyncio
from collections.abc import Callable

from checkers.history.events import EventType
from workloads.chores.chore import Tools
from workloads.connection import Brokers, LostError, NotSentError, Response
from workloads.operation_history import ALTER_CONFIGS, FINAL, MAIN, QUORUM_EPOCH
from workloads.wire.client_metrics import (
    LOWEST_INTERVAL,
    Alteration,
    ConfigChange,
    alter,
    read_altered,
)
from workloads.wire.describe_quorum import LeaderClaim, describe_quorum, read_quorum_response
from workloads.wire.error_codes import error_name
from workloads.wire.header import Api

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
