"""Requests on topics by name: CreateTopics, DeleteTopics, Metadata, CreatePartitions, and
reassignments of partitions.

ElectLeaders 3 (KIP-966, part two): an operator has leaders elected where there are none.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string, varint

_SHAPE = struct.Struct(">ih")
_TIMEOUT = struct.Struct(">i")
_NO_ID = bytes(16)


def create_topic(
    name: str,
    *,
    partitions: int,
    replication: int,
    configs: Mapping[str, str],
    timeout_ms: int,
) -> bytes:
    """Body of a CreateTopics."""
    settings = [string(key) + string(value) + b"\x00" for key, value in configs.items()]
    topic = b"".join(
        (
            string(name),
            _SHAPE.pack(partitions, replication),
            array([]),  # replicas are placed by the controller
            array(settings),
            b"\x00",
        )
    )
    return array([topic]) + _TIMEOUT.pack(timeout_ms) + b"\x00\x00"  # not validate only, tags


def delete_topic(name: str, *, timeout_ms: int) -> bytes:
    """Body of a DeleteTopics."""
    return array([string(name) + _NO_ID + b"\x00"]) + _TIMEOUT.pack(timeout_ms) + b"\x00"


def read_created(body: bytes, name: str) -> int:
    """The error code of the one topic. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    _expect(reader, name)
    reader.skip(16)  # id
    error = reader.int16()
    reader.string()
    reader.skip(_SHAPE.size)
    for _ in range(reader.count()):
        reader.string()
        reader.string()
        reader.skip(3)  # read only, source, sensitive
        reader.tags()
    reader.tags()
    reader.end()
    return error


def read_deleted(body: bytes, name: str) -> int:
    """The error code of the one topic. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    _expect(reader, name)
    reader.skip(16)  # id
    error = reader.int16()
    reader.string()
    reader.tags()
    reader.end()
    return error


def _expect(reader: MessageReader, name: str) -> None:
    reader.expect_one()
    found = reader.string()
    if found != name:
        raise MalformedResponseError(f"answers for topic {found!r}, not {name!r}")


# Metadata: the leaders of partitions as one broker knows them.


_ANY_ID = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedPartition:
    """`leader` is -1 where the partition has none."""

    topic: str
    partition: int
    leader: int
    epoch: int


def metadata(topics: tuple[str, ...]) -> bytes:
    """Body of a Metadata that creates nothing."""
    named = [_ANY_ID + string(topic) + b"\x00" for topic in topics]
    return array(named) + b"\x00\x00\x00"  # no creation, no authorized operations, tags


def read_metadata(body: bytes) -> tuple[LedPartition, ...]:
    """The partitions of topics that this broker knows. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    for _ in range(reader.count()):
        _broker(reader)
    reader.string()  # cluster id
    reader.skip(4)  # controller
    leaders: list[LedPartition] = []
    for _ in range(reader.count()):
        leaders += _topic(reader)
    reader.end()
    return tuple(leaders)


def _broker(reader: MessageReader) -> None:
    reader.skip(4)
    reader.string()
    reader.skip(4)
    reader.string()
    reader.tags()


def _topic(reader: MessageReader) -> list[LedPartition]:
    reader.skip(2)  # error: such a topic has no partitions
    name = reader.string() or ""
    reader.skip(16 + 1)  # id, whether internal
    leaders = [_partition(reader, name) for _ in range(reader.count())]
    reader.skip(4)  # authorized operations
    reader.tags()
    return leaders


def _partition(reader: MessageReader, topic: str) -> LedPartition:
    reader.skip(2)  # error: no leader, or fewer replicas than there should be
    partition, leader, epoch = reader.int32(), reader.int32(), reader.int32()
    for _ in range(3):  # replicas, in sync, offline
        reader.skip(4 * reader.count())
    reader.tags()
    return LedPartition(topic=topic, partition=partition, leader=leader, epoch=epoch)


# CreatePartitions (KIP-195), AlterPartitionReassignments and ListPartitionReassignments (KIP-455).


_INT32 = struct.Struct(">i")
_NO_TAGS, _NO_ASSIGNMENTS, _NOT_ONLY_VALIDATED, _NULL = b"\x00", b"\x00", b"\x00", b"\x00"


def create_partitions(topic: str, count: int, *, timeout_ms: int) -> bytes:
    """Body of a CreatePartitions (v3); the count includes the existing ones."""
    wanted = string(topic) + _INT32.pack(count) + _NO_ASSIGNMENTS + _NO_TAGS
    return array([wanted]) + _INT32.pack(timeout_ms) + _NOT_ONLY_VALIDATED + _NO_TAGS


def read_created_partitions(body: bytes, topic: str) -> int:
    """The error code. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    _expect_reshaped(reader, topic)
    error = reader.int16()
    reader.string()  # error message
    reader.tags()
    reader.end()
    return error


def reassign(
    topic: str, partition: int, replicas: Sequence[int] | None, *, timeout_ms: int
) -> bytes:
    """Body of an AlterPartitionReassignments (v0). `replicas`: None cancels the reassignment."""
    brokers = _NULL if replicas is None else array([_INT32.pack(each) for each in replicas])
    moved = array([_INT32.pack(partition) + brokers + _NO_TAGS])
    return _INT32.pack(timeout_ms) + array([string(topic) + moved + _NO_TAGS]) + _NO_TAGS


def read_reassigned(body: bytes, topic: str, partition: int) -> int:
    """The error code of the request, or of the one partition. Raises MalformedResponseError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.string()  # error message
    for _ in range(reader.count()):
        _expect_reshaped(reader, topic)
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
        _expect_reshaped(reader, topic)
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


def _expect_reshaped(reader: MessageReader, topic: str) -> None:
    named = reader.string()
    if named != topic:
        raise MalformedResponseError(f"answers {named}, not {topic}")


LONGEST_AGGRESSIVE, LONGEST_BALANCED, DESIGNATED = 2, 3, 4  # types of elections


def elect_every_leader(kind: int, *, timeout_ms: int) -> bytes:
    """Body of a request about all partitions without a leader."""
    return bytes((kind,)) + _NULL + timeout_ms.to_bytes(4, "big") + _NO_TAGS


def designate_leaders(leaders: Mapping[tuple[str, int], int], *, timeout_ms: int) -> bytes:
    """Body of a request that names the leaders of partitions, which are topics and indexes."""
    topics = [
        string(topic) + _one(index) + _one(leader) + _NO_TAGS
        for (topic, index), leader in leaders.items()
    ]
    body = bytes((DESIGNATED,)) + array(topics)
    return body + timeout_ms.to_bytes(4, "big") + _NO_TAGS


def _one(number: int) -> bytes:
    """An array of one number."""
    return varint(2) + number.to_bytes(4, "big")


def read_elected(body: bytes) -> dict[str, int]:
    """The error code of each partition that was asked for, by its key; of the whole request by "".
    Raises MalformedAnswerError.
    """
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    found = {"": reader.int16()}
    for _ in range(reader.count()):
        topic = reader.name()
        for _ in range(reader.count()):
            index = reader.int32()
            found[f"{topic}-{index}"] = reader.int16()
            reader.string()  # error message
            reader.tags()
        reader.tags()
    reader.end()
    return found
