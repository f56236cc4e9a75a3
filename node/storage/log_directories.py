"""All logs of a broker's replicas, in one log directory or in several (KIP-112, KIP-858).

Each directory has checkpoints and a clean-shutdown file of its own logs, as in Kafka: it may be
moved to another place, and the order in which directories are named means nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, Self
from uuid import UUID

from node.effects import NewLog, SegmentLimits
from node.ids import METADATA_LOG, NO_BROKER_EPOCH, LogId, Offset
from node.lazy_dataclass import dataclass
from node.storage.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    load_offsets,
    save_clean_shutdown,
    save_offsets,
    take_clean_shutdown,
)
from node.storage.disk import PARTITION_METADATA, CorruptFile, Disk, StorageError
from node.storage.partition_log import PartitionLog
from node.storage.partition_recovery import Vouched
from node.storage.partition_segment import IndexChecksums, Reindexed

# The indexes that a clean shutdown left behind: the CRC-32C of both files of each segment.
#
# Kafka's index files have nothing that shows whether they are whole: one that lost its last
# entries, or is of zeros, looks sound (Kafka believes such a time index). `.kafka_cleanshutdown`
# vouches for this file, and this one for them; after any other end it is ignored.


INDEX_CHECKSUMS = "index-checksums"

OfLogs = Mapping[LogId, Mapping[Offset, IndexChecksums]]


def save_index_checksums(disk: Disk, of_logs: OfLogs) -> None:
    """Version 0, the number of entries, then `topic partition base offsets times` per line. Durable
    when it returns.
    """
    rows = [
        f"{' '.join(log.rsplit('-', 1))} {base} {found.offsets} {found.times}"
        for log, segments in sorted(of_logs.items())
        for base, found in segments.items()
    ]
    disk.replace(INDEX_CHECKSUMS, "\n".join(["0", str(len(rows)), *rows, ""]).encode())


def load_index_checksums(disk: Disk) -> OfLogs:
    """Empty if there is no readable file: then nothing is vouched for."""
    if not disk.exists(INDEX_CHECKSUMS):
        return {}
    try:
        return _parsed(disk.read_all(INDEX_CHECKSUMS).decode("ascii"))
    except ValueError:
        return {}


def _parsed(text: str) -> OfLogs:
    version, count, *rows = text.splitlines()
    if int(version) != 0 or int(count) != len(rows):
        raise ValueError(f"version {version}, {count} entries announced, {len(rows)} found")
    found: dict[LogId, dict[Offset, IndexChecksums]] = {}
    for row in rows:
        topic, partition, base, offsets, times = row.split(" ")
        log = found.setdefault(LogId(f"{topic}-{int(partition)}"), {})
        log[Offset(int(base))] = IndexChecksums(int(offsets), int(times))
    return found


# All logs of replicas in one log directory, each in a directory of its name: orders-3.


_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9]+")


def logs_on(disk: Disk) -> list[LogId]:
    """A directory without a topic id was being made, or being removed: it is no log."""
    return [
        LogId(name)
        for name in disk.names("")
        if _NAME.fullmatch(name)
        and name != METADATA_LOG
        and disk.exists(f"{name}/{PARTITION_METADATA}")
    ]


@dataclass(slots=True, kw_only=True)
class PartitionLogs(Mapping[LogId, PartitionLog]):
    disk: Disk
    limits: SegmentLimits  # of a log that has no limits of its own yet
    cut_bytes: int = 0  # that recovery truncated, of all of them
    high_watermarks: Mapping[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _starts: dict[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _recovery_points: dict[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _logs: dict[LogId, PartitionLog] = field(default_factory=dict)
    _reindexed: list[Reindexed] = field(default_factory=list)  # not reported yet

    @classmethod
    def open(cls, disk: Disk, limits: SegmentLimits, *, clean: bool = False) -> Self:
        """Open the existing logs. `clean`: the last process said that it left all of them whole."""
        indexes = load_index_checksums(disk)
        logs = cls(
            disk=disk,
            limits=limits,
            high_watermarks=load_offsets(disk, HIGH_WATERMARKS),
            _starts=load_offsets(disk, LOG_STARTS),
            _recovery_points=load_offsets(disk, RECOVERY_POINTS),
        )
        points = logs._recovery_points
        for name in logs_on(disk):
            start = logs._starts.get(name, Offset(0))
            below = None if clean else points.get(name, Offset(0))
            vouched = Vouched(indexes=indexes.get(name, {}), below=below)
            log = PartitionLog.open(disk, name, limits, start, vouched, logs._reindexed)
            logs._put(name, log)
            logs.cut_bytes += log.cut_bytes
        logs._lower_high_watermarks({name: log.next_offset for name, log in logs._logs.items()})
        logs._lower_recovery_points({name: log.recovery_point for name, log in logs._logs.items()})
        return logs

    def __getitem__(self, log: LogId) -> PartitionLog:
        return self._logs[log]

    def __iter__(self) -> Iterator[LogId]:
        return iter(sorted(self._logs))

    def __len__(self) -> int:
        return len(self._logs)

    def find(self, log: LogId) -> PartitionLog | None:
        return self._logs.get(log)

    def take_reindexed(self) -> list[Reindexed]:
        """Segments with indexes rebuilt since the last call, though a clean shutdown vouched
        for them.
        """
        taken = list(self._reindexed)
        self._reindexed.clear()
        return taken

    def files(self) -> int:
        """Open files: the last segment of each log."""
        return len(self._logs)

    def create(self, new: Sequence[NewLog]) -> None:
        """Make empty logs, each in place of one of another topic with that name."""
        names = [each.log for each in new]
        for name in names:
            if name in self._logs:
                self._logs.pop(name).close()
        had = self._starts.keys() & {*names}
        if had:
            for name in had:
                del self._starts[name]
            save_offsets(self.disk, LOG_STARTS, self._starts)
        begin = dict.fromkeys(names, Offset(0))
        self._lower_high_watermarks(begin)
        self._lower_recovery_points(begin)
        self.disk.make_directory(*names)
        for each in new:
            made = PartitionLog.create(
                self.disk, each.log, each.topic, each.limits, self._reindexed
            )
            self._put(each.log, made)

    def limit_segments(self, log: LogId, limits: SegmentLimits) -> None:
        self._logs[log].limit(limits)

    def remove(self, log: LogId) -> None:
        self._logs.pop(log).remove()

    def raise_starts(self, starts: Mapping[LogId, Offset]) -> None:
        self._save_starts(starts)
        for log, start in starts.items():
            self._logs[log].raise_start(start)

    def restart(self, log: LogId, start: Offset) -> None:
        self._save_starts({log: start})
        self._lower_high_watermarks({log: start})
        self._lower_recovery_points({log: Offset(0)})
        self._logs[log].restart(start)

    def save_clean_shutdown(self, broker_epoch: int) -> None:
        """Called when all of them are flushed."""
        assert all(log.flushed for log in self._logs.values()), "a log is not durable"
        self._save_indexes()
        self.save_recovery_points()
        save_clean_shutdown(self.disk, broker_epoch)

    def save_recovery_points(self) -> None:
        """Save the present ones, with the checksums of the indexes below them, if they have
        changed.
        """
        every = {name: log.recovery_point for name, log in self._logs.items()}
        points = {name: point for name, point in every.items() if point > 0}
        if points != self._recovery_points:
            self._save_indexes()  # first: they are durable before a point that relies on them
            self._recovery_points = points
            save_offsets(self.disk, RECOVERY_POINTS, points)

    def _save_indexes(self) -> None:
        indexes = {name: log.index_checksums() for name, log in self._logs.items()}
        save_index_checksums(self.disk, indexes)

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None:
        self.high_watermarks = dict(offsets)
        save_offsets(self.disk, HIGH_WATERMARKS, offsets)

    def _lower_high_watermarks(self, ends: Mapping[LogId, Offset]) -> None:
        """Called before anything is written to a log that ends below its saved high watermark,
        because a power cut took its end, or it begins anew: what is written there is not committed
        by that, and after another power cut would be taken for it.
        """
        marks = self.high_watermarks
        lowered = {log: end for log, end in ends.items() if marks.get(log, 0) > end}
        if lowered:
            self.save_high_watermarks({**marks, **lowered})

    def _put(self, name: LogId, log: PartitionLog) -> None:
        self._logs[name] = log
        log.on_cut = lambda end: self._lower_recovery_points({name: end})

    def _lower_recovery_points(self, ends: Mapping[LogId, Offset]) -> None:
        """Called before a log is truncated to there: a power cut may bring back indexes of what was
        there, and what is written in its place is not durable by that.
        """
        points = self._recovery_points
        lowered = {log: end for log, end in ends.items() if points.get(log, 0) > end}
        if lowered:
            points |= lowered
            save_offsets(self.disk, RECOVERY_POINTS, points)

    def _save_starts(self, starts: Mapping[LogId, Offset]) -> None:
        """Saved first, so that a log begins there if its deletion was interrupted."""
        self._starts |= starts
        save_offsets(self.disk, LOG_STARTS, self._starts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectory:
    """`path`: as the operator named it. `id`: in its meta.properties."""

    path: str
    id: UUID
    disk: Disk


class _Place(NamedTuple):
    """A log's directory, and all logs there."""

    directory: UUID
    logs: PartitionLogs


@dataclass(slots=True, kw_only=True)
class LogDirectories(Mapping[LogId, PartitionLog]):
    """`previous_epoch`: of the last process, if that shut down cleanly and all its writes are
    there; otherwise -1 (KIP-966).
    """

    previous_epoch: int
    high_watermarks: Mapping[LogId, Offset]  # of the last life, from each log's directory
    _in: Mapping[UUID, PartitionLogs]  # in the order in which they are named
    _places: dict[LogId, _Place] = field(default_factory=dict)

    @classmethod
    def open(cls, directories: Sequence[LogDirectory], limits: SegmentLimits) -> Self:
        """Raises StorageError or OSError if one of them is damaged, or two have the same log."""
        _refuse_twins(directories)
        # The epoch is taken once only, and before the logs are opened: a process that is killed
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

    def create(self, new: Sequence[NewLog]) -> None:
        """Make empty logs; one of another topic with such a name goes, in whatever directory."""
        for each in new:
            before = self._places.get(each.log)
            if before is not None and before.directory != each.directory:
                self.remove(each.log)
        for directory, logs in self._in.items():
            own = [each for each in new if each.directory == directory]
            if own:
                logs.create(own)
                self._places |= {each.log: _Place(directory, logs) for each in own}

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
        """Called when all logs are flushed. After a power cut between two directories one of them
        does not have the file, and then the others' do not count.
        """
        for logs in self._in.values():
            logs.save_clean_shutdown(broker_epoch)

    def save_recovery_points(self) -> None:
        for logs in self._in.values():
            logs.save_recovery_points()

    def forget_producers(self, logs: Iterable[LogId], wall_ms: int, silent_ms: int) -> None:
        """Some of the logs may have been removed meanwhile."""
        for found in filter(None, map(self.find, logs)):
            found.forget_producers(wall_ms, silent_ms)

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
    """All of them have to have the same epoch (`LogManager.readBrokerEpochFromCleanShutdownFiles`),
    and nothing may have been truncated by recovery.
    """
    is_whole = not any(logs.cut_bytes for logs in found)
    return epochs[0] if is_whole and len(set(epochs)) == 1 else NO_BROKER_EPOCH
