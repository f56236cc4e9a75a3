"""Clients of logs that record lies, and answers that never reach them.

Each function makes the clients of one load (`Scenario.clients`). The rest of the harness is
unchanged: they send to a real cluster, and their statements are recorded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from checkers.history.events import EventType
from workloads.append_options import AppendOptions
from workloads.connection import Connection, Driver, LostError, Response
from workloads.log_driver import LogConsumer, LogProducer, Sending, SendResult
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.raw_clients import RawClients
from workloads.wire.header import Api

LOST_EVERY = 25  # answers to Produce
_MOST_BYTES = 1 << 20  # of one poll


def hasty_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """Acknowledge before they send."""
    return _planted(driver, options, HastyProducer)


def deaf_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """Truthful ones that miss some answers: they record an unknown outcome."""
    return _planted(LossyDriver(driver), options, lambda producer: producer)


def rash_clients(driver: Driver, options: AppendOptions) -> "PlantedClients":
    """They miss answers too, and record a failure."""
    return _planted(LossyDriver(driver), options, RashProducer)


def _planted(
    driver: Driver, options: AppendOptions, plant: Callable[[LogProducer], LogProducer]
) -> "PlantedClients":
    leaders = PartitionLeaders(driver, options.all_partitions())
    raw = RawClients(driver, leaders, options.patience, most_bytes=_MOST_BYTES)
    return PlantedClients(raw=raw, leaders=leaders, plant=plant)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedClients:
    """The raw driver's clients, with altered producers. Implements `LogClients`."""

    raw: RawClients
    leaders: PartitionLeaders
    plant: Callable[[LogProducer], LogProducer]

    @property
    def most_records(self) -> int:
        return self.raw.most_records

    def producer(self, sending: Sending) -> LogProducer:
        return self.plant(self.raw.producer(sending))

    def consumer(self) -> LogConsumer:
        return self.raw.consumer()

    async def close(self) -> None:
        await self.raw.close()
        await self.leaders.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    partition: TopicPartition
    value: int
    records: int


@dataclass(slots=True)
class HastyProducer:
    """Records `ok` at once, and sends when it has the next record; it never sends the last one.

    Its offset would be right if no other client sent to the partition.
    """

    producer: LogProducer
    _ends: dict[TopicPartition, int] = field(default_factory=dict)
    _waiting: _Waiting | None = None

    async def prepare(self, partition: TopicPartition) -> int:
        return await self.producer.prepare(partition)

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        before = self._waiting
        self._waiting = _Waiting(partition=partition, value=value, records=records)
        if before is not None:
            await self._really_send(before)
        offset = self._ends.get(partition, 0)
        self._ends[partition] = offset + records
        return SendResult(outcome=EventType.OK, offset=offset)

    async def close(self) -> None:
        await self.producer.close()

    async def _really_send(self, waiting: _Waiting) -> None:
        await self.producer.prepare(waiting.partition)
        sent = await self.producer.send(waiting.partition, waiting.value, waiting.records)
        if sent.offset is not None:
            self._ends[waiting.partition] = sent.offset + waiting.records


@dataclass(slots=True)
class RashProducer:
    """Records `fail` for every unknown outcome."""

    producer: LogProducer

    async def prepare(self, partition: TopicPartition) -> int:
        return await self.producer.prepare(partition)

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        sent = await self.producer.send(partition, value, records)
        return replace(sent, outcome=EventType.FAIL) if sent.outcome is EventType.INFO else sent

    async def close(self) -> None:
        await self.producer.close()


class LossyDriver:
    """A driver that loses every `LOST_EVERY`th answer to a Produce, and the connection with it.
    Implements `Driver`."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._answers = 0

    @property
    def nodes(self) -> tuple[int, ...]:
        return self._driver.nodes

    async def connect(self, node: int, timeout_s: float) -> Connection:
        return _LossyConnection(await self._driver.connect(node, timeout_s), self.is_lost)

    def is_lost(self) -> bool:
        """Count the answer that just came; whether to lose it."""
        self._answers += 1
        return self._answers % LOST_EVERY == 0


@dataclass(frozen=True, slots=True)
class _LossyConnection:
    connection: Connection
    is_lost: Callable[[], bool]

    @property
    def closed(self) -> bool:
        return self.connection.closed

    async def send(
        self, api: Api, body: bytes, timeout_s: float, read: Callable[[bytes], Response]
    ) -> Response:
        response = await self.connection.send(api, body, timeout_s, read)
        if api is Api.PRODUCE and self.is_lost():
            self.connection.close()
            raise LostError("its answer was dropped on the way")
        return response

    async def tell(self, api: Api, body: bytes, timeout_s: float) -> None:
        await self.connection.tell(api, body, timeout_s)

    def close(self) -> None:
        self.connection.close()
