"""Produce, one batch to one partition, and InitProducerId; also of transactional producers.

With a Produce of version 12, the broker adds the partition of such a producer's first batch to the
transaction (KIP-890).

EndTxn, TxnOffsetCommit and DescribeTransactions: a transaction is committed or aborted, what of
a group is committed with it, and how far that is.
"""

import struct
from dataclasses import dataclass

from workloads.wire.flexible import (
    MalformedResponseError,
    MessageReader,
    array,
    nullable_string,
    string,
    varint,
)
from workloads.wire.group_members import committing

ALL = -1  # acks: all replicas in sync

_ACKS_AND_TIMEOUT = struct.Struct(">hi")
_INDEX = struct.Struct(">i")
_NO_PRODUCER_YET = struct.pack(">qh", -1, -1)
_TRANSACTION_MS = struct.pack(">i", 60_000)  # its time-out, Kafka's default of producers


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """The answer to a batch. With an error, a `base_offset` of -1 says that nothing was appended:
    after an append, a broker returns its offset also with an error."""

    error: int
    base_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerId:
    error: int
    producer_id: int
    epoch: int


def produce(
    topic: str,
    partition: int,
    batch: bytes,
    *,
    acks: int,
    timeout_ms: int,
    transactional_id: str | None = None,
) -> bytes:
    """Body of a Produce."""
    return b"".join(
        (
            nullable_string(transactional_id),
            _ACKS_AND_TIMEOUT.pack(acks, timeout_ms),
            b"\x02",
            string(topic),
            b"\x02",
            _INDEX.pack(partition),
            varint(len(batch) + 1),
            batch,
            b"\x00\x00\x00",  # tags of partition and topic, tags
        )
    )


def read_produce(body: bytes, topic: str, partition: int) -> Produced:
    """The one partition's result. Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.expect_one()
    named = reader.string()
    reader.expect_one()
    index = reader.int32()
    if (named, index) != (topic, partition):
        raise MalformedResponseError(f"answers {named}-{index}, not {topic}-{partition}")
    error, base_offset = reader.int16(), reader.int64()
    reader.skip(16)  # append time, log start offset
    for _ in range(reader.count()):
        reader.skip(4)
        reader.string()
        reader.tags()
    reader.string()
    reader.tags()
    reader.tags()
    reader.skip(4)  # throttle time
    reader.end()
    return Produced(error=error, base_offset=base_offset)


def init_producer_id(transactional_id: str | None = None) -> bytes:
    """Body of an InitProducerId; with a transactional id it goes to that id's coordinator."""
    return nullable_string(transactional_id) + _TRANSACTION_MS + _NO_PRODUCER_YET + b"\x00"


def read_producer_id(body: bytes) -> ProducerId:
    """Raises MalformedAnswerError."""
    reader = MessageReader(body)
    reader.skip(4)  # throttle time
    error, producer_id, epoch = reader.int16(), reader.int64(), reader.int16()
    reader.end()
    return ProducerId(error=error, producer_id=producer_id, epoch=epoch)


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
