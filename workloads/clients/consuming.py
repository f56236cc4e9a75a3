"""Processes that send to logs, and processes that poll them, seek, and switch to others; the final
reads."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from checkers.history.events import EventType, value_of
from workloads.clients.log_driver import NO_NODE, LogConsumer, LogProducer, PollResult, Sending
from workloads.leader import TopicPartition
from workloads.operation_history import ASSIGN, FINAL, MAIN, POLL, LogHistory, Span, Tally
from workloads.wire.produce import ALL

# A process that sends to logs: one send in flight, with values that no other send has.


# A send without acks gets no answer, so nothing slows its process down.
_UNANSWERED_PAUSE_S = 0.01


@dataclass(slots=True)
class Seen:
    """What clients know of each log: the offset behind the last record acknowledged with acks=all,
    and behind the last one polled. All records below either were committed."""

    acknowledged: dict[TopicPartition, int] = field(default_factory=dict)
    polled: dict[TopicPartition, int] = field(default_factory=dict)
    sends: int = 0  # acknowledged, with any acks
    records: int = 0  # in those
    commits: int = 0  # of transactions that their coordinators reported as completed
    tally: Tally = field(default_factory=Tally)

    def acknowledge(self, partition: TopicPartition, end: int) -> None:
        self.acknowledged[partition] = max(end, self.acknowledged.get(partition, 0))

    def poll(self, partition: TopicPartition, end: int) -> None:
        self.polled[partition] = max(end, self.polled.get(partition, 0))

    def end(self, partition: TopicPartition) -> int:
        """The offset that a reader must reach."""
        return max(self.acknowledged.get(partition, 0), self.polled.get(partition, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """`records` in a send; `rate` of sends a second of this process, 0: no limit; `most`
    acknowledged sends before it ends, 0: no limit."""

    records: int
    rate: float
    most: int = 0


class Producing:
    """A process; after an `info` it goes on under a new process id."""

    def __init__(
        self,
        producer: LogProducer,
        history: LogHistory,
        seen: Seen,
        *,
        choose: Callable[[], TopicPartition],
        sending: Sending,
        pace: Pace,
    ) -> None:
        self._producer = producer
        self._history = history
        self._seen = seen
        self._choose = choose
        self._sending = sending
        self._pace = pace
        self._process = history.new_process()
        self._number = 0
        self._acknowledged = 0

    @property
    def is_over(self) -> bool:
        """Whether `most` sends were acknowledged."""
        return 0 < self._pace.most <= self._acknowledged

    async def run(self, may_go_on: Callable[[], bool]) -> None:
        """Send while `may_go_on`, which counts the send that follows."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        try:
            while not self.is_over and may_go_on():
                await self._send(self._choose())
                if self._pace.rate:
                    due = max(due + 1 / self._pace.rate, loop.time() - 1)
                    await asyncio.sleep(max(0.0, due - loop.time()))
                elif self._sending.acks == 0:
                    await asyncio.sleep(_UNANSWERED_PAUSE_S)
        finally:
            await self._producer.close()

    async def _send(self, partition: TopicPartition) -> None:
        node = await self._producer.prepare(partition)
        records = self._pace.records
        value = value_of(self._process, self._number)
        self._number += records
        span = Span(key=partition.key, value=value, records=records)
        self._history.invoke_send(
            self._process,
            span,
            acks=self._sending.acks,
            idempotent=self._sending.idempotent,
            node=node,
            phase=MAIN,
        )
        self._seen.tally.invoke()
        sent = await self._producer.send(partition, value, records)
        self._seen.tally.complete(sent.outcome)
        told = replace(span, offset=sent.offset)
        self._history.complete_spans(self._process, sent.outcome, [told], sent.error)
        if sent.outcome is EventType.OK:
            self._acknowledge(partition, sent.offset)
        elif sent.outcome is EventType.INFO:
            self._process, self._number = self._history.new_process(), 0

    def _acknowledge(self, partition: TopicPartition, offset: int | None) -> None:
        if offset is None:
            return
        self._acknowledged += 1
        self._seen.sends += 1
        self._seen.records += self._pace.records
        if self._sending.acks == ALL:
            self._seen.acknowledge(partition, offset + self._pace.records)


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
            self._history.invoke(self._process, ASSIGN, partition.key, None, NO_NODE, self._phase)
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
