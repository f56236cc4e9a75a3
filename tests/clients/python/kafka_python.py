"""kafka-python."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType

from tests.clients.python.program import PATIENCE_S, VALUES, Try, expect, run, until

_LARGEST = 16 << 20


def _admin(at: Try) -> KafkaAdminClient:
    return KafkaAdminClient(bootstrap_servers=at.servers.split(","), request_timeout_ms=60_000)


def _consumer(at: Try, *topics: str, **changes: Any) -> KafkaConsumer:
    return KafkaConsumer(
        *topics,
        bootstrap_servers=at.servers.split(","),
        group_id=at.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=_LARGEST,
        **changes,
    )


def _produce(at: Try, values: Sequence[str] = VALUES, topic: str = "", **changes: Any) -> None:
    producer = KafkaProducer(
        bootstrap_servers=at.servers.split(","), max_request_size=_LARGEST, **changes
    )
    sent = [producer.send(topic or at.topic, each.encode()) for each in values]
    producer.flush(PATIENCE_S)
    for each in sent:
        each.get(PATIENCE_S)
    producer.close()


def _consumed(consumer: KafkaConsumer, count: int) -> list[str]:
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(500, max_records=count - len(found)).values():
            found += [each.value.decode() for each in records]
    return found


def _read_back(at: Try, values: Sequence[str] = VALUES, topic: str = "") -> None:
    consumer = _consumer(at, topic or at.topic)
    found = _consumed(consumer, len(values))
    consumer.close()
    expect(sorted(found), sorted(values), "what was read back")


def round_trip(at: Try, **changes: Any) -> None:
    _produce(at, **changes)
    _read_back(at)


def large(at: Try, size: int) -> None:
    values = ["v" * size]
    _produce(at, values)
    _read_back(at, values)


def metadata(at: Try) -> None:
    admin = _admin(at)
    (found,) = admin.describe_topics([at.topic])
    expect(len(found["partitions"]), 3, "partitions")


def create_topic(at: Try) -> None:
    admin, name = _admin(at), f"{at.name}-made"
    admin.create_topics({name: {"num_partitions": 2, "configs": {"retention.ms": "123456"}}})
    _produce(at, topic=name)
    admin.delete_topics([name])
    until(lambda: name not in admin.list_topics(), "it is gone")


def auto_create(at: Try) -> None:
    name = f"{at.name}-unasked"
    _produce(at, topic=name)
    _read_back(at, topic=name)


def _polled(*consumers: KafkaConsumer) -> list[int]:
    for each in consumers:
        each.poll(100)
    return sorted(len(each.assignment()) for each in consumers)


def group(at: Try) -> None:
    first, second = _consumer(at, at.topic), _consumer(at, at.topic)
    until(lambda: _polled(first, second) == [1, 2], "two members share three partitions")
    second.close()
    until(lambda: _polled(first) == [3], "the one that stays has all")
    first.close()


def static_member(at: Try) -> None:
    """It comes back, and has its partitions."""
    first = _consumer(at, at.topic, group_instance_id="a")
    second = _consumer(at, at.topic, group_instance_id="b")
    until(lambda: _polled(first, second) == [1, 2], "two members share three partitions")
    before = second.assignment()
    second.close()
    again = _consumer(at, at.topic, group_instance_id="b")
    until(lambda: _polled(first, again) == [1, 2], "it is back")
    expect(again.assignment(), before, "its partitions")
    first.close()
    again.close()


def offsets(at: Try) -> None:
    _produce(at)
    consumer = _consumer(at, at.topic)
    before = _consumed(consumer, 4)
    consumer.commit()
    consumer.close()
    again = _consumer(at, at.topic)
    after = _consumed(again, len(VALUES) - len(before))
    again.close()
    expect(sorted(before + after), sorted(VALUES), "what both read")


def seek_by_time(at: Try, **changes: Any) -> None:
    producer = KafkaProducer(bootstrap_servers=at.servers.split(","), linger_ms=100, **changes)
    for number in range(10):
        producer.send(at.topic, b"v", partition=0, timestamp_ms=1000 + number)
    producer.close()
    partition = TopicPartition(at.topic, 0)
    consumer = _consumer(at)
    found = consumer.offsets_for_times({partition: 1006})
    consumer.close()
    expect(found[partition].offset, 6, "the offset of a time")


def groups(at: Try) -> None:
    admin = _admin(at)
    offsets(at)

    def listed() -> bool:
        return at.group in {each["group_id"] for each in admin.list_groups()}

    expect(listed(), True, "it is listed")
    described = admin.describe_groups([at.group])[at.group]
    expect(len(described["members"]), 0, "its members")
    expect(bool(admin.list_group_offsets([at.group])), True, "its offsets")
    admin.delete_groups([at.group])
    expect(listed(), False, "it is listed")


def delete_records(at: Try) -> None:
    _produce(at)
    admin, consumer = _admin(at), _consumer(at)
    parts = [TopicPartition(at.topic, each) for each in range(3)]
    ends = consumer.end_offsets(parts)
    admin.delete_records(ends)
    expect(consumer.beginning_offsets(parts), ends, "where logs begin")
    consumer.close()


def configs(at: Try, **how: Any) -> None:
    admin = _admin(at)
    kind = ConfigResourceType.TOPIC
    admin.alter_configs([ConfigResource(kind, at.topic, {"retention.ms": "654321"})], **how)

    def is_set() -> bool:
        return "654321" in str(admin.describe_configs([ConfigResource(kind, at.topic)]))

    until(is_set, "it is configured so")


def log_dirs(at: Try) -> None:
    _produce(at)
    expect(at.topic in str(_admin(at).describe_log_dirs()), True, "its logs are described")


def transactions(at: Try) -> None:
    producer = KafkaProducer(bootstrap_servers=at.servers.split(","), transactional_id=at.name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(at.topic, b"value")
    producer.commit_transaction()


FEATURES: dict[str, Callable[[Try], None]] = {
    "metadata": metadata,
    "create-topic": create_topic,
    "auto-create": auto_create,
    "acks-0": partial(round_trip, acks=0, enable_idempotence=False),
    "acks-1": partial(round_trip, acks=1, enable_idempotence=False),
    "acks-all": partial(round_trip, acks="all"),
    **{
        each: partial(round_trip, compression_type=each)
        for each in ("gzip", "snappy", "lz4", "zstd")
    },
    "idempotent": partial(round_trip, enable_idempotence=True),
    "message-3mb": partial(large, size=3_000_000),
    "message-10mb": partial(large, size=10_000_000),
    "group": group,
    "static-member": static_member,
    "offsets": offsets,
    "seek-by-time": seek_by_time,
    "seek-in-gzip": partial(seek_by_time, compression_type="gzip"),
    "seek-in-zstd": partial(seek_by_time, compression_type="zstd"),
    "groups": groups,
    "delete-records": delete_records,
    "configs": configs,
    "configs-of-old": partial(configs, incremental=False),
    "log-dirs": log_dirs,
    "transactions": transactions,
}

if __name__ == "__main__":
    run(FEATURES)
