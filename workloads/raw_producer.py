"""A producer on the raw driver: one batch in flight, sent to the partition's leader.

Without idempotence a batch is sent once. An idempotent producer sends the same batch, with the same
sequence, until the leader acknowledges it or the time is over: if the log has it already, the
answer has the offset of the first copy. After a send that did not succeed it asks for a new
producer id: the state of the old one's sequence is in doubt. With a transactional id it sends in a
transaction, and gets its producer id from the coordinator: that ends the transaction before.
"""

import asyncio
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.broker_connections import Brokers
from workloads.connection import Driver, LostError, NotSentError
from workloads.log_driver import NOBODY, Sending, SendResult
from workloads.partition_leaders import PartitionLeaders, TopicPartition
from workloads.producer_ids import initialize
from workloads.wire.batch import ANONYMOUS, Identity, encode_batch
from workloads.wire.error_codes import error_name, is_retriable_send, send_outcome
from workloads.wire.header import Api
from workloads.wire.produce import ProducerId, produce, read_produce

_SEARCH_S = 1.0
_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """`request_s`: for one answer. `delivery_s`: for a batch with all its retries."""

    request_s: float
    delivery_s: float


@dataclass(slots=True)
class _Sequences:
    """The sequences of an idempotent producer, by partition."""

    producer_id: int
    epoch: int
    transactional: bool
    next: dict[TopicPartition, int]

    def identity(self, partition: TopicPartition) -> Identity:
        return Identity(
            producer_id=self.producer_id,
            epoch=self.epoch,
            sequence=self.next.get(partition, 0),
            transactional=self.transactional,
        )

    def advance(self, partition: TopicPartition, records: int) -> None:
        self.next[partition] = self.next.get(partition, 0) + records


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    sent: SendResult
    retriable: bool = False


class RawProducer:
    """Implements `LogProducer`."""

    def __init__(
        self, driver: Driver, leaders: PartitionLeaders, sending: Sending, patience: Patience
    ) -> None:
        self._brokers = Brokers(driver, patience.request_s)
        self._leaders = leaders
        self._sending = sending
        self._patience = patience
        self._sequences: _Sequences | None = None
        self._troubled = False
        self._pause_s = _PAUSE_S

    @property
    def producer_id(self) -> ProducerId | None:
        """The producer id to send with; None if it has none, or its last send did not succeed."""
        found = self._sequences
        if found is None:
            return None
        return ProducerId(error=0, producer_id=found.producer_id, epoch=found.epoch)

    async def close(self) -> None:
        self._brokers.close()

    async def prepare(self, partition: TopicPartition) -> int:
        node = await self._leader(partition)
        if node is not None and self._sending.idempotent and self._sequences is None:
            self._sequences = await self._fresh_sequences(node)
            node = self._leaders.known(partition)  # others may have looked meanwhile
        return node if node is not None else NOBODY

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        if self._sending.idempotent and self._sequences is None:
            return self._end(SendResult(outcome=EventType.FAIL, error="no producer id"))
        identity = self._sequences.identity(partition) if self._sequences else ANONYMOUS
        batch = encode_batch(value, records, self._sending.record_bytes, identity)
        body = produce(
            partition.topic,
            partition.partition,
            batch,
            acks=self._sending.acks,
            timeout_ms=int(self._patience.request_s * 1000),
            transactional_id=self._sending.transactional_id,
        )
        if self._sending.acks == 0:
            return self._end(await self._tell(partition, body))
        if not self._sending.idempotent:
            return self._end((await self._attempt(partition, body)).sent)
        sent = await self._deliver(partition, body)
        if self._sequences is not None and sent.outcome is EventType.OK:
            self._sequences.advance(partition, records)
        return self._end(sent)

    async def _leader(self, partition: TopicPartition) -> int | None:
        """Looked up again, after a growing pause, if the last send erred."""
        if self._troubled:
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        found = self._leaders.known(partition)
        if self._troubled or found is None:
            found = await self._leaders.find(partition, _SEARCH_S)
        return found

    async def _fresh_sequences(self, node: int) -> _Sequences | None:
        """None if it gets no producer id: then the next send fails."""
        owner = self._sending.transactional_id
        try:
            response = await initialize(self._brokers, node, owner)
        except (NotSentError, LostError):
            return None
        if response.error:
            return None
        return _Sequences(
            producer_id=response.producer_id,
            epoch=response.epoch,
            transactional=owner is not None,
            next={},
        )

    async def _deliver(self, partition: TopicPartition, body: bytes) -> SendResult:
        """Attempt until it succeeds, is refused for good, or the time is over.

        It failed only if every attempt did: an earlier one may still have been appended.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience.delivery_s
        pause, in_doubt = _PAUSE_S, False
        while True:
            attempt = await self._attempt(partition, body)
            in_doubt |= attempt.sent.outcome is EventType.INFO
            if attempt.sent.outcome is EventType.OK:
                return attempt.sent
            left = deadline - loop.time()
            if not attempt.retriable or left <= 0:
                outcome = EventType.INFO if in_doubt else EventType.FAIL
                return SendResult(outcome=outcome, error=attempt.sent.error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
            await self._leaders.find(partition, min(_SEARCH_S, left))

    async def _attempt(self, partition: TopicPartition, body: bytes) -> _Attempt:
        try:
            produced = await self._brokers.send(
                self._leaders.known(partition),
                Api.PRODUCE,
                body,
                lambda response: read_produce(response, partition.topic, partition.partition),
            )
        except NotSentError as trouble:
            return _Attempt(
                sent=SendResult(outcome=EventType.FAIL, error=str(trouble)), retriable=True
            )
        except LostError as trouble:
            return _Attempt(
                sent=SendResult(outcome=EventType.INFO, error=str(trouble)), retriable=True
            )
        outcome = send_outcome(produced)
        if outcome is EventType.OK:
            return _Attempt(sent=SendResult(outcome=outcome, offset=produced.base_offset))
        return _Attempt(
            sent=SendResult(outcome=outcome, error=error_name(produced.error)),
            retriable=is_retriable_send(produced.error),
        )

    async def _tell(self, partition: TopicPartition, body: bytes) -> SendResult:
        """With acks=0: there is no answer, and nothing is promised of what was sent."""
        try:
            await self._brokers.tell(self._leaders.known(partition), Api.PRODUCE, body)
        except NotSentError as trouble:
            return SendResult(outcome=EventType.FAIL, error=str(trouble))
        except LostError as trouble:
            return SendResult(outcome=EventType.INFO, error=str(trouble))
        return SendResult(outcome=EventType.OK)

    def _end(self, sent: SendResult) -> SendResult:
        self._troubled = sent.outcome is not EventType.OK
        if self._troubled:
            self._sequences = None
        else:
            self._pause_s = _PAUSE_S
        return sent
