"""kafka-python as the client library of a workload: a client that shares no code with the others.

As with librdkafka, one producer serves all processes that send alike, and only idempotent ones
retry. All its calls may block, so they are made in threads.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as Place
from kafka.errors import (
    BrokerResponseError,
    CorrelationIdError,
    KafkaError,
    KafkaProtocolError,
    KafkaTimeoutError,
    LogTruncationError,
    OffsetOutOfRangeError,
)

from checkers.history.events import MALFORMED, EventType, payload
from workloads.clients.library import REFUSALS, Delivered, Report, in_thread, reported, spans_of
from workloads.clients.log_driver import NO_NODE, Aim, LogBounds, PollResult, Sending, SendResult
from workloads.clients.raw_clients import Patience
from workloads.connection import ClientEntry
from workloads.leader import TopicPartition

_POLL_MS = 100
_REPORT_SLACK_S = 2.0


class KafkaPythonClients:
    """Implements `LogClients`."""

    most_records = 1  # batches are kafka-python's to make

    def __init__(self, entries: Mapping[int, ClientEntry], patience: Patience) -> None:
        self._patience = patience
        self._common: dict[str, Any] = {
            "bootstrap_servers": [f"{each.host}:{each.port}" for each in entries.values()],
            "client_id": "kraft-chaos",
            "request_timeout_ms": int(patience.request_s * 1000),
            "metadata_max_age_ms": 500,
            "reconnect_backoff_max_ms": 500,
            "allow_auto_create_topics": False,
            "metrics_enabled": False,
        }
        self._shared: dict[Sending, KafkaProducer] = {}
        self._pool = ThreadPoolExecutor(max_workers=64, thread_name_prefix="kafka-python")

    def producer(self, sending: Sending) -> "KafkaPythonProducer":
        shared = self._shared.get(sending)
        if shared is None:
            settings = self._common | _producer_settings(sending, self._patience)
            shared = self._shared[sending] = KafkaProducer(**settings)
        return KafkaPythonProducer(shared, sending, self._patience, self._pool)

    def consumer(self) -> "KafkaPythonConsumer":
        consumer = KafkaConsumer(
            **self._common,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="none",
            fetch_max_wait_ms=_POLL_MS,
        )
        return KafkaPythonConsumer(consumer, self._pool)

    async def close(self) -> None:
        """Whatever is still under way is given up by then: ended earlier, the library raises an
        error, and its sender would go on."""
        settled_s = _settled_s(self._patience)
        for shared in self._shared.values():
            await in_thread(self._pool, partial(shared.close, timeout=settled_s))
        self._pool.shutdown(wait=False)


def _settled_s(patience: Patience) -> float:
    """The time within which each record was delivered or given up."""
    return patience.delivery_s + patience.request_s + _REPORT_SLACK_S


def _producer_settings(sending: Sending, patience: Patience) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "acks": sending.acks,
        "enable_idempotence": sending.idempotent,
        "linger_ms": 5,
        "delivery_timeout_ms": int(patience.delivery_s * 1000),
        "max_block_ms": int(patience.request_s * 1000),
    }
    return settings if sending.idempotent else settings | {"retries": 0}


class KafkaPythonProducer:
    """Implements `LogProducer`."""

    def __init__(
        self,
        shared: KafkaProducer,
        sending: Sending,
        patience: Patience,
        pool: ThreadPoolExecutor,
    ) -> None:
        self._shared = shared
        self._sending = sending
        self._timeout_s = _settled_s(patience)
        self._pool = pool

    async def prepare(self, partition: TopicPartition) -> int:  # noqa: ARG002
        return NO_NODE

    async def send(self, partition: TopicPartition, value: int, records: int) -> SendResult:
        assert records == 1, "batches are kafka-python's to make"
        data = payload(value, self._sending.record_bytes)

        async def submit(report: Report) -> None:
            await in_thread(self._pool, partial(self._send, partition, data, report))

        return await reported(submit, self._timeout_s)

    async def close(self) -> None:
        """The producer is shared: it is closed with the clients."""

    def _send(self, partition: TopicPartition, data: bytes, report: Report) -> None:
        try:
            future = self._shared.send(partition.topic, data, partition=partition.partition)
        except KafkaTimeoutError as trouble:  # no metadata or no room: it took nothing
            report(SendResult(outcome=EventType.FAIL, error=f"not taken: {trouble}"))
            return
        future.add_callback(lambda told: report(acknowledged(told.offset, self._sending)))
        future.add_errback(lambda error: report(refused(error, self._sending)))


def acknowledged(offset: int, sending: Sending) -> SendResult:
    """Without acks no broker returned an offset, and kafka-python counts up from -1."""
    known = sending.acks != 0 and offset >= 0
    return SendResult(outcome=EventType.OK, offset=offset if known else None)


def refused(error: Exception, sending: Sending) -> SendResult:
    once = not sending.idempotent
    refused = once and isinstance(error, BrokerResponseError) and error.errno in REFUSALS
    outcome = EventType.FAIL if refused else EventType.INFO
    return SendResult(outcome=outcome, error=_named(error))


def _named(error: Exception) -> str:
    """An unexpected answer may be one to a request that the library itself gave up."""
    malformed = isinstance(error, KafkaProtocolError) and not isinstance(error, CorrelationIdError)
    return f"{MALFORMED}{type(error).__name__}" if malformed else type(error).__name__


class KafkaPythonConsumer:
    """Implements `LogConsumer`; it does not report high watermarks, as with librdkafka."""

    def __init__(self, consumer: KafkaConsumer, pool: ThreadPoolExecutor) -> None:
        self._consumer = consumer
        self._pool = pool
        self._key = ""

    async def assign(self, positions: Mapping[TopicPartition, int]) -> None:
        self._key = ",".join(sorted({each.topic for each in positions}))
        await in_thread(self._pool, partial(self._assign, positions))

    async def aim(self) -> Aim:
        return Aim(key=self._key, node=NO_NODE)

    async def poll(self, aim: Aim) -> PollResult:  # noqa: ARG002
        try:
            found = await in_thread(self._pool, partial(self._consumer.poll, timeout_ms=_POLL_MS))
        except OffsetOutOfRangeError as gone:
            return PollResult(error="OFFSET_OUT_OF_RANGE", lost=_partitions(gone.args[0]))
        except LogTruncationError as gone:
            return PollResult(error="log truncation", lost=_partitions(gone.divergent_offsets))
        except KafkaError as trouble:
            return PollResult(error=_named(trouble))
        records = [
            Delivered(
                key=f"{place.topic}-{place.partition}",
                offset=record.offset,
                data=record.value,
                epoch=record.leader_epoch,
            )
            for place, batch in found.items()
            for record in batch
        ]
        ends = {
            TopicPartition(place.topic, place.partition): batch[-1].offset + 1
            for place, batch in found.items()
            if batch
        }
        return PollResult(spans=spans_of(records), ends=ends)

    async def bounds(self, partition: TopicPartition) -> LogBounds | None:
        place = Place(partition.topic, partition.partition)
        try:
            starts = await in_thread(self._pool, partial(self._consumer.beginning_offsets, [place]))
            ends = await in_thread(self._pool, partial(self._consumer.end_offsets, [place]))
        except KafkaError:
            return None
        return LogBounds(start=starts[place], end=ends[place])

    async def close(self) -> None:
        await in_thread(self._pool, self._consumer.close)

    def _assign(self, positions: Mapping[TopicPartition, int]) -> None:
        places = {Place(each.topic, each.partition): at for each, at in positions.items()}
        self._consumer.assign(list(places))
        for place, at in places.items():
            self._consumer.seek(place, at)


def _partitions(places: Mapping[Place, object]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(place.topic, place.partition) for place in places)
