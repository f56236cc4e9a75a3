"""What a topic's configuration says of batches: how large they may be, and of what time."""

from uuid import UUID

import pytest

from node.controller.image.configurations import BROKER, TOPIC
from node.effects import SendResponse
from node.errors import ErrorCode
from node.ids import MS, LogId, Offset
from node.records.batch import check_batch, split_batches
from node.records.metadata import ConfigRecord
from node.wire.broker_frames import decode_response, encode_request
from node.wire.entities import TopicPartition
from node.wire.produce import ProducedPartition, ProduceRequest, ProduceResponse, ProduceResult
from tests.support.batches import timed_batch
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
        role = self.broker.node.core.role
        for key, value in values.items():
            record = ConfigRecord(resource_type=kind, resource_name=name, name=key, value=value)
            role.follower.image.replay(record)
        role.replicas.follow(role.follower.image, self.broker.now_ns)

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
