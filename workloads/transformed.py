"""What a transformation puts out: which record of its input it processed, in which transaction.

A record of the output names the log of the input in its key, and in its value the number of the
transaction (`History.new_request`) and the offset that it processed. No reader takes it for a
record of the load.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from workloads.wire.batch import Identity, KeyedRecord, keyed_batch
from workloads.wire.flexible import MalformedResponseError

_VALUE = struct.Struct(">qqb")  # a byte more than two words: values of the load are whole words


@dataclass(frozen=True, slots=True, kw_only=True)
class Processed:
    """The record at `offset` of the log `key`, by the transaction of that number."""

    key: str
    offset: int
    transaction: int


def output_batch(key: str, offsets: Iterable[int], transaction: int, identity: Identity) -> bytes:
    """One record for each record of the input."""
    records = [(key.encode(), _VALUE.pack(transaction, offset, 0)) for offset in offsets]
    return keyed_batch(*records, identity=identity)


def processed(record: KeyedRecord) -> Processed:
    """Raises MalformedResponseError for what no transformation of ours put out."""
    try:
        transaction, offset, _ = _VALUE.unpack(record.value)
        key = record.key.decode()
    except (struct.error, UnicodeDecodeError):
        raise MalformedResponseError(f"offset {record.offset} is not of a transformation") from None
    return Processed(key=key, offset=offset, transaction=transaction)
