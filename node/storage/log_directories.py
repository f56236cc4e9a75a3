"""All logs of replicas that a broker has, in one log directory or in several (KIP-112, KIP-858).

Each directory has checkpoints and a clean-shutdown file of its own, of the logs that are in it, as
in Kafka: it may be taken to another place, and the order in which they are named means nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, Self
from uuid import UUID

from node.effects import SegmentLimits
from node.ids import NO_BROKER_EPOCH, LogId, Offset
from node.lazy_dataclass import dataclass
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


class _Place(NamedTuple):
    """Of a log: the directory that it is in, and all logs there."""

    directory: UUID
    logs: PartitionLogs


@dataclass(slots=True, kw_only=True)
class LogDirectories(Mapping[LogId, PartitionLog]):
    """`previous_epoch`: of the last process, if that shut down in good order and left all that it
    wrote; else -1 (KIP-966)."""

    previous_epoch: int
    high_watermarks: Mapping[LogId, Offset]  # of the last life, as each log's directory has it
    _in: Mapping[UUID, PartitionLogs]  # in the order in which they are named
    _places: dict[LogId, _Place] = field(default_factory=dict)

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
            high_watermarks={
                log: logs.high_watermarks[log]
                for logs in found.values()
                for log in logs
                if log in logs.high_watermarks
            },
            _in=found,
            _places={
                log: _Place(directory, logs) for directory, logs in found.items() for log in logs
            },
        )

    # --- what is asked ---

    def __getitem__(self, log: LogId) -> PartitionLog:
        return self._places[log].logs[log]

    def __iter__(self) -> Iterator[LogId]:
        return iter(sorted(self._places))

    def __len__(self) -> int:
        return len(self._places)

    @property
    def directories(self) -> Sequence[UUID]:
        return tuple(self._in)

    def find(self, log: LogId) -> PartitionLog | None:
        place = self._places.get(log)
        return None if place is None else place.logs.find(log)

    def directory_of(self, log: LogId) -> UUID:
        return self._places[log].directory

    def take_reindexed(self) -> list[Reindexed]:
        return [each for logs in self._in.values() for each in logs.take_reindexed()]

    def files(self) -> int:
        return sum(logs.files() for logs in self._in.values())

    # --- what is done ---

    def create(self, log: LogId, topic: UUID, directory: UUID) -> None:
        """An empty one; one of another topic of that name goes, wherever that was."""
        before = self._places.get(log)
        if before is not None and before.directory != directory:
            self.remove(log)
        place = self._places[log] = _Place(directory, self._in[directory])
        place.logs.create(log, topic)

    def remove(self, log: LogId) -> None:
        self._places.pop(log).logs.remove(log)

    def limit_segments(self, log: LogId, limits: SegmentLimits) -> None:
        self._places[log].logs.limit_segments(log, limits)

    def restart(self, log: LogId, start: Offset) -> None:
        self._places[log].logs.restart(log, start)

    def raise_starts(self, starts: Mapping[LogId, Offset]) -> None:
        for directory, own in self._by_directory(starts).items():
            if own:
                self._in[directory].raise_starts(own)

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None:
        for directory, own in self._by_directory(offsets).items():
            self._in[directory].save_high_watermarks(own)

    def save_clean_shutdown(self, broker_epoch: int) -> None:
        """All logs were flushed before this call. A power cut between two directories leaves one
        that does not say it, and then nobody believes the others."""
        for logs in self._in.values():
            logs.save_clean_shutdown(broker_epoch)

    def save_recovery_points(self) -> None:
        for logs in self._in.values():
            logs.save_recovery_points()

    def _by_directory(self, offsets: Mapping[LogId, Offset]) -> dict[UUID, dict[LogId, Offset]]:
        own: dict[UUID, dict[LogId, Offset]] = {directory: {} for directory in self._in}
        for log, offset in offsets.items():
            own[self._places[log].directory][log] = offset
        return own


def _refuse_twins(directories: Sequence[LogDirectory]) -> None:
    """Raises CorruptFile."""
    seen: dict[str, str] = {}
    for directory in directories:
        for log in logs_on(directory.disk):
            if log in seen:
                raise CorruptFile(
                    f"{log} lies in two log directories: {seen[log]} and {directory.path}\n"
                    f"  try: find the one with the longer log with: kraft-node dump-log"
                    f" {directory.path}/{log}; then move the other directory of it away"
                )
            seen[log] = directory.path


def _opened(directory: LogDirectory, limits: SegmentLimits, *, clean: bool) -> PartitionLogs:
    try:
        return PartitionLogs.open(directory.disk, limits, clean=clean)
    except StorageError as error:
        raise type(error)(f"in {directory.path}: {error}") from error


def _agreed(epochs: Sequence[int], found: Iterable[PartitionLogs]) -> int:
    """All of them have to say the same (`LogManager.readBrokerEpochFromCleanShutdownFiles`),
    and nothing may have been cut off."""
    is_whole = not any(logs.cut_bytes for logs in found)
    return epochs[0] if is_whole and len(set(epochs)) == 1 else NO_BROKER_EPOCH
