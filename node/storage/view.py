"""What the core may ask of the log. Reads only: the core's own writes are effects."""

from typing import Protocol

from node.ids import Epoch, LogPosition, Offset


class LogView(Protocol):
    """The log as written so far (not necessarily durable). Offsets and epochs as in KIP-595."""

    def end(self) -> LogPosition:
        """The next offset, with the epoch of the last record (0 when the log is empty)."""

    def start(self) -> Offset:
        """The first offset; 0 until there are snapshots."""

    def end_of_epoch(self, epoch: Epoch) -> LogPosition:
        """The largest epoch <= `epoch` in the log, and the offset after its last record.

        An empty log, or one whose epochs are all larger, gives (0, start).
        """

    def read(self, offset: Offset, max_bytes: int) -> bytes:
        """Whole batches from the one that contains `offset`; at least one if there is any."""
