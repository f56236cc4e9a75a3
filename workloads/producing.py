"""A process that sends to logs: one send in flight, with values that no other send has."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from checkers.history.events import EventType
from checkers.history.payload import value_of
from workloads.log_driver import LogProducer, Sending
from workloads.operation_history import MAIN, LogHistory, Span
from workloads.partition_leaders import TopicPartition
from workloads.tally import Tally
from workloads.wire.produce import ALL

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
