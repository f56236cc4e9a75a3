"""A log in memory that knows what a power cut would leave of it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import Batch, split_batches
from node.records.metadata import FeatureLevelRecord
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot

BOOTSTRAP = (FeatureLevelRecord(name="metadata.version", feature_level=30),)
NOTHING = LogPosition(Epoch(0), Offset(0))


@dataclass
class MemoryLog:
    """Implements `node.storage.view.LogView`, and what a shell does with log effects.

    A segment holds one batch; what a snapshot stands for is durable with it.
    """

    batches: list[Batch] = field(default_factory=list)
    begin: LogPosition = NOTHING
    _bases: list[int] = field(default_factory=list)
    _durable: list[Batch] = field(default_factory=list)
    _dirty_from: int = 0  # batches before this index are the same in both lists
    _kept: dict[LogPosition, bytes] = field(default_factory=dict)  # snapshots
    _part: tuple[LogPosition, bytes] = (NOTHING, b"")

    # --- LogView ---

    def end(self) -> LogPosition:
        if not self.batches:
            return self.begin
        last = self.batches[-1].header
        return LogPosition(last.leader_epoch, last.next_offset)

    def start(self) -> Offset:
        return self.begin.offset

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        index = bisect_right(self.batches, epoch, key=lambda batch: batch.header.leader_epoch)
        if index == 0:
            return self.begin
        last = self.batches[index - 1].header
        return LogPosition(last.leader_epoch, last.next_offset)

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        assert offset >= self.begin.offset, "below the log's start"
        index = max(bisect_right(self._bases, offset) - 1, 0)
        pieces: list[bytes] = []
        left = max_bytes
        for batch in self.batches[index:]:
            left -= len(batch.data)
            if pieces and left < 0:
                break
            pieces.append(batch.data)
        return b"".join(pieces)

    def size(self) -> int:
        return sum(len(batch.data) for batch in self.batches)

    def snapshots(self) -> Sequence[Snapshot]:
        return [_snapshot(id_, data) for id_, data in self._kept.items()]

    def read_snapshot(self, id_: LogPosition, position: int, max_bytes: int) -> bytes:
        return self._kept[id_][position : position + max_bytes]

    # --- effects ---

    def append(self, data: bytes) -> None:
        for batch in split_batches(data):
            assert batch.header.base_offset == self.end().offset, "a gap in the log"
            assert batch.header.leader_epoch >= self.end().epoch, "an epoch that goes down"
            self.batches.append(batch)
            self._bases.append(batch.header.base_offset)

    def truncate(self, end: Offset) -> None:
        assert end >= self.begin.offset, "below the log's start"
        index = bisect_right(self._bases, end - 1)
        assert index == 0 or self.batches[index - 1].header.next_offset <= end, "mid-batch"
        del self.batches[index:], self._bases[index:]
        self._dirty_from = min(self._dirty_from, index)

    def flush(self) -> Offset:
        self._durable[self._dirty_from :] = self.batches[self._dirty_from :]
        self._dirty_from = len(self.batches)
        return self.end().offset

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None:
        begun = self._part if position else (id_, b"")
        assert (begun[0], len(begun[1])) == (id_, position), "not in order"
        self._part = (id_, begun[1] + data)

    def finish_snapshot(self, id_: LogPosition) -> None:
        assert self._part[0] == id_, "it was not written"
        self._kept[id_] = _whole(*self._part)
        self._kept = dict(sorted(self._kept.items(), key=lambda kept: kept[0].offset))
        self._part = (NOTHING, b"")

    def delete_before_snapshot(self, snapshot: LogPosition) -> None:
        assert snapshot in self._kept, "there is no such snapshot"
        index = bisect_right(self._bases, snapshot.offset - 1)
        del self.batches[:index], self._bases[:index], self._durable[:index]
        self._dirty_from = max(self._dirty_from - index, 0)
        self._forget_before(snapshot)

    def replace(self, snapshot: LogPosition) -> None:
        assert snapshot in self._kept, "there is no such snapshot"
        self.batches, self._bases, self._durable, self._dirty_from = [], [], [], 0
        self._forget_before(snapshot)

    def _forget_before(self, snapshot: LogPosition) -> None:
        self.begin = snapshot
        self._kept = {
            id_: data for id_, data in self._kept.items() if id_.offset >= snapshot.offset
        }

    # --- faults ---

    def durable_end(self) -> Offset:
        return self._durable[-1].header.next_offset if self._durable else self.begin.offset

    def power_off(self) -> None:
        """What was not flushed is gone."""
        self.batches = list(self._durable)
        self._bases = [batch.header.base_offset for batch in self.batches]
        self._dirty_from = len(self.batches)
        self._part = (NOTHING, b"")
        newest = max(self._kept, default=NOTHING)
        if newest > self.end():
            self.replace(newest)


def _whole(id_: LogPosition, data: bytes) -> bytes:
    reader = SnapshotReader(id_.epoch)
    reader.feed(data)
    assert reader.is_complete, "a snapshot without its end"
    return data


def _snapshot(id_: LogPosition, data: bytes) -> Snapshot:
    reader = SnapshotReader(id_.epoch)
    reader.feed(data)
    controls = tuple(reader.controls)
    return Snapshot(id=id_, size=len(data), timestamp_ms=reader.timestamp_ms, controls=controls)
