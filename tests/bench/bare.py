"""How fast brokers answer clients that do nothing but send: the ceiling of what can be recorded."""

import asyncio
import random
import time
from collections.abc import Mapping
from functools import partial

from workloads.append import AppendOptions
from workloads.connection import Brokers, Driver
from workloads.leader import PartitionLeaders, TopicPartition
from workloads.wire.batch import ANONYMOUS, encode_batch
from workloads.wire.header import Api
from workloads.wire.produce import ALL, produce, read_produce

_LEADERS_WITHIN_S = 10.0
_ANSWER_WITHIN_S = 10.0
_VALUE = 1  # the same in every record: nobody looks at what was sent


async def records_per_s(driver: Driver, options: AppendOptions, seconds: float) -> float:
    """Of as many processes, to the topics that the workload of these options has made: one record
    in flight each, nothing recorded, nobody who polls."""
    partitions = options.all_partitions()
    leaders = PartitionLeaders(driver, partitions)
    try:
        for partition in partitions:
            assert await leaders.find(partition, _LEADERS_WITHIN_S) is not None, partition.key
        frames = {partition: _frame(partition, options.record_bytes) for partition in partitions}
        began = time.monotonic()
        processes = [
            _send(driver, leaders, frames, random.Random(number), began + seconds)
            for number in range(options.producers)
        ]
        sent = sum(await asyncio.gather(*processes))
        return sent / (time.monotonic() - began)
    finally:
        await leaders.close()


def _frame(partition: TopicPartition, record_bytes: int) -> bytes:
    batch = encode_batch(_VALUE, 1, record_bytes, ANONYMOUS)
    timeout_ms = int(_ANSWER_WITHIN_S * 1000)
    return produce(partition.topic, partition.partition, batch, acks=ALL, timeout_ms=timeout_ms)


async def _send(
    driver: Driver,
    leaders: PartitionLeaders,
    frames: Mapping[TopicPartition, bytes],
    rng: random.Random,
    until: float,
) -> int:
    """How many were acknowledged."""
    brokers, partitions, sent = Brokers(driver, _ANSWER_WITHIN_S), list(frames), 0
    try:
        while time.monotonic() < until:
            to = rng.choice(partitions)
            produced = await brokers.send(
                leaders.known(to),
                Api.PRODUCE,
                frames[to],
                partial(read_produce, topic=to.topic, partition=to.partition),
            )
            assert not produced.error, f"error {produced.error} of {to.key}"
            sent += 1
    finally:
        brokers.close()
    return sent
