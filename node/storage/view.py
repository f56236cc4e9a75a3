"""What the core may read of the log. Its own writes are effects."""

from collections.abc import Sequence
from typing import Protocol

from node.ids import Epoch, LogPosition, Offset
from node.storage.snapshots import Snapshot


class LogView(Protocol):
    """The log as written so far (not necessarily durable). Offsets and epochs as in KIP-595."""

    def end(self) -> LogPosition:
        """The next offset, with the epoch of the last record (0 when there never was one)."""

    def start(self) -> Offset:
        """The first offset: 0, or that of a snapshot, behind which the log was truncated."""

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after its last record.

        A log without records of such an epoch gives its start, with the epoch before it (0).
        """

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that contains `offset`; at least one if there is any."""

    def size(self) -> int:
        """Bytes of all segments."""

    def snapshots(self) -> Sequence[Snapshot]:
        """Oldest first; sound when they were opened or written."""

    def read_snapshot(self, id_: LogPosition, position: int, max_bytes: int) -> bytes:
        """Bytes of one of `snapshots`; empty at its end."""
