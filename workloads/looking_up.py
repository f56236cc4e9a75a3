"""Puts records with keys into its own log, and looks up the first offset with a timestamp after
1970, as a consumer does that starts from a time (ListOffsets by timestamp).

Brokers set the timestamps, so every record is younger. A few keys are written again and again:
where the broker's default policy is to compact logs, old segments soon have no record left.
"""

import asyncio
from collections.abc import Callable
from itertools import count

from workloads.chore import Tools
from workloads.operation_history import LOOK_UP, MAIN
from workloads.own_log import OwnLog

_PAUSE_S = 0.05
_KEYS = 3
_PUTS = 4  # between two look-ups
_IN_1970 = 1  # a timestamp, in ms
# Ten of them fill a segment (`OWN_LOGS`).
_VALUE = bytes(110_000)


class LookingUp:
    """Implements `Chore`."""

    def __init__(self, tools: Tools) -> None:
        self._log = OwnLog(tools, "looked-up")

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        for number in count():
            if not goes_on():
                return
            if number % (_PUTS + 1) < _PUTS:
                await self._log.put(b"%d" % (number % _KEYS), _VALUE)
            else:
                await self._log.offset(LOOK_UP, _IN_1970, MAIN)
            await asyncio.sleep(_PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        return ()

    async def close(self) -> None:
        await self._log.close()
