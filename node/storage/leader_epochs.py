"""Where each leader epoch begins in the log (`leader-epoch-checkpoint`).

A follower that shares a log with its leader up to some epoch finds the point of divergence by
asking for the end of that epoch (KIP-101, KIP-595). The entries follow from the batches; the file
is a second source, since a batch's CRC does not cover its leader epoch.
"""

from bisect import bisect_left, bisect_right
from dataclasses import field

from node.ids import Epoch, LogPosition, Offset
from node.lazy_dataclass import dataclass


@dataclass(slots=True)
class LeaderEpochs:
    """Strictly rising epochs with strictly rising start offsets."""

    epochs: list[Epoch] = field(default_factory=list)
    starts: list[Offset] = field(default_factory=list)

    def latest(self) -> Epoch:
        """The epoch of the last record; 0 for an empty log."""
        return self.epochs[-1] if self.epochs else Epoch(0)

    def assign(self, epoch: Epoch, start: Offset) -> bool:
        """A batch of `epoch` begins at `start`; True if it is the first of its epoch.

        An epoch without a record left (`raise_start`) is known until then.
        """
        if self.epochs and epoch == self.epochs[-1]:
            return False
        assert not self.epochs or (epoch > self.epochs[-1] and start >= self.starts[-1])
        if self.starts and start == self.starts[-1]:
            self.epochs.pop()
            self.starts.pop()
        self.epochs.append(epoch)
        self.starts.append(start)
        return True

    def end_of(self, epoch: Epoch, log_start: LogPosition, log_end: Offset) -> LogPosition:
        """The largest epoch <= `epoch` and the offset after it; `log_start` if there is none."""
        after = bisect_right(self.epochs, epoch)
        if after == 0:
            return log_start
        end = self.starts[after] if after < len(self.starts) else log_end
        return LogPosition(self.epochs[after - 1], end)

    def at(self, offset: Offset) -> Epoch:
        """The epoch of the record there, which must be in the log."""
        return self.epochs[bisect_right(self.starts, offset) - 1]

    def begin_at(self, start: Offset, end: Offset) -> bool:
        """The log now begins at `start` and ends at `end`; True if that is news.

        If no record is left, no epoch is known.
        """
        is_raised = self.raise_start(start)
        return self.truncate(end) or is_raised

    def raise_start(self, start: Offset) -> bool:
        """The log begins at `start`, which may be its end; True if that is news.

        The epoch of its first record then begins there; that of the last one stays, also if no
        record is left (`LeaderEpochFileCache.truncateFromStartAsyncFlush`).
        """
        gone = bisect_right(self.starts, start) - 1
        if gone < 0 or (gone == 0 and self.starts[0] == start):
            return False
        del self.epochs[:gone]
        del self.starts[:gone]
        self.starts[0] = start
        return True

    def is_of(self, epoch: Epoch, offset: Offset) -> bool:
        """Is the record there of that epoch?"""
        return self.between(offset, Offset(offset + 1))[:1] == [(epoch, offset)]

    def between(self, start: Offset, end: Offset) -> list[tuple[Epoch, Offset]]:
        """The epochs of the records from `start` to before `end`, and where each begins there; none
        if that of the first is not known.
        """
        if not self.starts or self.starts[0] > start:
            return []
        first, after = bisect_right(self.starts, start) - 1, bisect_left(self.starts, end)
        pairs = zip(self.epochs[first:after], self.starts[first:after], strict=True)
        return [(epoch, max(begin, start)) for epoch, begin in pairs]

    def truncate(self, end: Offset) -> bool:
        """Remove epochs that begin at `end` or above; True if there were any."""
        keep = bisect_left(self.starts, end)
        if keep == len(self.starts):
            return False
        del self.epochs[keep:]
        del self.starts[keep:]
        return True


def encode_epochs(epochs: LeaderEpochs) -> bytes:
    """Kafka's text form: version 0, the number of entries, then `epoch startOffset` per line."""
    lines = ["0", str(len(epochs.epochs))]
    lines += [f"{epoch} {start}" for epoch, start in zip(epochs.epochs, epochs.starts, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def parse_epochs(text: bytes) -> LeaderEpochs:
    """The inverse of `encode_epochs`. Raises ValueError on anything else."""
    version, count, *rows = text.decode("ascii").splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} entries announced, {len(rows)} found")
    parsed = LeaderEpochs()
    for row in rows:
        epoch, start = (int(word) for word in row.split(" "))
        rises = not parsed.epochs or (epoch > parsed.epochs[-1] and start > parsed.starts[-1])
        if epoch < 0 or start < 0 or not rises:
            raise ValueError(f"entry {row!r} does not rise")
        parsed.epochs.append(Epoch(epoch))
        parsed.starts.append(Offset(start))
    return parsed
