"""All logs of replicas in one log directory, each in a directory of its name: orders-3."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Self
from uuid import UUID

from node.effects import SegmentLimits
from node.ids import METADATA_LOG, LogId, Offset
from node.lazy_dataclass import dataclass
from node.storage.clean_shutdown import save_clean_shutdown
from node.storage.disk import Disk
from node.storage.index_checksums import load_index_checksums, save_index_checksums
from node.storage.layout import PARTITION_METADATA
from node.storage.offset_checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    load_offsets,
    save_offsets,
)
from node.storage.partition_log import PartitionLog
from node.storage.partition_recovery import Vouched
from node.storage.partition_segment import Reindexed

_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9]+")


def logs_on(disk: Disk) -> list[LogId]:
    """A directory that does not say whose it is was being made, or being removed: it is none."""
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
    limits: SegmentLimits  # of a log until it is told others
    cut_bytes: int = 0  # that recovery took off all of them
    high_watermarks: Mapping[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _starts: dict[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _recovery_points: dict[LogId, Offset] = field(default_factory=dict)  # as they are saved
    _logs: dict[LogId, PartitionLog] = field(default_factory=dict)
    _reindexed: list[Reindexed] = field(default_factory=list)  # and nobody was told of

    @classmethod
    def open(cls, disk: Disk, limits: SegmentLimits, *, clean: bool = False) -> Self:
        """Those that are there. `clean`: the last process said that it left all of them whole."""
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
        """Whose indexes were made anew since this was asked last, though a clean shutdown vouched
        for them."""
        taken = list(self._reindexed)
        self._reindexed.clear()
        return taken

    def files(self) -> int:
        """That are open: the last segment of each."""
        return len(self._logs)

    def create(self, log: LogId, topic: UUID) -> None:
        """An empty one, in the place of one of another topic of that name."""
        if log in self._logs:
            self._logs.pop(log).close()
        if self._starts.pop(log, None) is not None:
            save_offsets(self.disk, LOG_STARTS, self._starts)
        self._lower_high_watermarks({log: Offset(0)})
        self._lower_recovery_points({log: Offset(0)})
        made = PartitionLog.create(self.disk, log, topic, self.limits, self._reindexed)
        self._put(log, made)

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
        """All of them were flushed before this call."""
        assert all(log.flushed for log in self._logs.values()), "a log is not durable"
        self._save_indexes()
        self.save_recovery_points()
        save_clean_shutdown(self.disk, broker_epoch)

    def save_recovery_points(self) -> None:
        """As they are now, with what vouches for the indexes below them; where that is no news,
        nothing."""
        every = {name: log.recovery_point for name, log in self._logs.items()}
        points = {name: point for name, point in every.items() if point > 0}
        if points != self._recovery_points:
            self._save_indexes()  # first: a point that tells of them is durable after them
            self._recovery_points = points
            save_offsets(self.disk, RECOVERY_POINTS, points)

    def _save_indexes(self) -> None:
        indexes = {name: log.index_checksums() for name, log in self._logs.items()}
        save_index_checksums(self.disk, indexes)

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None:
        self.high_watermarks = dict(offsets)
        save_offsets(self.disk, HIGH_WATERMARKS, offsets)

    def _lower_high_watermarks(self, ends: Mapping[LogId, Offset]) -> None:
        """Before anything is written to a log that ends below what is saved of it, because the
        power took its end, or it begins anew: whatever is written there is not committed by
        that, and after another power cut it would be taken for that."""
        marks = self.high_watermarks
        lowered = {log: end for log, end in ends.items() if marks.get(log, 0) > end}
        if lowered:
            self.save_high_watermarks({**marks, **lowered})

    def _put(self, name: LogId, log: PartitionLog) -> None:
        self._logs[name] = log
        log.on_cut = lambda end: self._lower_recovery_points({name: end})

    def _lower_recovery_points(self, ends: Mapping[LogId, Offset]) -> None:
        """Before anything of a log is cut off from there on: indexes of what was there may come
        back with the power, and what is written in its place is not durable by that."""
        points = self._recovery_points
        lowered = {log: end for log, end in ends.items() if points.get(log, 0) > end}
        if lowered:
            points |= lowered
            save_offsets(self.disk, RECOVERY_POINTS, points)

    def _save_starts(self, starts: Mapping[LogId, Offset]) -> None:
        """First, so that a log that was cut half is one that begins there."""
        self._starts |= starts
        save_offsets(self.disk, LOG_STARTS, self._starts)
