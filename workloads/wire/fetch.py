"""Requests on one partition's log: Fetch (outside any session), ListOffsets, DeleteRecords and
OffsetForLeaderEpoch."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

EARLIEST, LATEST = -2, -1

_CONSUMER = -1
_READ_UNCOMMITTED, _READ_COMMITTED = 0, 1
_NO_SESSION = struct.pack(">ii", 0, -1)
_LIMITS = struct.Struct(">iiiib")
_PARTITION = struct.Struct(">iiqiqi")
_QUESTION = struct.Struct(">iiq")
_UNKNOWN_EPOCH = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a leader had. `data` are record batches, the last of them perhaps cut; `aborted` are
    transactions that have records in it, by producer id and first offset, where a reader
    of committed ones asked."""

    error: int
    high_watermark: int
    log_start: int
    data: bytes
    aborted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffset:
    error: int
    offset: int


def fetch(
    topic: str,
    partition: int,
    offset: int,
    *,
    most_bytes: int,
    wait_ms: int,
    committed: bool = False,
) -> bytes:
    """Body of a Fetch that waits `wait_ms` for the first byte. `committed`: it is given nothing
    that stands behind an open transaction, and told which ones were aborted (KIP-98)."""
    isolation = _READ_COMMITTED if committed else _READ_UNCOMMITTED
    return b"".join(
        (
            _LIMITS.pack(_CONSUMER, wait_ms, 1, most_bytes, isolation),
            _NO_SESSION,
            b"\x02",
            string(topic),
            b"\x02",
            _PARTITION.pack(partition, _UNKNOWN_EPOCH, offset, _UNKNOWN_EPOCH, -1, most_bytes),
            b"\x00\x00\x01\x01\x00",  # tags twice, nothing forgotten, no rack, tags
        )
    )


def read_fetch(body: bytes, topic: str, partition: int) -> Fetched:
    """The one partition's result. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.skip(4)  # session
    if error:
        return Fetched(error=error, high_watermark=-1, log_start=-1, data=b"")
    _expect(reader, topic, partition)
    error, high_watermark = reader.int16(), reader.int64()
    reader.skip(8)  # last stable offset
    log_start = reader.int64()
    aborted = []
    for _ in range(reader.count()):
        aborted.append((reader.int64(), reader.int64()))
        reader.tags()
    reader.skip(4)  # preferred read replica
    data = reader.data_block()
    reader.tags()
    reader.tags()
    reader.end()
    return Fetched(
        error=error,
        high_watermark=high_watermark,
        log_start=log_start,
        data=data,
        aborted=tuple(aborted),
    )


def list_offset(topic: str, partition: int, timestamp: int, *, committed: bool = False) -> bytes:
    """Body of a ListOffsets for `EARLIEST`, for `LATEST`, the end of the readable log, or for the
    first record that is not older than a timestamp, in ms since 1970. `committed`: with isolation
    level read_committed."""
    isolation = _READ_COMMITTED if committed else _READ_UNCOMMITTED
    return b"".join(
        (
            struct.pack(">ib", _CONSUMER, isolation),
            b"\x02",
            string(topic),
            b"\x02",
            _QUESTION.pack(partition, _UNKNOWN_EPOCH, timestamp),
            b"\x00\x00\x00",
        )
    )


def read_listed(body: bytes, topic: str, partition: int) -> ListedOffset:
    """The one partition's result. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    _expect(reader, topic, partition)
    error = reader.int16()
    reader.skip(8)  # timestamp
    offset = reader.int64()
    reader.skip(4)  # leader epoch
    reader.tags()
    reader.tags()
    reader.end()
    return ListedOffset(error=error, offset=offset)


def _expect(reader: MessageReader, topic: str, partition: int) -> None:
    reader.expect_one()
    named = reader.string()
    reader.expect_one()
    index = reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")


# DeleteRecords of one partition (KIP-107).


_DELETED_PARTITION = struct.Struct(">iq")
_TIMEOUT = struct.Struct(">i")
_NO_TAGS = b"\x00"


def delete_records(topic: str, partition: int, before: int, *, timeout_ms: int) -> bytes:
    """Body of a DeleteRecords of all records with an offset smaller than `before`."""
    requested = _DELETED_PARTITION.pack(partition, before) + _NO_TAGS
    return (
        array([string(topic) + array([requested]) + _NO_TAGS])
        + _TIMEOUT.pack(timeout_ms)
        + _NO_TAGS
    )


def read_deleted_records(body: bytes, topic: str, partition: int) -> int:
    """The error code of the one partition. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    named = reader.string()
    reader.expect_one()
    index = reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")
    reader.skip(8)  # low watermark
    error = reader.int16()
    reader.tags()
    reader.tags()
    reader.end()
    return error


# OffsetForLeaderEpoch of one partition: where an epoch ends in the leader's log (KIP-320).


_EPOCH_CONSUMER = struct.pack(">i", -1)
_EPOCHS = struct.Struct(">iii")
_ANY_EPOCH = -1  # of the leader


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
    return _EPOCH_CONSUMER + array([string(topic) + array([sought]) + _NO_TAGS]) + _NO_TAGS


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
