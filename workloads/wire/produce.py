"""Produce, one batch to one partition, and InitProducerId; also of transactional producers.

With a Produce of version 12, the broker adds the partition of such a producer's first batch to the
transaction (KIP-890).
"""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import (
    MalformedResponseError,
    MessageReader,
    nullable_string,
    string,
    varint,
)

ALL = -1  # acks: all replicas in sync

_ACKS_AND_TIMEOUT = struct.Struct(">hi")
_INDEX = struct.Struct(">i")
_NO_PRODUCER_YET = struct.pack(">qh", -1, -1)
_TRANSACTION_MS = struct.pack(">i", 60_000)  # its time-out, Kafka's default of producers


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """The answer to a batch. With an error, a `base_offset` of -1 says that nothing was appended:
    after an append, a broker returns its offset also with an error."""

    error: int
    base_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerId:
    error: int
    producer_id: int
    epoch: int


def produce(
    topic: str,
    partition: int,
    batch: bytes,
    *,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None = None,
) -> bytes:
    """Body of a Produce."""
    return b"".join(
        (
            nullable_string(transactional_id),
            _ACKS_AND_TIMEOUT.pack(acks, timeout_ms),
            b"\x02",
            string(topic),
            b"\x02",
            _INDEX.pack(partition),
            varint(len(batch) + 1),
            batch,
            b"\x00\x00\x00",  # tags of partition and topic, tags
        )
    )


def read_produce(body: bytes, topic: str, partition: int) -> Produced:
    """The one partition's result. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.expect_one()
    named = reader.string()
    reader.expect_one()
    index = reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")
    error, base_offset = reader.int16(), reader.int64()
    reader.skip(16)  # append time, log start offset
    for _ in range(reader.count()):
        reader.skip(4)
        reader.string()
        reader.tags()
    reader.string()
    reader.tags()
    reader.tags()
    reader.skip(4)  # throttle time
    reader.end()
    return Produced(error=error, base_offset=base_offset)


def init_producer_id(transactional_id: str | None = None) -> bytes:
    """Body of an InitProducerId; with a transactional id it goes to that id's coordinator."""
    return nullable_string(transactional_id) + _TRANSACTION_MS + _NO_PRODUCER_YET + b"\x00"


def read_producer_id(body: bytes) -> ProducerId:
    """Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error, producer_id, epoch = reader.int16(), reader.int64(), reader.int16()
    reader.end()
    return ProducerId(error=error, producer_id=producer_id, epoch=epoch)
