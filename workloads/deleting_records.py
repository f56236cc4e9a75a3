"""Deletes the first records of its own log (KIP-107), and asks at the end where that begins."""

import asyncio
from collections.abc import Callable

from checkers.history.events import EventType
from workloads.chore import Tools
from workloads.connection import LostError, NotSentError
from workloads.operation_history import DELETE_RECORDS, FINAL, LOG_START, MAIN
from workloads.own_log import OwnLog
from workloads.wire.delete_records import delete_records, read_deleted_records
from workloads.wire.error_codes import error_name
from workloads.wire.fetch import EARLIEST
from workloads.wire.header import Api

_PAUSE_S = 0.05
_RECORDS = 20
_DELETED = 10  # of those
_ANSWERED_WITHIN_S = 10.0


class DeletingRecords:
    """Implements `Chore`. After the deletion it goes on putting records, ever more slowly."""

    def __init__(self, tools: Tools) -> None:
        self._log = OwnLog(tools, "shortened")

    async def run(self, goes_on: Callable[[], bool]) -> None:
        await self._log.make()
        put, deleted = 0, False
        while goes_on():
            if put < _RECORDS or deleted:
                put += await self._log.put(b"key", b"value")
            else:
                deleted = await self._delete()
            await asyncio.sleep(_PAUSE_S if not deleted else 10 * _PAUSE_S)

    async def look_back(self) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _ANSWERED_WITHIN_S
        while await self._log.offset(LOG_START, EARLIEST, FINAL) is None:
            if loop.time() > deadline:
                return (f"the log start offset of {self._log.place.key}",)
            await asyncio.sleep(_PAUSE_S)
        return ()

    async def close(self) -> None:
        await self._log.close()

    async def _delete(self) -> bool:
        """Whether it was acknowledged: the leader waits for all live replicas."""
        topic, index = self._log.place.topic, self._log.place.partition
        timeout_ms = int(self._log.tools.timeout_s * 1000)
        body = delete_records(topic, index, _DELETED, timeout_ms=timeout_ms)
        self._log.begin(DELETE_RECORDS, _DELETED, MAIN)
        try:
            error = await self._log.send(
                Api.DELETE_RECORDS,
                body,
                lambda response: read_deleted_records(response, topic, index),
            )
            trouble = error_name(error) if error else None
        except (NotSentError, LostError) as lost:
            trouble = str(lost)
        outcome = EventType.INFO if trouble else EventType.OK
        return await self._log.end(outcome, _DELETED, trouble)
