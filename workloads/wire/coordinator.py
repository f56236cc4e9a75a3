"""FindCoordinator: which broker coordinates a group, or the transactions of a transactional id."""

from dataclasses import dataclass
from enum import IntEnum

from workloads.wire.flexible import MessageReader, array, string

_NO_TAGS = b"\x00"


class KeyType(IntEnum):
    """The kind of key that a coordinator is looked up by."""

    GROUP = 0
    TRANSACTION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    error: int
    node: int


def find_coordinator(key: str, kind: KeyType = KeyType.TRANSACTION) -> bytes:
    """Body of a FindCoordinator."""
    return bytes((kind,)) + array([string(key)]) + _NO_TAGS


def read_coordinator(body: bytes) -> Coordinator:
    """The coordinator of the requested key. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    reader.string()  # the key
    node = reader.int32()
    reader.string()  # its host
    reader.skip(4)  # its port
    error = reader.int16()
    reader.string()  # error message
    reader.tags()
    reader.end()
    return Coordinator(error=error, node=node)
