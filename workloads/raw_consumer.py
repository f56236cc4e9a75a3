"""A consumer on the raw driver: each poll is one Fetch of one partition from its leader."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence

from workloads.broker_connections import Brokers
from workloads.connection import Driver, LostError, NotSentError
from workloads.log_driver import NOBODY, Aim, LogBounds, PollResult
from workloads.operation_history import Span
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.wire.batch import next_offset, read_batches
from workloads.wire.error_codes import ErrorCode, error_name
from workloads.wire.fetch import (
    EARLIEST,
    LATEST,
    Fetched,
    fetch,
    list_offset,
    read_fetch,
    read_listed,
)
from workloads.wire.header import Api

_SEARCH_S = 1.0
_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2
_WAIT_MS = 100  # for the first byte; then a broker answers with nothing


class RawConsumer:
    """Implements `LogConsumer`; its partitions take turns."""

    def __init__(
        self, driver: Driver, leaders: PartitionLeaders, *, timeout_s: float, most_bytes: int
    ) -> None:
        self._brokers = Brokers(driver, timeout_s)
        self._leaders = leaders
        self._most_bytes = most_bytes
        self._positions: dict[TopicPartition, int] = {}
        self._turns: deque[TopicPartition] = deque()
        self._troubled = False
        self._pause_s = _PAUSE_S

    async def close(self) -> None:
        self._brokers.close()

    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._positions = dict(positions)
        self._turns = deque(positions)

    async def aim(self) -> Aim:
        partition = self._turns[0]
        self._turns.rotate(-1)
        if self._troubled:
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        node = self._leaders.known(partition)
        if self._troubled or node is None:
            node = await self._leaders.find(partition, _SEARCH_S)
        found = node if node is not None else NOBODY
        position = self._positions[partition]
        return Aim(key=partition.key, node=found, partition=partition, position=position)

    async def poll(self, aim: Aim) -> PollResult:
        partition = aim.partition
        assert partition is not None, "aims at one partition"
        polled = await self._poll(partition)
        self._troubled = polled.error is not None
        if not self._troubled:
            self._pause_s = _PAUSE_S
        return polled

    async def bounds(self, partition: TopicPartition) -> LogBounds | None:
        """The bounds of its log, from the leader; None without an answer."""
        start = await self._list(partition, EARLIEST)
        end = await self._list(partition, LATEST) if start is not None else None
        return LogBounds(start=start, end=end) if start is not None and end is not None else None

    async def _poll(self, partition: TopicPartition) -> PollResult:
        position = self._positions[partition]
        try:
            fetched, spans = await self._fetch(partition, position)
        except (NotSentError, LostError) as trouble:
            return PollResult(error=str(trouble))
        if fetched.error:
            gone = fetched.error == ErrorCode.OFFSET_OUT_OF_RANGE
            return PollResult(error=error_name(fetched.error), lost=(partition,) * gone)
        self._positions[partition] = end = next_offset(fetched.data, position)
        return PollResult(spans=spans, ends={partition: end}, high_watermark=fetched.high_watermark)

    async def _fetch(
        self, partition: TopicPartition, position: int
    ) -> tuple[Fetched, Sequence[Span]]:
        topic, index = partition.topic, partition.partition

        def read(body: bytes) -> tuple[Fetched, Sequence[Span]]:
            fetched = read_fetch(body, topic, index)
            return fetched, () if fetched.error else _spans(partition.key, fetched, position)

        request = fetch(topic, index, position, most_bytes=self._most_bytes, wait_ms=_WAIT_MS)
        return await self._brokers.send(self._leaders.known(partition), Api.FETCH, request, read)

    async def _list(self, partition: TopicPartition, which: int) -> int | None:
        topic, index = partition.topic, partition.partition
        try:
            listed = await self._brokers.send(
                self._leaders.known(partition),
                Api.LIST_OFFSETS,
                list_offset(topic, index, which),
                lambda body: read_listed(body, topic, index),
            )
        except (NotSentError, LostError):
            return None
        return listed.offset if listed.error == 0 else None


def _spans(key: str, fetched: Fetched, position: int) -> list[Span]:
    return [
        Span(
            key=key,
            offset=values.offset,
            value=values.value,
            records=values.records,
            epoch=values.epoch,
            high_watermark=fetched.high_watermark,
        )
        for values in read_batches(fetched.data, position)
    ]
