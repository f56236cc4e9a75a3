"""OffsetForLeaderEpoch of one partition: where an epoch ends in the leader's log (KIP-320)."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

_CONSUMER = struct.pack(">i", -1)
_EPOCHS = struct.Struct(">iii")
_ANY_EPOCH = -1  # of the leader
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnd:
    """`epoch`: the largest one up to the requested one; `end`: the offset after it. Both are -1
    where the leader has none."""

    error: int
    epoch: int
    end: int


def end_of_epoch(topic: str, partition: int, epoch: int) -> bytes:
    """Body of an OffsetForLeaderEpoch (v4)."""
    sought = _EPOCHS.pack(partition, _ANY_EPOCH, epoch) + _NO_TAGS
    return _CONSUMER + array([string(topic) + array([sought]) + _NO_TAGS]) + _NO_TAGS


def read_end_of_epoch(body: bytes, topic: str, partition: int) -> EpochEnd:
    """The result of the one partition. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    named = reader.string()
    reader.expect_one()
    error, index = reader.int16(), reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")
    found = EpochEnd(error=error, epoch=reader.int32(), end=reader.int64())
    reader.tags()
    reader.tags()
    reader.end()
    return found
