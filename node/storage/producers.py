"""What is in a log of its idempotent producers (KIP-98, `ProducerStateManager`): of each the newest
batches, by which a batch is known again, and what may follow is told.

A function of the batches that the log has, or has had: what was deleted of it is remembered
(KIP-360), until nothing was heard of a producer for producer.id.expiration.ms.
"""

from collections.abc import Iterator
from dataclasses import field

from node.ids import Offset
from node.lazy_dataclass import dataclass
from node.records.batch import BatchHeader

NO_PRODUCER = -1
REMEMBERED = 5  # batches of one producer: as many as one may have in flight
SEQUENCES = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A batch that is in the log."""

    first: int  # sequence numbers
    last: int
    base: Offset
    end: Offset
    time_ms: int  # the latest of its records


@dataclass(slots=True, kw_only=True)
class Producer:
    """`batches`: of its epoch, the newest last; none where a transaction's end alone told of it."""

    epoch: int
    time_ms: int  # of what it wrote last
    batches: list[Known] = field(default_factory=list)

    def copy(self) -> "Producer":
        return Producer(epoch=self.epoch, time_ms=self.time_ms, batches=[*self.batches])


class KnownProducers:
    """Of one log, by their ids."""

    def __init__(self) -> None:
        self._known: dict[int, Producer] = {}
        self.end = Offset(0)  # behind all batches of theirs: a cut there or later changes nothing

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[tuple[int, Producer]]:
        return iter(self._known.items())

    def find(self, producer: int) -> Producer | None:
        return self._known.get(producer)

    def appended(self, header: BatchHeader) -> None:
        """The next batch of the log."""
        if header.producer_id == NO_PRODUCER:
            return
        self._known[header.producer_id] = followed(self.find(header.producer_id), header)
        self.end = header.next_offset

    def restored(self, producer: int, epoch: int, time_ms: int, batch: Known | None) -> None:
        """The next one of a snapshot."""
        known = self._known.get(producer)
        if known is None or known.epoch != epoch:
            known = self._known[producer] = Producer(epoch=epoch, time_ms=time_ms)
        known.time_ms = time_ms
        if batch is not None:
            known.batches.append(batch)
            del known.batches[:-REMEMBERED]
            self.end = max(self.end, batch.end)

    def forget(self, before_ms: int) -> None:
        """Those of which nothing was written at that time or later."""
        late = [id_ for id_, each in self._known.items() if each.time_ms < before_ms]
        for id_ in late:
            del self._known[id_]


def followed(known: Producer | None, header: BatchHeader) -> Producer:
    """The producer after that batch; `known` is changed where it is still the same epoch's. The end
    of a transaction, which Kafka's coordinators write, has no sequence numbers."""
    epoch, time_ms = header.producer_epoch, header.max_timestamp_ms
    if known is None or known.epoch != epoch:
        known = Producer(epoch=epoch, time_ms=time_ms)
    known.time_ms = time_ms
    if not header.is_control:
        known.batches.append(
            Known(
                first=header.base_sequence,
                last=last_sequence(header),
                base=header.base_offset,
                end=header.next_offset,
                time_ms=time_ms,
            )
        )
        del known.batches[:-REMEMBERED]
    return known


def last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) % SEQUENCES
