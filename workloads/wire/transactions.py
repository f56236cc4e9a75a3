"""EndTxn and DescribeTransactions: a transaction is committed, and how far that is."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, string

COMPLETE_COMMIT = "CompleteCommit"  # the last transaction was committed, and every partition told

_PRODUCER = struct.Struct(">qh")
_COMMIT = b"\x01"
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """`state` in Kafka's word, of the last transaction; "" with an error."""

    error: int
    state: str


def commit_transaction(transactional_id: str, producer_id: int, epoch: int) -> bytes:
    """Body of an EndTxn that commits (KIP-98); of a version in which it ends a transaction whose
    partitions the brokers added (KIP-890)."""
    return string(transactional_id) + _PRODUCER.pack(producer_id, epoch) + _COMMIT + _NO_TAGS


def read_ended(body: bytes) -> int:
    """The error code. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error = reader.int16()
    reader.skip(_PRODUCER.size)  # those of the transaction that follows
    reader.end()
    return error


def describe_transaction(transactional_id: str) -> bytes:
    """Body of a DescribeTransactions (KIP-664)."""
    return array([string(transactional_id)]) + _NO_TAGS


def read_described_transaction(body: bytes) -> DescribedTransaction:
    """Of the one that was asked for. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    reader.expect_one()
    error = reader.int16()
    reader.name()  # whose
    state = reader.name()
    reader.skip(4 + 8 + _PRODUCER.size)  # its time-out, and since when; who
    for _ in range(reader.count()):
        reader.name()
        reader.skip(4 * reader.count())
        reader.tags()
    reader.tags()
    reader.end()
    return DescribedTransaction(error=error, state=state)
