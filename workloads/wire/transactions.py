"""EndTxn and DescribeTransactions: commit a transaction, and see how far that is."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

COMPLETE_COMMIT = "CompleteCommit"  # the last transaction is committed in every partition

_PRODUCER = struct.Struct(">qh")
_COMMIT = b"\x01"
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """`state` of the last transaction, in Kafka's words; "" with an error."""

    error: int
    state: str


def commit_transaction(transactional_id: str, producer_id: int, epoch: int) -> bytes:
    """Body of an EndTxn that commits (KIP-98), in a version for transactions to which the brokers
    added the partitions (KIP-890)."""
    return string(transactional_id) + _PRODUCER.pack(producer_id, epoch) + _COMMIT + _NO_TAGS


def read_ended(body: bytes) -> int:
    """The error code. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.skip(_PRODUCER.size)  # of the next transaction
    reader.end()
    return error


def describe_transaction(transactional_id: str) -> bytes:
    """Body of a DescribeTransactions (KIP-664)."""
    return array([string(transactional_id)]) + _NO_TAGS


def read_described_transaction(body: bytes) -> DescribedTransaction:
    """The state of the requested transactional id. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    error = reader.int16()
    reader.name()  # the transactional id
    state = reader.name()
    reader.skip(4 + 8 + _PRODUCER.size)  # time-out, start time, producer
    for _ in range(reader.count()):
        reader.name()
        reader.skip(4 * reader.count())
        reader.tags()
    reader.tags()
    reader.end()
    return DescribedTransaction(error=error, state=state)
