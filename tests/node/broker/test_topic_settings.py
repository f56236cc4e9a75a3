"""What a topic's configuration says of batches: how large they may be, and of what time."""

from itertools import combinations_with_replacement
from uuid import UUID

import pytest

from node.codec.varint import encode_signed
from node.controller.image.configurations import BROKER, TOPIC
from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import MS, LogId, Offset
from node.records.batch import HEADER_SIZE as BATCH_HEADER_SIZE
from node.records.batch import check_batch, split_batches
from node.records.metadata import ConfigRecord
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse, ProduceResult
from tests.support.batches import timed_batch, with_header
from tests.support.stepped_broker import FIRST_TOPIC, SteppedBroker

HOUR_MS = 3_600_000
NOW_MS = 1000 * HOUR_MS
LOG = LogId("topic-0-0")
AT = TopicPartition(name="topic-0", id=UUID(int=FIRST_TOPIC.int), index=0)


class Configured:
    """A broker that leads topics which are configured so, and whose clock shows `NOW_MS`."""

    def __init__(self, of_all: dict[str, str] | None = None, **of_topic: str) -> None:
        self.broker = SteppedBroker(partitions=1)
        self.broker.now_ns = NOW_MS * MS
        self.set(BROKER, "", of_all or {})
        self.set(TOPIC, "topic-0", {key.replace("_", "."): each for key, each in of_topic.items()})

    def set(self, kind: int, name: str, values: dict[str, str]) -> None:
        self.broker.tell(
            *(
                ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
                for key, value in values.items()
            ),
            groups=False,
        )

    def send(self, batch: bytes, version: int | None = None) -> ProduceResult:
        request = ProduceRequest(
            acks=1, timeout_ms=1000, partitions=(ProducedPartition(partition=AT, records=batch),)
        )
        header, frame = encode_request(request, correlation_id=1, client_id="c", version=version)
        done = self.broker.serve(frame)
        assert isinstance(done, SendResponse)
        answer = decode_response(header, done.frame)
        assert isinstance(answer, ProduceResponse)
        return answer.results[0]

    def error(self, *times_ms: int) -> ErrorCode:
        return self.send(timed_batch(*times_ms)).error


@pytest.mark.parametrize("of_all", [{}, {"message.max.bytes": "90"}, {"message.max.bytes": "5"}])
def test_a_batch_may_be_as_large_as_its_topic_says(of_all: dict[str, str]) -> None:
    batch = timed_batch(NOW_MS)
    size = str(len(batch))
    assert Configured(of_all, max_message_bytes=size).send(batch).error is ErrorCode.NONE
    smaller = Configured(of_all, max_message_bytes=str(len(batch) - 1))
    assert smaller.send(batch).error is ErrorCode.MESSAGE_TOO_LARGE
    assert smaller.broker.replicas[LOG].next_offset == 0


def test_else_as_is_set_for_all() -> None:
    batch = timed_batch(NOW_MS)
    configured = Configured({"message.max.bytes": str(len(batch) - 1)})
    assert configured.send(batch).error is ErrorCode.MESSAGE_TOO_LARGE
    configured.set(BROKER, "", {"message.max.bytes": str(len(batch))})
    assert configured.send(batch).error is ErrorCode.NONE


def test_a_batch_that_fits_no_segment_is_refused() -> None:
    """As Kafka's defaults allow it where segment.bytes is the least: 1 MiB, and 12 bytes more."""
    plain = timed_batch(NOW_MS)
    configured = Configured(segment_bytes=str(1 << 20))
    largest = large_batch(1 << 20)
    assert configured.send(plain).error is ErrorCode.NONE
    assert configured.send(largest).error is ErrorCode.NONE, "it has a segment of its own"
    assert len(configured.broker.replicas[LOG].segments) == 2
    for size in ((1 << 20) + 1, (1 << 20) + 12):
        assert configured.send(large_batch(size)).error is ErrorCode.RECORD_LIST_TOO_LARGE
    assert configured.send(large_batch((1 << 20) + 13)).error is ErrorCode.MESSAGE_TOO_LARGE
    assert configured.broker.replicas[LOG].next_offset == 2


def large_batch(size: int) -> bytes:
    """A batch of one record, of that size."""
    plain = timed_batch(NOW_MS, records=b"")
    left = size - len(plain)
    for beside in range(6, 20):  # bytes of the record: its lengths are varints
        value = left - beside
        body = b"\0\0\0\x01" + encode_signed(value) + bytes(value) + b"\0"
        record = encode_signed(len(body)) + body
        if len(record) == left:
            return timed_batch(NOW_MS, records=record)
    raise AssertionError(f"no record makes a batch of {size} bytes")


def torn(batch: bytes) -> bytes:
    return batch[:-1]


def displaced(batch: bytes) -> bytes:
    return with_header(batch, base_offset=1)


def damaged(batch: bytes) -> bytes:
    return batch[:-1] + bytes([batch[-1] ^ 1])


def miscounted(batch: bytes) -> bytes:
    return with_header(batch, record_count=2)


def mistaken(batch: bytes) -> bytes:
    """Its only record claims a byte less."""
    at = BATCH_HEADER_SIZE
    return with_header(batch[:at] + bytes([batch[at] - 2]) + batch[at + 1 :])


def late(batch: bytes) -> bytes:
    return with_header(batch, max_timestamp_ms=NOW_MS + 2 * HOUR_MS)


def out_of_order(batch: bytes) -> bytes:
    return with_header(batch, producer_id=7, producer_epoch=0, base_sequence=5)


# What may be wrong with a batch, in the order in which Kafka looks. A setting stands for a batch
# that is larger than it.
FAULTS: dict[object, ErrorCode] = {
    torn: ErrorCode.INVALID_RECORD,
    displaced: ErrorCode.INVALID_RECORD,
    "max.message.bytes": ErrorCode.MESSAGE_TOO_LARGE,
    damaged: ErrorCode.CORRUPT_MESSAGE,
    miscounted: ErrorCode.INVALID_RECORD,
    mistaken: ErrorCode.INVALID_RECORD,
    late: ErrorCode.INVALID_TIMESTAMP,
    "segment.bytes": ErrorCode.RECORD_LIST_TOO_LARGE,
    out_of_order: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
}
# Bytes that are damaged or gone are so after all else was written.
_BY_THE_WAY = (damaged, torn)


@pytest.mark.parametrize(("first", "second"), list(combinations_with_replacement(FAULTS, 2)))
def test_of_two_faults_of_a_batch_the_one_is_told_that_kafka_finds_first(
    first: object, second: object
) -> None:
    """`ProduceRequest.validateRecords`, `UnifiedLog.append`, `LogValidator`: no CRC is computed of
    what is too large, and what was damaged on its way is never taken for its producer's mistake."""
    batch = with_header(timed_batch(NOW_MS), producer_id=7, producer_epoch=0, base_sequence=0)
    configured = Configured()
    assert configured.send(batch).error is ErrorCode.NONE
    faults = sorted({first, second}, key=lambda each: each in _BY_THE_WAY)
    for fault in faults:
        if isinstance(fault, str):
            configured.set(TOPIC, "topic-0", {fault: "1"})
        else:
            assert callable(fault)
            batch = fault(batch)
    assert configured.send(batch).error is FAULTS[first]
    assert configured.broker.replicas[LOG].next_offset == 1


def test_of_another_hour_to_come_nothing_is_taken() -> None:
    """As Kafka has it unless told otherwise (KIP-937); of the past all is."""
    configured = Configured()
    assert configured.error(NOW_MS + HOUR_MS) is ErrorCode.NONE
    assert configured.error(NOW_MS, NOW_MS + HOUR_MS + 1) is ErrorCode.INVALID_TIMESTAMP
    assert configured.error(0, NOW_MS) is ErrorCode.NONE
    assert configured.error(-1) is ErrorCode.NONE, "it says no time"
    assert configured.broker.replicas[LOG].next_offset == 4


def test_times_may_be_as_far_as_the_topic_says() -> None:
    configured = Configured()
    configured.set(
        TOPIC,
        "topic-0",
        {"message.timestamp.before.max.ms": "10", "message.timestamp.after.max.ms": "20"},
    )
    none, refused = ErrorCode.NONE, ErrorCode.INVALID_TIMESTAMP
    assert configured.error(NOW_MS - 10, NOW_MS + 20) is none
    assert configured.error(NOW_MS - 11, NOW_MS) is refused
    assert configured.error(NOW_MS, NOW_MS + 21) is refused
    assert configured.error(-1) is none


@pytest.mark.parametrize("version", [3, 8, 9, 13, None])
def test_a_leader_gives_its_time(version: int | None) -> None:
    configured = Configured()
    configured.set(TOPIC, "topic-0", {"message.timestamp.type": "LogAppendTime"})
    result = configured.send(timed_batch(5, 2 * NOW_MS, 7), version)
    assert (result.error, result.append_ms, result.base_offset) == (0, NOW_MS, 0)
    data = configured.broker.replicas[LOG].read(Offset(0), 1)
    check_batch(data)
    (batch,) = split_batches(data)
    assert [each.timestamp_ms for each in batch.records()] == [NOW_MS] * 3
    assert [each.value for each in batch.records()] == [b"v"] * 3
    log = configured.broker.replicas[LOG]
    assert log.latest_ms(Offset(3)) == NOW_MS
    plain = Configured()
    assert plain.send(timed_batch(5), version).append_ms == -1


def test_records_are_durable_as_often_as_is_told() -> None:
    configured = Configured()
    configured.set(TOPIC, "topic-0", {"flush.messages": "3"})
    flushed = []
    log = configured.broker.replicas[LOG]
    for _ in range(7):
        configured.send(timed_batch(NOW_MS))
        flushed.append(log._unflushed)
    assert flushed == [1, 2, 0, 1, 2, 0, 1]
