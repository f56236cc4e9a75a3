"""Records that wait to be appended together: one batch, one flush, for all writes of a moment."""

from collections.abc import Sequence
from dataclasses import field

from node import limits
from node.ids import NEVER_NS, ConnectionId, Offset
from node.lazy_dataclass import dataclass
from node.records.batch import HEADER_SIZE, RECORD_OVERHEAD
from node.records.metadata import MetadataRecord, encode_metadata


@dataclass(slots=True)
class Accumulation:
    """The records of one batch in the order they were decided, as they are and as bytes, and the
    clients that wait for them. `size` bounds the bytes of the batch."""

    records: list[MetadataRecord] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    writers: list[ConnectionId] = field(default_factory=list)
    size: int = HEADER_SIZE


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedBatch:
    """What was appended in one batch, whose last offset is `last`."""

    last: Offset
    records: list[MetadataRecord]
    writers: list[ConnectionId]


def encode_all(records: Sequence[MetadataRecord], level: int) -> Accumulation:
    """What is to be appended at once or not at all, and how large it is; as metadata.version has
    it."""
    values = [encode_metadata(record, level) for record in records]
    size = HEADER_SIZE + sum(len(value) + RECORD_OVERHEAD for value in values)
    return Accumulation(records=list(records), values=values, size=size)


class Accumulator:
    def __init__(self, linger_ns: int) -> None:
        self._linger_ns = linger_ns
        self._batches: list[Accumulation] = []  # all but the last are full
        self.deadline_ns = NEVER_NS  # when they are to be appended

    def add(self, added: Accumulation, mono_ns: int) -> None:
        """The first record starts the clock; a full batch stops it."""
        if not self._batches:
            self._batches.append(Accumulation())
            self.deadline_ns = mono_ns + self._linger_ns
        elif self._batches[-1].size + added.size > limits.MAX_BATCH_BYTES:
            self._batches.append(Accumulation())
            self.deadline_ns = mono_ns
        last = self._batches[-1]
        last.records += added.records
        last.values += added.values
        last.writers += added.writers
        last.size += added.size
        if len(last.records) >= limits.MAX_RECORDS_PER_BATCH:
            self.deadline_ns = mono_ns

    def count(self) -> int:
        """Of the records that gathered."""
        return sum(len(batch.records) for batch in self._batches)

    def take(self) -> list[Accumulation]:
        """What gathered, a batch each, oldest first."""
        taken, self._batches = self._batches, []
        self.deadline_ns = NEVER_NS
        return taken
