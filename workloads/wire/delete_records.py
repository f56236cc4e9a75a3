"""DeleteRecords of one partition (KIP-107)."""

import struct

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

_PARTITION = struct.Struct(">iq")
_TIMEOUT = struct.Struct(">i")
_NO_TAGS = b"\x00"


def delete_records(topic: str, partition: int, before: int, *, timeout_ms: int) -> bytes:
    """Body of a DeleteRecords of all records with an offset smaller than `before`."""
    requested = _PARTITION.pack(partition, before) + _NO_TAGS
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
