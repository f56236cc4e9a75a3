"""How a workload sends to logs and polls them, whichever client library does it.

A producer is told whom a record is for and says what became of it; a consumer is told from where to
read and says what it was given. Neither records: that is the workload's, so that every library is
recorded alike, in the event loop's thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from checkers.history.events import EventType
from workloads.operation_history import Span
from workloads.partition_leaders import TopicPartition

NOBODY = -1  # the node of an operation whose broker is not known, or chosen by a library


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """What became of a send. `offset` is that of its first record, if the answer told it."""

    outcome: EventType
    offset: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What the next poll will ask, and whom: `key` is a partition, or a topic if it may be any.

    `position`: the offset that it asks for, where one partition is asked.
    """

    key: str
    node: int
    partition: TopicPartition | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """What a poll brought, or why it failed.

    `ends` are the positions behind what was read; `lost` are partitions whose position lies outside
    of their log, which have to be assigned anew. `high_watermark` is of the one partition that was
    asked for.
    """

    spans: Sequence[Span] = ()
    error: str | None = None
    high_watermark: int | None = None
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    lost: Sequence[TopicPartition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How a producer sends: acks -1 (all), 0 or 1; records of `record_bytes`.

    With a `transactional_id`, all within a transaction that it does not end: our own producer only.
    """

    acks: int
    idempotent: bool
    record_bytes: int
    transactional_id: str | None = None


class LogProducer(Protocol):
    async def prepare(self, partition: TopicPartition) -> int:
        """Do what comes before a send, and name the node it will go to, or `NOBODY`."""

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        """Send records whose values count up from `value`; never the same twice as two sends."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBounds:
    """First offset of a log, and the one behind the last that may be read."""

    start: int
    end: int


class LogConsumer(Protocol):
    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Poll these partitions from now on, and no others, each from its offset."""

    async def aim(self) -> Aim:
        """What comes before a poll."""

    async def poll(self, aim: Aim) -> PollResult: ...

    async def bounds(self, partition: TopicPartition) -> LogBounds | None:
        """What its leader says of a partition's log; None if it does not."""

    async def close(self) -> None: ...


class LogClients(Protocol):
    """One client library."""

    @property
    def most_records(self) -> int:
        """How many records one send may have."""

    def producer(self, sending: Sending) -> LogProducer: ...

    def consumer(self) -> LogConsumer: ...

    async def close(self) -> None:
        """After all its producers and consumers were closed."""
