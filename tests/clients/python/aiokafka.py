"""aiokafka."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.clients.python.program import PATIENCE_S, VALUES, Failed, Try, expect, run

_LARGEST = 16 << 20


async def _produce(
    at: Try, values: Sequence[str] = VALUES, topic: str = "", **changes: Any
) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=at.servers, max_request_size=_LARGEST, **changes)
    await producer.start()
    try:
        for each in values:
            await producer.send_and_wait(topic or at.topic, each.encode())
    finally:
        await producer.stop()


async def _consumer(at: Try, *topics: str, **changes: Any) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=at.servers,
        group_id=at.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=_LARGEST,
        **changes,
    )
    await consumer.start()
    return consumer


async def _consumed(consumer: AIOKafkaConsumer, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        batches = await consumer.getmany(timeout_ms=500, max_records=count - len(found))
        for records in batches.values():
            found += [each.value.decode() for each in records]
    return found


async def _read_back(at: Try, values: Sequence[str] = VALUES, topic: str = "") -> None:
    consumer = await _consumer(at, topic or at.topic)
    found = await _consumed(consumer, len(values))
    await consumer.stop()
    expect(sorted(found), sorted(values), "what was read back")


async def round_trip(at: Try, **changes: Any) -> None:
    await _produce(at, **changes)
    await _read_back(at)


async def large(at: Try, size: int) -> None:
    values = ["v" * size]
    await _produce(at, values)
    await _read_back(at, values)


async def _admin(at: Try) -> AIOKafkaAdminClient:
    admin = AIOKafkaAdminClient(bootstrap_servers=at.servers)
    await admin.start()
    return admin


async def metadata(at: Try) -> None:
    admin = await _admin(at)
    (found,) = await admin.describe_topics([at.topic])
    await admin.close()
    expect(len(found["partitions"]), 3, "partitions")


async def create_topic(at: Try) -> None:
    admin, name = await _admin(at), f"{at.name}-made"
    await admin.create_topics([NewTopic(name=name, num_partitions=2, replication_factor=1)])
    await _produce(at, topic=name)
    await admin.delete_topics([name])
    while name in await admin.list_topics():
        await asyncio.sleep(0.2)
    await admin.close()


async def auto_create(at: Try) -> None:
    name = f"{at.name}-unasked"
    await _produce(at, topic=name)
    await _read_back(at, topic=name)


async def _share(sizes: list[int], *consumers: AIOKafkaConsumer) -> None:
    while True:
        for each in consumers:
            await each.getmany(timeout_ms=100)
        if sorted(len(each.assignment()) for each in consumers) == sizes:
            return


async def group(at: Try) -> None:
    first, second = await _consumer(at, at.topic), await _consumer(at, at.topic)
    await _share([1, 2], first, second)
    await second.stop()
    await _share([3], first)
    await first.stop()


async def static_member(at: Try) -> None:
    first = await _consumer(at, at.topic, group_instance_id="a")
    second = await _consumer(at, at.topic, group_instance_id="b")
    await _share([1, 2], first, second)
    before = second.assignment()
    await second.stop()
    again = await _consumer(at, at.topic, group_instance_id="b")
    await _share([1, 2], first, again)
    expect(again.assignment(), before, "its partitions")
    await first.stop()
    await again.stop()


async def offsets(at: Try) -> None:
    await _produce(at)
    consumer = await _consumer(at, at.topic)
    before = await _consumed(consumer, 4)
    await consumer.commit()
    await consumer.stop()
    again = await _consumer(at, at.topic)
    after = await _consumed(again, len(VALUES) - len(before))
    await again.stop()
    expect(sorted(before + after), sorted(VALUES), "what both read")


async def seek_by_time(at: Try, **changes: Any) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=at.servers, linger_ms=100, **changes)
    await producer.start()
    sent = [
        await producer.send(at.topic, b"v", partition=0, timestamp_ms=1000 + number)
        for number in range(10)
    ]
    await asyncio.gather(*sent)
    await producer.stop()
    partition, consumer = TopicPartition(at.topic, 0), await _consumer(at)
    found = await consumer.offsets_for_times({partition: 1006})
    await consumer.stop()
    expect(found[partition].offset, 6, "the offset of a time")


async def groups(at: Try) -> None:
    await offsets(at)
    admin = await _admin(at)
    listed = await admin.list_consumer_groups()
    expect(at.group in {each[0] for each in listed}, True, "it is listed")
    await admin.describe_consumer_groups([at.group])
    expect(bool(await admin.list_consumer_group_offsets(at.group)), True, "its offsets")
    await admin.close()


async def delete_records(at: Try) -> None:
    await _produce(at)
    admin, consumer = await _admin(at), await _consumer(at)
    parts = [TopicPartition(at.topic, each) for each in range(3)]
    ends = await consumer.end_offsets(parts)
    await admin.delete_records({each: RecordsToDelete(before_offset=ends[each]) for each in parts})
    expect(await consumer.beginning_offsets(parts), ends, "where logs begin")
    await consumer.stop()
    await admin.close()


async def configs(at: Try) -> None:
    admin = await _admin(at)
    kind = ConfigResourceType.TOPIC
    await admin.alter_configs([ConfigResource(kind, at.topic, {"retention.ms": "654321"})])
    while "654321" not in str(await admin.describe_configs([ConfigResource(kind, at.topic)])):
        await asyncio.sleep(0.2)
    await admin.close()


async def transactions(at: Try) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=at.servers, transactional_id=at.name)
    await producer.start()
    async with producer.transaction():
        await producer.send_and_wait(at.topic, b"value")
    await producer.stop()


def _within(feature: Callable[[Try], Awaitable[None]]) -> Callable[[Try], None]:
    async def tried(at: Try) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await feature(at)
        except TimeoutError as late:
            raise Failed(f"nothing came of it in {PATIENCE_S:.0f} s") from late

    return lambda at: asyncio.run(tried(at))


_TRIED: dict[str, Callable[[Try], Awaitable[None]]] = {
    "metadata": metadata,
    "create-topic": create_topic,
    "auto-create": auto_create,
    "acks-0": partial(round_trip, acks=0),
    "acks-1": partial(round_trip, acks=1),
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
    "configs-of-old": configs,
    "transactions": transactions,
}
FEATURES = {name: _within(feature) for name, feature in _TRIED.items()}

if __name__ == "__main__":
    run(FEATURES)
