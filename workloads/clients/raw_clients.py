"""The raw driver as a client library, which a workload uses by default: producers, consumers, and
the requests of their transactions."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from checkers.history.events import EventType
from workloads.clients.log_driver import NO_NODE, Aim, LogBounds, PollResult, Sending, SendResult
from workloads.connection import Brokers, Driver, LostError, NotSentError, Response
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.operation_history import Span
from workloads.wire.batch import ANONYMOUS, Identity, encode_batch, next_offset, read_batches
from workloads.wire.error_codes import ErrorCode, error_name, is_retriable_send, send_outcome
from workloads.wire.fetch import (
    EARLIEST,
    LATEST,
    Fetched,
    fetch,
    list_offset,
    read_fetch,
    read_listed,
)
from workloads.wire.group_members import find_coordinator, read_coordinator
from workloads.wire.header import Api
from workloads.wire.produce import (
    DescribedTransaction,
    Ended,
    ProducerId,
    describe_transaction,
    end_transaction,
    init_producer_id,
    produce,
    read_described_transaction,
    read_ended,
    read_produce,
    read_producer_id,
)

# The source of a producer's id: any broker, or the coordinator of its transactions, which also ends
# and describes them.
#
# An error in either answer is part of the result. All functions raise NotSentError or LostError.


async def initialize(brokers: Brokers, node: int, transactional_id: str | None) -> ProducerId:
    """A producer id from `node`, or, for a transactional id, from the coordinator that it names."""
    body = init_producer_id(transactional_id)
    if transactional_id is None:
        return await brokers.send(node, Api.INIT_PRODUCER_ID, body, read_producer_id)
    found = await _send_to_coordinator(
        brokers, node, transactional_id, Api.INIT_PRODUCER_ID, body, read_producer_id
    )
    if isinstance(found, int):
        return ProducerId(error=found, producer_id=-1, epoch=-1)
    return found


async def end(
    brokers: Brokers, node: int, transactional_id: str, producer: ProducerId, *, commits: bool
) -> Ended:
    """By the coordinator that `node` names; it commits, or aborts."""
    body = end_transaction(transactional_id, producer.producer_id, producer.epoch, commits=commits)
    found = await _send_to_coordinator(
        brokers, node, transactional_id, Api.END_TXN, body, read_ended
    )
    return Ended(error=found, producer_id=-1, epoch=-1) if isinstance(found, int) else found


async def describe(brokers: Brokers, node: int, transactional_id: str) -> DescribedTransaction:
    """Described by the coordinator that `node` names."""
    found = await _send_to_coordinator(
        brokers,
        node,
        transactional_id,
        Api.DESCRIBE_TRANSACTIONS,
        describe_transaction(transactional_id),
        read_described_transaction,
    )
    return DescribedTransaction(error=found, state="") if isinstance(found, int) else found


async def _send_to_coordinator(
    brokers: Brokers,
    node: int,
    transactional_id: str,
    api: Api,
    body: bytes,
    read: Callable[[bytes], Response],
) -> Response | int:
    """The error code in the answer that was to name it, if there is one."""
    found = await brokers.send(
        node, Api.FIND_COORDINATOR, find_coordinator(transactional_id), read_coordinator
    )
    if found.error:
        return found.error
    return await brokers.send(found.node, api, body, read)


# A producer on the raw driver: one batch in flight, sent to the partition's leader.
#
# Without idempotence a batch is sent once. An idempotent producer sends the same batch, with the
# same sequence, until the leader acknowledges it or the time is over: if the log has it already,
# the answer has the offset of the first copy. After a send that did not succeed it asks for a new
# producer id: the state of the old one's sequence is in doubt. With a transactional id it sends in
# a transaction, and gets its producer id from the coordinator: that ends the transaction before.


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
        return node if node is not None else NO_NODE

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


# A consumer on the raw driver: each poll is one Fetch of one partition from its leader.


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
        found = node if node is not None else NO_NODE
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


class RawClients:
    """Implements `LogClients`."""

    most_records = 1 << 16

    def __init__(
        self, driver: Driver, leaders: PartitionLeaders, patience: Patience, *, most_bytes: int
    ) -> None:
        self._driver = driver
        self._leaders = leaders
        self._patience = patience
        self._most_bytes = most_bytes

    def producer(self, sending: Sending) -> RawProducer:
        return RawProducer(self._driver, self._leaders, sending, self._patience)

    def consumer(self) -> RawConsumer:
        return RawConsumer(
            self._driver,
            self._leaders,
            timeout_s=self._patience.request_s,
            most_bytes=self._most_bytes,
        )

    async def close(self) -> None:
        """The caller that made `leaders` closes them."""
