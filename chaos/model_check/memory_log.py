"""The log of an explored replica: batches, and how many of them a power cut would leave."""

from bisect import bisect_right
from collections.abc import Sequence

from node.ids import Epoch, LogPosition, Offset
from node.records.batch import Batch, split_batches
from node.storage.snapshots import Snapshot

_EMPTY = LogPosition(Epoch(0), Offset(0))


class MemoryLog:
    """Implements `node.storage.view.LogView`, and a shell's part of log effects. Without
    snapshots."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.durable = 0  # batches; 0 <= durable <= len(batches)

    # --- LogView ---

    def end(self) -> LogPosition:
        return _behind(self.batches[-1]) if self.batches else _EMPTY

    def start(self) -> Offset:
        return Offset(0)

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        count = bisect_right(self.batches, epoch, key=lambda batch: batch.header.leader_epoch)
        return _behind(self.batches[count - 1]) if count else _EMPTY

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        del max_bytes  # logs are tiny
        first = bisect_right(self.batches, offset, key=lambda batch: batch.header.next_offset)
        return b"".join(batch.data for batch in self.batches[first:])

    def size(self) -> int:
        return sum(len(batch.data) for batch in self.batches)

    def snapshots(self) -> Sequence[Snapshot]:
        return ()

    def read_snapshot(self, id_: LogPosition, position: int, max_bytes: int) -> bytes:
        raise AssertionError(f"there is no snapshot {id_} ({position}, {max_bytes})")

    # --- effects and faults ---

    def append(self, data: bytes) -> None:
        self.batches += split_batches(data)

    def truncate(self, end: Offset) -> None:
        while self.end().offset > end:
            self.batches.pop()
        assert self.end().offset == end, f"{end} lies within a batch"
        self.durable = min(self.durable, len(self.batches))

    def flush(self) -> Offset:
        self.durable = len(self.batches)
        return self.end().offset

    def power_off(self) -> None:
        """Drop what was not flushed."""
        del self.batches[self.durable :]


def _behind(batch: Batch) -> LogPosition:
    return LogPosition(batch.header.leader_epoch, batch.header.next_offset)
