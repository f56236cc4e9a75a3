"""A process that polls logs, seeks in them and switches to others; and the final reads."""

import asyncio
import random
from collections.abc import Callable, Sequence

from checkers.history.events import EventType
from workloads.log_driver import NOBODY, LogConsumer, PollResult
from workloads.operation_history import ASSIGN, FINAL, POLL, LogHistory
from workloads.partition_leaders import TopicPartition
from workloads.producing import Seen

_REASSIGN_SHARE = 1 / 128  # of polls
_SEEK_SHARE = 1 / 64
_UNPOLLED_SHARE = 1 / 3  # of assignments: to acknowledged partitions never polled
_GROWS_WITHIN_S = 4.0
_REWIND = 200  # the most records that are polled again after a seek


class Consuming:
    """A consumer and its process, which it keeps: a failed poll changes nothing."""

    def __init__(self, consumer: LogConsumer, history: LogHistory, seen: Seen, phase: str) -> None:
        self._consumer = consumer
        self._history = history
        self._seen = seen
        self._phase = phase
        self._process = history.new_process()
        self._positions: dict[TopicPartition, int] = {}

    async def keep_polling(
        self,
        partitions: Sequence[TopicPartition],
        rng: random.Random,
        *,
        interval_s: float,
        goes_on: Callable[[], bool],
    ) -> None:
        """Poll at most once each `interval_s`; seek and switch partitions now and then."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while goes_on():
                await self._move(partitions, rng)
                await self.poll()
                due = max(due + interval_s, loop.time() - interval_s)
                await asyncio.sleep(max(0.0, due - loop.time()))
        finally:
            await self._consumer.close()

    async def read_from_start(self, partition: TopicPartition, deadline: float) -> str | None:
        """Read a whole log, to the highest offset ever seen and to its end; else says how far.

        All replicas are in sync by now and no client sends any more: a log that ends too early gets
        only a moment to grow.
        """
        loop = asyncio.get_running_loop()
        target, trouble = self._seen.end(partition), "nothing was asked"
        ended: tuple[int, float] | None = None  # where the log ended, and since when
        try:
            await self.assign({partition: 0}, [partition])
            while loop.time() < deadline:
                polled = await self.poll()
                position = self._positions[partition]
                trouble = polled.error or "its log ends there"
                if polled.error or polled.spans or position < (polled.high_watermark or 0):
                    ended = None
                elif position >= target:
                    return None
                elif ended is None or ended[0] != position:
                    ended = position, loop.time()
                elif loop.time() - ended[1] > _GROWS_WITHIN_S:
                    break
        finally:
            await self._consumer.close()
        return (
            f"{partition.key} was read up to offset {self._positions[partition]} of {target} "
            f"({trouble})"
        )

    async def assign(
        self, positions: dict[TopicPartition, int], anew: Sequence[TopicPartition]
    ) -> None:
        """Poll at these positions; those in `anew` need not continue from the last ones."""
        self._positions = positions
        await self._consumer.assign(positions)
        for partition in anew:
            self._seen.tally.invoke()
            self._seen.tally.complete(EventType.OK)
            self._history.invoke(self._process, ASSIGN, partition.key, None, NOBODY, self._phase)
            self._history.complete(self._process, EventType.OK, None, None)

    async def poll(self) -> PollResult:
        aim = await self._consumer.aim()
        self._history.invoke(self._process, POLL, aim.key, aim.position, aim.node, self._phase)
        self._seen.tally.invoke()
        polled = await self._consumer.poll(aim)
        outcome = EventType.OK if polled.error is None else EventType.FAIL
        self._seen.tally.complete(outcome)
        self._history.complete_spans(self._process, outcome, polled.spans, polled.error)
        for partition, end in polled.ends.items():
            self._positions[partition] = end
            if polled.spans:
                self._seen.poll(partition, end)
        for partition in polled.lost:
            await self._find_again(partition)
        return polled

    async def _move(self, partitions: Sequence[TopicPartition], rng: random.Random) -> None:
        chance = rng.random()
        if not self._positions or chance < _REASSIGN_SHARE:
            taken = self._take_up(partitions, rng)
            await self.assign({each: self._some_way_back(each, rng) for each in taken}, taken)
        elif chance < _REASSIGN_SHARE + _SEEK_SHARE:
            sought = rng.choice(sorted(self._positions))
            position = self._some_way_back(sought, rng)
            await self.assign(self._positions | {sought: position}, [sought])

    def _take_up(
        self, partitions: Sequence[TopicPartition], rng: random.Random
    ) -> list[TopicPartition]:
        seen = self._seen
        unpolled = [
            each for each in partitions if seen.acknowledged.get(each, 0) > seen.polled.get(each, 0)
        ]
        pool = unpolled if unpolled and rng.random() < _UNPOLLED_SHARE else partitions
        return sorted(rng.sample(pool, rng.randint(1, len(pool))))

    def _some_way_back(self, partition: TopicPartition, rng: random.Random) -> int:
        return max(0, self._seen.polled.get(partition, 0) - rng.randint(0, _REWIND))

    async def _find_again(self, partition: TopicPartition) -> None:
        """Go to the nearest offset of the log: it begins later, or lost its end."""
        bounds = await self._consumer.bounds(partition)
        if bounds is None:
            return  # the next poll will say so again
        position = min(max(self._positions[partition], bounds.start), bounds.end)
        await self.assign(self._positions | {partition: position}, [partition])


async def read_all(
    new_consumer: Callable[[], LogConsumer],
    history: LogHistory,
    seen: Seen,
    partitions: Sequence[TopicPartition],
    *,
    at_once: int,
    within_s: float,
) -> tuple[str, ...]:
    """Read every log by a fresh consumer from its start; returns what could not be read, in
    words."""
    deadline = asyncio.get_running_loop().time() + within_s
    left = list(reversed(partitions))
    short: list[str] = []

    async def read_some() -> None:
        while left:
            consuming = Consuming(new_consumer(), history, seen, FINAL)
            what = await consuming.read_from_start(left.pop(), deadline)
            if what is not None:
                short.append(what)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, len(left))):
            group.create_task(read_some())
    return tuple(sorted(short))
