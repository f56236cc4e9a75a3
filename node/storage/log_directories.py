"""All logs of replicas that a broker has, in one log directory or in several (KIP-112, KIP-858).

Each directory has checkpoints and a clean-shutdown file of its own, of the logs that are in it, as
in Kafka: it may be taken to another place, and the order in which they are named means nothing.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self
from uuid import UUID

from node.effects import SegmentLimits
from node.ids import NO_BROKER_EPOCH, LogId, Offset
from node.storage.clean_shutdown import take_clean_shutdown
from node.storage.disk import Disk
from node.storage.partition_log import PartitionLog
from node.storage.partition_logs import PartitionLogs, logs_on
from node.storage.partition_segment import Reindexed
from node.storage.storage_errors import CorruptFile, StorageError


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """`path`: as the operator named it. `id`: of its meta.properties."""

    path: str
    id: UUID
    disk: Disk


@dataclass(slots=True, kw_only=True)
class LogDirectories(Mapping[LogId, PartitionLog]):
    """`previous_epoch`: of the last process, if that shut down in good order and left all that it
    wrote; else -1 (KIP-966)."""

    previous_epoch: int
    _in: Mapping[UUID, PartitionLogs]  # in the order in which they are named
    _places: dict[LogId, UUID] = field(default_factory=dict)

    @classmethod
    def open(cls, directories: Sequence[LogDirectory], limits: SegmentLimits) -> Self:
        """Raises StorageError or OSError where one of them is damaged, or two have the same log."""
        _refuse_twins(directories)
        # Nobody can ask for the epoch again, and before the logs are opened: whoever is killed
        # meanwhile has changed them (KAFKA-10471).
        epochs = [take_clean_shutdown(each.disk) for each in directories]
        found = {
            each.id: _opened(each, limits, clean=epoch != NO_BROKER_EPOCH)
            for each, epoch in zip(directories, epochs, strict=True)
        }
        return cls(
            previous_epoch=_agreed(epochs, found.values()),
            _in=found,
            _places={log: directory for directory, logs in found.items() for log in logs},
        )

    # --- what is asked ---

    def __getitem__(self, log: LogId) -> PartitionLog:
        return self._in[self._places[log]][log]

    def __iter__(self) -> Iterator[LogId]:
        return iter(sorted(self._places))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def directories(self) -> Sequence[UUID]:
        return tuple(self._in)

    @property
    def high_watermarks(self) -> Mapping[LogId, Offset]:
        """Of the last life; of a log that was elsewhere then, in its directory's file, none."""
        return {
            log: offset
            for directory, logs in self._in.items()
            for log, offset in logs.high_watermarks.items()
            if self._places.get(log) == directory
        }

    def find(self, log: LogId) -> PartitionLog | None:
        directory = self._places.get(log)
        return None if directory is None else self._in[directory].find(log)

    def directory_of(self, log: LogId) -> UUID:
        return self._places[log]

    def take_reindexed(self) -> list[Reindexed]:
        return [each for logs in self._in.values() for each in logs.take_reindexed()]

    def files(self) -> int:
        return sum(logs.files() for logs in self._in.values())

    # --- what is done ---

    def create(self, log: LogId, topic: UUID, directory: UUID) -> None:
        """An empty one; one of another topic of that name goes, wherever that was."""
        before = self._places.get(log)
        if before not in (None, directory):
            self.remove(log)
        self._in[directory].create(log, topic)
        self._places[log] = directory

    def remove(self, log: LogId) -> None:
        self._in[self._places.pop(log)].remove(log)

    def limit_segments(self, log: LogId, limits: SegmentLimits) -> None:
        self._in[self._places[log]].limit_segments(log, limits)

    def restart(self, log: LogId, start: Offset) -> None:
        self._in[self._places[log]].restart(log, start)

    def raise_starts(self, starts: Mapping[LogId, Offset]) -> None:
        self._each_of_its_own(starts, PartitionLogs.raise_starts)

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None:
        for directory, logs in self._in.items():
            logs.save_high_watermarks(
                {log: each for log, each in offsets.items() if self._places.get(log) == directory}
            )

    def save_clean_shutdown(self, broker_epoch: int) -> None:
        """All logs were flushed before this call. A power cut between two directories leaves some
        that do not say it: then nobody believes the others."""
        for logs in self._in.values():
            logs.save_clean_shutdown(broker_epoch)
