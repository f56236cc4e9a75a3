"""EndTxn, TxnOffsetCommit and DescribeTransactions: a transaction is committed or aborted, what of
a group is committed with it, and how far that is."""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import MessageReader, array, nullable_string, string
from workloads.wire.group_members import committing

COMPLETE_COMMIT = "CompleteCommit"  # the last transaction is committed in every partition

_PRODUCER = struct.Struct(">qh")
_GENERATION = struct.Struct(">i")
_COMMIT, _ABORT = b"\x01", b"\x00"
_NO_TAGS = b"\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The answer to an EndTxn: the identity with which the owner goes on (KIP-890); -1, where it
    is not given."""

    error: int
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """Of a group, in a generation."""

    group: str
    generation: int
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTransaction:
    """`state` of the last transaction, in Kafka's words; "" with an error."""

    error: int
    state: str


def end_transaction(transactional_id: str, producer_id: int, epoch: int, *, commits: bool) -> bytes:
    """Body of an EndTxn that commits or aborts (KIP-98); of a version in which it ends a
    transaction with partitions that the brokers added (KIP-890)."""
    how = _COMMIT if commits else _ABORT
    return string(transactional_id) + _PRODUCER.pack(producer_id, epoch) + how + _NO_TAGS


def read_ended(body: bytes) -> Ended:
    """Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error, producer_id, epoch = reader.int16(), reader.int64(), reader.int16()
    reader.end()
    return Ended(error=error, producer_id=producer_id, epoch=epoch)


def commit_in_transaction(
    transactional_id: str,
    producer: tuple[int, int],
    member: GroupMember,
    topic: str,
    partition: int,
    offset: int,
) -> bytes:
    """Body of a TxnOffsetCommit of one partition (KIP-447); of a version in which the coordinator
    of the group adds it to the transaction (KIP-890). `producer`: its id and epoch. The answer has
    the form of that to an OffsetCommit."""
    prefix = b"".join(
        (
            string(transactional_id),
            string(member.group),
            _PRODUCER.pack(*producer),
            _GENERATION.pack(member.generation),
            string(member.member),
            nullable_string(None),
        )
    )
    return committing(prefix, topic, partition, offset)


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
