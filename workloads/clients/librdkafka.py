"""librdkafka (confluent-kafka) as the client library of a workload, with topics by its admin
client.

One librdkafka producer serves all processes that send alike, as in an application, and batches
what they send; its delivery reports come from a thread of ours that polls it. Its own retries hide
the outcome of single attempts, so hardly any of its errors proves that nothing happened. Producers
without idempotence do not retry: a duplicated record would look like a broker's fault.
"""

import asyncio
import itertools
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from checkers.history.asked import TopicShape
from checkers.history.events import MALFORMED, EventType, payload
from workloads.clients.library import (
    REFUSALS,
    Delivered,
    Report,
    TopicResult,
    in_thread,
    reported,
    spans_of,
)
from workloads.clients.log_driver import NO_NODE, Aim, LogBounds, PollResult, Sending, SendResult
from workloads.clients.raw_clients import Patience
from workloads.connection import ClientEntry
from workloads.leader import TopicPartition
from workloads.wire.error_codes import admin_outcome, error_name

# Topics by librdkafka's admin client (confluent-kafka).


class LibrdkafkaTopicClient:
    """Implements `TopicClient`.

    `operation_timeout_s`: how long the brokers are asked to wait until the operation is done.
    """

    def __init__(
        self, entries: Mapping[int, ClientEntry], *, timeout_s: float, operation_timeout_s: float
    ) -> None:
        servers = ",".join(f"{each.host}:{each.port}" for each in entries.values())
        self._client = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        self._timeout_s = timeout_s
        self._operation_timeout_s = operation_timeout_s

    def aim(self) -> int:
        return NO_NODE

    async def create(self, name: str, shape: TopicShape) -> TopicResult:
        topic = NewTopic(
            name,
            num_partitions=shape.partitions,
            replication_factor=shape.replication,
            config=dict(shape.configs),
        )
        requested = self._client.create_topics(
            [topic],
            operation_timeout=self._operation_timeout_s,
            request_timeout=self._timeout_s,
        )
        return await _told(requested[name])

    async def delete(self, name: str) -> TopicResult:
        requested = self._client.delete_topics(
            [name],
            operation_timeout=self._operation_timeout_s,
            request_timeout=self._timeout_s,
        )
        return await _told(requested[name])

    async def close(self) -> None:
        """Nothing to do: the library ends its threads once the client is collected."""


async def _told(requested: Future[None]) -> TopicResult:
    try:
        await asyncio.wrap_future(requested)
    except KafkaException as trouble:
        code = int(trouble.args[0].code())
        if code < 0:  # the library's own: no broker returned it
            return TopicResult(outcome=EventType.INFO, error=str(trouble.args[0].name()))
        return TopicResult(outcome=admin_outcome(code), code=code, error=error_name(code))
    return TopicResult(outcome=EventType.OK, code=0)


_POLL_S = 0.1
_MOST_MESSAGES = 1000  # of one poll
_REPORT_SLACK_S = 2.0  # librdkafka looks for timed-out messages once a second
_BOUNDS_S = 1.0

_Setting = str | int | bool


# Errors of an answer, or of records in one, that it could not read.
_UNREADABLE = frozenset({KafkaError._BAD_MSG, KafkaError._UNDERFLOW})


def _common(entries: Mapping[int, ClientEntry], patience: Patience) -> dict[str, _Setting]:
    """With librdkafka's defaults nothing is sent for most of a minute after a leader's power cut:
    it waits for answers of the dead leader, and refreshes metadata every five minutes."""
    request_ms = int(patience.request_s * 1000)
    return {
        "bootstrap.servers": ",".join(f"{each.host}:{each.port}" for each in entries.values()),
        "client.id": "kraft-chaos",
        "socket.timeout.ms": request_ms,
        "socket.connection.setup.timeout.ms": max(1000, request_ms),
        "topic.metadata.refresh.interval.ms": 500,
        "reconnect.backoff.max.ms": 500,
        "allow.auto.create.topics": False,
        "log_level": 0,  # what it would print on stderr is in the history
    }


class LibrdkafkaClients:
    """Implements `LogClients`."""

    most_records = 1  # batches are librdkafka's to make

    def __init__(self, entries: Mapping[int, ClientEntry], patience: Patience) -> None:
        self._common = _common(entries, patience)
        self._patience = patience
        self._shared: dict[Sending, _SharedProducer] = {}
        self._pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix="librdkafka")
        self._groups = (f"kraft-chaos-{os.getpid()}-{number}" for number in itertools.count())

    def producer(self, sending: Sending) -> "LibrdkafkaProducer":
        shared = self._shared.get(sending)
        if shared is None:
            settings = self._common | _producer_settings(sending, self._patience)
            shared = self._shared[sending] = _SharedProducer(settings)
        return LibrdkafkaProducer(shared, sending, self._patience)

    def consumer(self) -> "LibrdkafkaConsumer":
        settings = self._common | _consumer_settings(next(self._groups))
        return LibrdkafkaConsumer(Consumer(settings), self._pool)

    async def close(self) -> None:
        for shared in self._shared.values():
            await in_thread(self._pool, shared.close)
        self._pool.shutdown(wait=False)


def _producer_settings(sending: Sending, patience: Patience) -> dict[str, _Setting]:
    settings: dict[str, _Setting] = {
        "acks": sending.acks,
        "enable.idempotence": sending.idempotent,
        "linger.ms": 5,
        "request.timeout.ms": int(patience.request_s * 1000),
        "message.timeout.ms": int(patience.delivery_s * 1000),
    }
    return settings if sending.idempotent else settings | {"retries": 0}


def _consumer_settings(group: str) -> dict[str, _Setting]:
    return {
        "group.id": group,  # required; nothing is committed
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "isolation.level": "read_uncommitted",
        "check.crcs": True,
        "fetch.wait.max.ms": int(_POLL_S * 1000),
    }


class _SharedProducer:
    """A librdkafka producer and the thread in which its delivery reports come."""

    def __init__(self, settings: dict[str, _Setting]) -> None:
        self._producer = Producer(settings)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="delivery-reports", daemon=True)
        self._thread.start()

    def send(
        self, partition: TopicPartition, data: bytes, report: Report, sending: Sending
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            report(sent_as_told(error, message, sending))

        try:
            self._producer.produce(
                partition.topic, value=data, partition=partition.partition, on_delivery=delivered
            )
        except (BufferError, KafkaException) as refusal:
            report(SendResult(outcome=EventType.FAIL, error=f"not taken: {refusal}"))

    def close(self) -> None:
        """Reports whatever is still under way as purged."""
        self._producer.purge()
        self._producer.flush(_POLL_S)
        self._closing.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(_POLL_S)


def sent_as_told(error: KafkaError | None, message: Message, sending: Sending) -> SendResult:
    """A delivery report. It has no offset without acks, nor for a batch that the log had
    already."""
    if error is None:
        offset = message.offset()
        known = sending.acks != 0 and offset is not None and offset >= 0
        return SendResult(outcome=EventType.OK, offset=offset if known else None)
    # Purged from the queue: never handed to a connection, unless it was queued to be sent again.
    proof = REFUSALS | {KafkaError._PURGE_QUEUE}
    refused = not sending.idempotent and error.code() in proof
    return SendResult(outcome=EventType.FAIL if refused else EventType.INFO, error=_named(error))


def _named(error: KafkaError) -> str:
    return f"{MALFORMED}{error.name()}" if error.code() in _UNREADABLE else str(error.name())


class LibrdkafkaProducer:
    """Implements `LogProducer`."""

    def __init__(self, shared: _SharedProducer, sending: Sending, patience: Patience) -> None:
        self._shared = shared
        self._sending = sending
        self._timeout_s = patience.delivery_s + _REPORT_SLACK_S

    async def prepare(self, partition: TopicPartition) -> int:  # noqa: ARG002
        return NO_NODE

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        assert records == 1, "batches are librdkafka's to make"
        data = payload(value, self._sending.record_bytes)

        async def submit(report: Report) -> None:
            self._shared.send(partition, data, report, self._sending)

        return await reported(submit, self._timeout_s)

    async def close(self) -> None:
        """The librdkafka producer is shared: it is closed with the clients."""


class LibrdkafkaConsumer:
    """Implements `LogConsumer`. It reports no high watermarks: librdkafka knows only the newest,
    which need not be that of the answer that brought a record."""

    def __init__(self, consumer: Consumer, pool: ThreadPoolExecutor) -> None:
        self._consumer = consumer
        self._pool = pool
        self._key = ""

    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._key = ",".join(sorted({each.topic for each in positions}))
        places = [Place(each.topic, each.partition, at) for each, at in positions.items()]
        await in_thread(self._pool, lambda: self._consumer.assign(places))

    async def aim(self) -> Aim:
        return Aim(key=self._key, node=NO_NODE)

    async def poll(self, aim: Aim) -> PollResult:  # noqa: ARG002
        try:
            messages = await in_thread(
                self._pool, lambda: self._consumer.consume(_MOST_MESSAGES, _POLL_S)
            )
        except KafkaException as trouble:
            return PollResult(error=str(trouble))
        return polled_as_given(messages)

    async def bounds(self, partition: TopicPartition) -> LogBounds | None:
        place = Place(partition.topic, partition.partition)
        try:
            found = await in_thread(
                self._pool, lambda: self._consumer.get_watermark_offsets(place, timeout=_BOUNDS_S)
            )
        except KafkaException:
            return None
        return LogBounds(start=found[0], end=found[1]) if found is not None else None

    async def close(self) -> None:
        await in_thread(self._pool, self._consumer.close)


def polled_as_given(messages: Sequence[Message]) -> PollResult:
    """Records, and errors that librdkafka returns as records."""
    records: list[Delivered] = []
    ends: dict[TopicPartition, int] = {}
    lost: list[TopicPartition] = []
    trouble: str | None = None
    for message in messages:
        topic, index, offset = message.topic(), message.partition(), message.offset()
        error = message.error()
        if error is not None:
            trouble = _named(error)
            if error.code() == KafkaError._AUTO_OFFSET_RESET and topic and index is not None:
                lost.append(TopicPartition(topic, index))
            continue
        assert topic is not None and index is not None and offset is not None  # noqa: PT018
        partition = TopicPartition(topic, index)
        ends[partition] = offset + 1
        epoch, data = message.leader_epoch(), message.value()
        assert data is None or isinstance(data, bytes), "no decoder is set"
        records.append(Delivered(key=partition.key, offset=offset, data=data, epoch=epoch))
    error_of_poll = trouble if not records else None
    return PollResult(spans=spans_of(records), error=error_of_poll, ends=ends, lost=lost)
