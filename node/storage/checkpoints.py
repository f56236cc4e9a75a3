"""A broker's small files: the clean-shutdown file, offset checkpoints, and partition.metadata.

`.kafka_cleanshutdown` says that the logs of a broker are whole, and in which epoch it shut down
(KIP-966, "Detection of an unclean shutdown"). It vouches for bytes, so it is written when they are
durable, and is durable itself before the process ends. It is removed, durably, before anything is
written again: a process that is then killed vouches for nothing.

Where each leader epoch begins in the log (`leader-epoch-checkpoint`).

A follower that shares a log with its leader up to some epoch finds the point of divergence by
asking for the end of that epoch (KIP-101, KIP-595). The entries follow from the batches; the file
is a second source, since a batch's CRC does not cover its leader epoch.
"""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import field
from uuid import UUID

from node.ids import NO_BROKER_EPOCH, Epoch, LogId, LogPosition, Offset, parse_uuid, uuid_text
from node.lazy_dataclass import dataclass
from node.storage.disk import PARTITION_METADATA, CorruptFile, Disk

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def save_clean_shutdown(disk: Disk, broker_epoch: int) -> None:
    """Called when all logs are flushed."""
    text = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace(CLEAN_SHUTDOWN, text.encode())


def take_clean_shutdown(disk: Disk) -> int:
    """The broker epoch in which the last process shut down cleanly; the file is removed. -1 if it
    did not, or its file cannot be read.
    """
    if not disk.exists(CLEAN_SHUTDOWN):
        return NO_BROKER_EPOCH
    text = disk.read_all(CLEAN_SHUTDOWN)
    disk.remove(CLEAN_SHUTDOWN)
    try:
        match json.loads(text):
            case {"version": 0, "brokerEpoch": int(epoch)}:
                return epoch
    except (ValueError, RecursionError):
        pass
    return NO_BROKER_EPOCH


# Offset checkpoints: an offset of each log of a broker, in files of Kafka's names and format
# (`CheckpointFile`).
#
# `replication-offset-checkpoint`: how far the broker knew its logs to be committed. It may be too
# low, or, if an unclean leader had the log truncated since, too high, as in Kafka; but not because
# a power cut took the log's end, or the log began anew (`PartitionLogs`). It may be missing: high
# watermarks then begin at 0.
#
# `log-start-offset-checkpoint`: the log starts that are not 0. It is written before they are
# reported; a log does not begin before its first segment, whatever the file says.
#
# `recovery-point-offset-checkpoint`: the offset below which each log was durable, with the indexes
# of its full segments. It may be too low, and is never too high: it is lowered, durably, before a
# log is truncated.


HIGH_WATERMARKS = "replication-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"


def save_offsets(disk: Disk, name: str, offsets: Mapping[LogId, Offset]) -> None:
    """Version 0, the number of entries, then `topic partition offset` per line. Durable when it
    returns.
    """
    rows = [f"{' '.join(log.rsplit('-', 1))} {offset}" for log, offset in sorted(offsets.items())]
    disk.replace(name, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_offsets(disk: Disk, name: str) -> dict[LogId, Offset]:
    """The offset of each log; empty if there is no readable file."""
    if not disk.exists(name):
        return {}
    try:
        return _parsed(disk.read_all(name).decode("ascii"))
    except ValueError:
        return {}


def _parsed(text: str) -> dict[LogId, Offset]:
    version, count, *rows = text.splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} entries announced, {len(rows)} found")
    found: dict[LogId, Offset] = {}
    for row in rows:
        topic, partition, offset = row.split(" ")
        if int(offset) < 0:
            raise ValueError(f"entry {row!r} has no offset")
        found[LogId(f"{topic}-{int(partition)}")] = Offset(int(offset))
    return found


# `partition.metadata`: the topic id of the log beside it.


def save_topic(disk: Disk, directory: str, topic: UUID) -> None:
    """Durable when it returns."""
    text = f"version: 0\ntopic_id: {uuid_text(topic)}"
    disk.replace(f"{directory}/{PARTITION_METADATA}", text.encode())


def read_topic(disk: Disk, directory: str) -> UUID:
    """Raises CorruptFile."""
    path = f"{directory}/{PARTITION_METADATA}"
    try:
        lines = disk.read_all(path).decode().splitlines()
        if not lines:
            raise ValueError("it is empty")
        if lines[0] != "version: 0" or len(lines) != 2 or not lines[1].startswith("topic_id: "):
            raise ValueError(f"it begins with {lines[0][:80]!r}, and has {len(lines)} lines")
        return parse_uuid(lines[1].removeprefix("topic_id: "))
    except ValueError as error:
        raise CorruptFile(
            f"{path} does not say which topic's the log is: {error}\n"
            "  try: put it back from a copy of this disk; or remove the directory, and the broker"
            " fetches the replica anew"
        ) from error


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
