"""The interface through which a workload sends to logs and polls them by any client library.

A producer gets the partition of a record and returns its outcome; a consumer gets positions and
returns what it read. Neither writes the history: the workload does, so that every library is
recorded alike, in the event loop's thread.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from checkers.history.events import EventType
from workloads.leader import TopicPartition
from workloads.operation_history import Span

NO_NODE = -1  # no node: the broker of the operation is unknown, or chosen by a library


@dataclass(frozen=True, slots=True, kw_only=True)
class SendResult:
    """The outcome of a send. `offset` is that of its first record, if the answer had it."""

    outcome: EventType
    offset: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What the next poll will read, and from which node: `key` is a partition, or a topic for any.

    `position`: the offset that it asks for, where one partition is asked.
    """

    key: str
    node: int
    partition: TopicPartition | None = None
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """What a poll returned, or why it failed.

    `ends` are the positions behind what was read; `lost` are partitions with a position outside of
    their log, which have to be assigned again. `high_watermark` is that of the one partition of the
    request.
    """

    spans: Sequence[Span] = ()
    error: str | None = None
    high_watermark: int | None = None
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    lost: Sequence[TopicPartition] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """How a producer sends: acks -1 (all), 0 or 1; records of `record_bytes`.

    With a `transactional_id`, all sends are in one transaction, left open: our own producer only.
    """

    acks: int
    idempotent: bool
    record_bytes: int
    transactional_id: str | None = None


class LogProducer(Protocol):
    async def prepare(self, partition: TopicPartition) -> int:
        """Prepare a send, and return the node it will go to, or `NO_NODE`."""

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        """Send records with values that count up from `value`; no two sends share a value."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBounds:
    """The first offset of a log, and the one behind the last readable record."""

    start: int
    end: int


class LogConsumer(Protocol):
    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Poll these partitions from now on, and no others, each from its offset."""

    async def aim(self) -> Aim:
        """Prepare a poll."""

    async def poll(self, aim: Aim) -> PollResult: ...

    async def bounds(self, partition: TopicPartition) -> LogBounds | None:
        """The bounds of a partition's log, from its leader; None without an answer."""

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
