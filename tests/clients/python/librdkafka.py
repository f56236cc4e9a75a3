"""librdkafka, by way of confluent-kafka."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from tests.clients.python.program import PATIENCE_S, VALUES, Failed, Try, expect, run, until


def _admin(at: Try) -> AdminClient:
    return AdminClient({"bootstrap.servers": at.servers, "log_level": 0})


def _done(futures: dict[Any, Future[Any]]) -> list[Any]:
    return [each.result(PATIENCE_S) for each in futures.values()]


def _consumer(at: Try, **changes: Any) -> Consumer:
    settings: dict[str, object] = {
        "bootstrap.servers": at.servers,
        "group.id": at.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
        "fetch.message.max.bytes": 16 << 20,
        **{key.replace("_", "."): value for key, value in changes.items()},
    }
    return Consumer(settings)


def _produce(at: Try, values: Sequence[str] = VALUES, topic: str = "", **changes: Any) -> None:
    settings = {key.replace("_", "."): value for key, value in changes.items()}
    producer = Producer(
        {
            "bootstrap.servers": at.servers,
            "log_level": 0,
            "message.max.bytes": 16 << 20,
            "message.timeout.ms": int(PATIENCE_S * 1000),
            **settings,
        }
    )
    failed: list[str] = []
    for value in values:
        producer.produce(
            topic or at.topic,
            value.encode(),
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )
    if producer.flush(PATIENCE_S) or failed:
        raise Failed(f"not delivered: {failed[:1]}")


def _consumed(consumer: Consumer, count: int) -> list[str]:
    found: list[str] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append((message.value() or b"").decode())
    return found


def _read_back(at: Try, values: Sequence[str] = VALUES, topic: str = "") -> None:
    consumer = _consumer(at)
    consumer.subscribe([topic or at.topic])
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
    expect(len(_admin(at).list_topics(timeout=PATIENCE_S).topics[at.topic].partitions), 3, "parts")


def create_topic(at: Try) -> None:
    admin, name = _admin(at), f"{at.name}-made"
    _done(admin.create_topics([NewTopic(name, 2, config={"retention.ms": "123456"})]))
    _produce(at, topic=name)
    _done(admin.delete_topics([name]))
    until(lambda: name not in admin.list_topics(timeout=10).topics, "it is gone")


def auto_create(at: Try) -> None:
    name = f"{at.name}-unasked"
    _produce(at, topic=name)
    _read_back(at, topic=name)


def group(at: Try) -> None:
    first, second = _consumer(at), _consumer(at)
    first.subscribe([at.topic])
    second.subscribe([at.topic])

    def polled(*consumers: Consumer) -> list[int]:
        for each in consumers:
            each.poll(0.1)
        return sorted(len(each.assignment()) for each in consumers)

    until(lambda: polled(first, second) == [1, 2], "two members share three partitions")
    second.close()
    until(lambda: polled(first) == [3], "the one that stays has all")
    first.close()


def static_member(at: Try) -> None:
    """It comes back, and has its partitions without a rebalance of the other."""
    names = ("a", "b")
    members = [_consumer(at, group_instance_id=each) for each in names]
    revoked: list[int] = []
    members[0].subscribe([at.topic], on_revoke=lambda _, parts: revoked.append(len(parts)))
    members[1].subscribe([at.topic])

    def are_shared() -> bool:
        for each in members:
            each.poll(0.1)
        return sorted(len(each.assignment()) for each in members) == [1, 2]

    until(are_shared, "two members share three partitions")
    before, shared = len(revoked), sorted(p.partition for p in members[1].assignment())
    members[1].close()
    members[1] = _consumer(at, group_instance_id="b")
    members[1].subscribe([at.topic])
    until(are_shared, "it is back")
    expect(sorted(p.partition for p in members[1].assignment()), shared, "its partitions")
    expect(len(revoked), before, "rebalances of the other")
    for each in members:
        each.close()


def offsets(at: Try) -> None:
    _produce(at)
    consumer = _consumer(at)
    consumer.subscribe([at.topic])
    before = _consumed(consumer, 4)
    consumer.commit(asynchronous=False)
    consumer.close()
    again = _consumer(at)
    again.subscribe([at.topic])
    after = _consumed(again, len(VALUES) - len(before))
    again.close()
    expect(sorted(before + after), sorted(VALUES), "what both read")


def seek_by_time(at: Try, codec: str = "none") -> None:
    settings = {"bootstrap.servers": at.servers, "log_level": 0, "linger.ms": 100}
    producer = Producer({**settings, "compression.type": codec})
    for number in range(10):
        producer.produce(at.topic, str(number).encode(), partition=0, timestamp=1000 + number)
    producer.flush(PATIENCE_S)
    consumer = _consumer(at)
    (found,) = consumer.offsets_for_times([TopicPartition(at.topic, 0, 1006)], PATIENCE_S)
    expect(found.offset, 6, "the offset of a time")
    consumer.close()


def groups(at: Try) -> None:
    admin = _admin(at)
    offsets(at)
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    expect(at.group in {each.group_id for each in listed.valid}, True, "it is listed")
    (described,) = _done(admin.describe_consumer_groups([at.group]))
    expect(len(described.members), 0, "its members")
    (found,) = _done(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(at.group)]))
    expect(bool(found.topic_partitions), True, "its offsets")
    _done(admin.delete_consumer_groups([at.group]))
    listed = admin.list_consumer_groups().result(PATIENCE_S)
    expect(at.group in {each.group_id for each in listed.valid}, False, "it is deleted")


def delete_records(at: Try) -> None:
    _produce(at)
    admin, parts = _admin(at), [TopicPartition(at.topic, each) for each in range(3)]
    latest: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    earliest: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    ends = admin.list_offsets(dict.fromkeys(parts, latest))
    wanted = [
        TopicPartition(at.topic, each.partition, future.result(PATIENCE_S).offset)
        for each, future in ends.items()
    ]
    _done(admin.delete_records(wanted))
    starts = admin.list_offsets(dict.fromkeys(parts, earliest))
    found = {each.partition: future.result(PATIENCE_S).offset for each, future in starts.items()}
    expect(found, {each.partition: each.offset for each in wanted}, "where logs begin")


def configs(at: Try) -> None:
    admin = _admin(at)
    change = ConfigEntry("retention.ms", "654321", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, at.topic, incremental_configs=[change])
    _done(admin.incremental_alter_configs([resource]))

    def is_set() -> bool:
        (found,) = _done(admin.describe_configs([ConfigResource(ResourceType.TOPIC, at.topic)]))
        return bool(found["retention.ms"].value == "654321")

    until(is_set, "it is configured so")


def transactions(at: Try) -> None:
    producer = Producer(
        {"bootstrap.servers": at.servers, "transactional.id": at.name, "log_level": 0}
    )
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(at.topic, b"value")
    producer.commit_transaction(PATIENCE_S)


FEATURES: dict[str, Callable[[Try], None]] = {
    "metadata": metadata,
    "create-topic": create_topic,
    "auto-create": auto_create,
    "acks-0": partial(round_trip, acks="0"),
    "acks-1": partial(round_trip, acks="1"),
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
    "seek-in-gzip": partial(seek_by_time, codec="gzip"),
    "seek-in-zstd": partial(seek_by_time, codec="zstd"),
    "groups": groups,
    "delete-records": delete_records,
    "configs": configs,
    "transactions": transactions,
}

if __name__ == "__main__":
    run(FEATURES)
