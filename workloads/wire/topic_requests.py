"""CreateTopics and DeleteTopics, one topic at a time, by name."""

import struct
from collections.abc import Mapping

from workloads.wire.flexible import MalformedResponseError, MessageReader, array, string

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
