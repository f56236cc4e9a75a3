"""FindCoordinator: which broker coordinates the transactions of a transactional id."""

from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

_OF_TRANSACTIONS = b"\x01"
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    error: int
    node: int


def find_coordinator(transactional_id: str) -> bytes:
    """Body of a FindCoordinator."""
    return _OF_TRANSACTIONS + array([string(transactional_id)]) + _NO_TAGS


def read_coordinator(body: bytes) -> Coordinator:
    """Of the one that was asked for. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    reader.string()  # whose
    node = reader.int32()
    reader.string()  # its host
    reader.skip(4)  # its port
    error = reader.int16()
    reader.string()  # the error in words
    reader.tags()
    reader.end()
    return Coordinator(error=error, node=node)
