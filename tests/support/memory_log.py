"""A log in memory that knows what a power cut would leave of it."""

from bisect import bisect_right
from dataclasses import dataclass, field

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import Batch, split_batches
from node.records.metadata import FeatureLevelRecord

BOOTSTRAP = (FeatureLevelRecord(name="metadata.version", feature_level=30),)


@dataclass
class MemoryLog:
    """Implements `node.storage.view.LogView`, and what a shell does with log effects."""

    batches: list[Batch] = field(default_factory=list)
    _bases: list[int] = field(default_factory=list)
    _durable: list[Batch] = field(default_factory=list)
    _dirty_from: int = 0  # batches before this index are the same in both lists

    # --- LogView ---

    def end(self) -> LogPosition:
        if not self.batches:
            return LogPosition(Epoch(0), Offset(0))
        last = self.batches[-1].header
        return LogPosition(last.leader_epoch, last.next_offset)

    def start(self) -> Offset:
        return Offset(0)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        index = bisect_right(self.batches, epoch, key=lambda batch: batch.header.leader_epoch)
        if index == 0:
            return LogPosition(Epoch(0), Offset(0))
        last = self.batches[index - 1].header
        return LogPosition(last.leader_epoch, last.next_offset)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        index = max(bisect_right(self._bases, offset) - 1, 0)
        pieces: list[bytes] = []
        left = max_bytes
        for batch in self.batches[index:]:
            left -= len(batch.data)
            if pieces and left < 0:
                break
            pieces.append(batch.data)
        return b"".join(pieces)

    # --- effects ---

    def append(self, data: bytes) -> None:
        for batch in split_batches(data):
            assert batch.header.base_offset == self.end().offset, "a gap in the log"
            assert batch.header.leader_epoch >= self.end().epoch, "an epoch that goes down"
            self.batches.append(batch)
            self._bases.append(batch.header.base_offset)

    def truncate(self, end: Offset) -> None:
        index = bisect_right(self._bases, end - 1)
        assert index == 0 or self.batches[index - 1].header.next_offset <= end, "mid-batch"
        del self.batches[index:], self._bases[index:]
        self._dirty_from = min(self._dirty_from, index)

    def flush(self) -> Offset:
        self._durable[self._dirty_from :] = self.batches[self._dirty_from :]
        self._dirty_from = len(self.batches)
        return self.end().offset

    # --- faults ---

    def durable_end(self) -> Offset:
        return self._durable[-1].header.next_offset if self._durable else Offset(0)

    def power_off(self) -> None:
        """What was not flushed is gone."""
        self.batches = list(self._durable)
        self._bases = [batch.header.base_offset for batch in self.batches]
        self._dirty_from = len(self.batches)
