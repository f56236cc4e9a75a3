"""CreatePartitions (KIP-195), AlterPartitionReassignments and ListPartitionReassignments (KIP-455),
for one topic, or one of its partitions."""

import struct
from collections.abc import Sequence

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

_INT32 = struct.Struct(">i")
_NO_TAGS, _NO_ASSIGNMENTS, _NOT_ONLY_VALIDATED = b"\x00", b"\x00", b"\x00"


def create_partitions(topic: str, count: int, *, timeout_ms: int) -> bytes:
    """Body of a CreatePartitions (v3); the count includes the existing ones."""
    wanted = string(topic) + _INT32.pack(count) + _NO_ASSIGNMENTS + _NO_TAGS
    return array([wanted]) + _INT32.pack(timeout_ms) + _NOT_ONLY_VALIDATED + _NO_TAGS


def read_created_partitions(body: bytes, topic: str) -> int:
    """The error code. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    _expect(reader, topic)
    error = reader.int16()
    reader.string()  # error message
    reader.tags()
    reader.end()
    return error


def reassign(topic: str, partition: int, replicas: Sequence[int], *, timeout_ms: int) -> bytes:
    """Body of an AlterPartitionReassignments (v0)."""
    brokers = array([_INT32.pack(each) for each in replicas])
    moved = array([_INT32.pack(partition) + brokers + _NO_TAGS])
    return _INT32.pack(timeout_ms) + array([string(topic) + moved + _NO_TAGS]) + _NO_TAGS


def read_reassigned(body: bytes, topic: str, partition: int) -> int:
    """The error code of the request, or of the one partition. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()  # error message
    for _ in range(reader.count()):
        _expect(reader, topic)
        reader.expect_one()
        index = reader.int32()
        if index != partition:
            raise MalformedResponseError(f"answers {topic}-{index}, not {topic}-{partition}")
        error = reader.int16() or error
        reader.string()  # error message
        reader.tags()
        reader.tags()
    reader.end()
    return error


def list_reassignments(topic: str, partition: int, *, timeout_ms: int) -> bytes:
    """Body of a ListPartitionReassignments (v0)."""
    asked = string(topic) + array([_INT32.pack(partition)]) + _NO_TAGS
    return _INT32.pack(timeout_ms) + array([asked]) + _NO_TAGS


def read_reassignments(body: bytes, topic: str, partition: int) -> tuple[int, bool]:
    """The error code, and whether the partition is being reassigned. Raises
    MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error, goes_on = reader.int16(), False
    reader.string()  # error message
    for _ in range(reader.count()):
        _expect(reader, topic)
        reader.expect_one()
        index, goes_on = reader.int32(), True
        if index != partition:
            raise MalformedResponseError(f"answers {topic}-{index}, not {topic}-{partition}")
        for _replicas_adding_removing in range(3):
            reader.skip(4 * reader.count())
        reader.tags()
        reader.tags()
    reader.end()
    return error, goes_on


def _expect(reader: MessageReader, topic: str) -> None:
    named = reader.string()
    if named != topic:
        raise MalformedResponseError(f"answers {named}, not {topic}")
