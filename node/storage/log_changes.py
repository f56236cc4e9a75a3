"""What a shell does with the effects that change logs: the same calls on whatever logs it has."""

from collections.abc import Mapping
from typing import Protocol, assert_never, runtime_checkable
from uuid import UUID

from node.effects import (
    AppendBatches,
    CreateLog,
    DeleteBeforeSnapshot,
    FinishSnapshot,
    LimitSegments,
    LogChange,
    RaiseLogStarts,
    RemoveLog,
    ReplaceLog,
    ReplicaLogChange,
    RestartLog,
    SaveCleanShutdown,
    SaveHighWatermarks,
    SaveRecoveryPoints,
    SegmentLimits,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import LogId, LogPosition, Offset


class BatchLog(Protocol):
    """See `node.storage.log` and `node.storage.partition_log`."""

    def append(self, data: bytes) -> None: ...

    def truncate(self, end: Offset) -> None: ...

    def flush(self) -> Offset: ...


@runtime_checkable
class WritableLog(BatchLog, Protocol):
    """One with snapshots: see `node.storage.log`."""

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None: ...

    def finish_snapshot(self, id_: LogPosition) -> None: ...

    def delete_before_snapshot(self, snapshot: LogPosition) -> None: ...

    def replace(self, snapshot: LogPosition) -> None: ...


class ChangeableLogs(Protocol):
    """See `node.storage.log_directories`."""

    def __getitem__(self, log: LogId) -> BatchLog: ...

    def create(self, log: LogId, topic: UUID, directory: UUID) -> None: ...

    def limit_segments(self, log: LogId, limits: SegmentLimits) -> None: ...

    def remove(self, log: LogId) -> None: ...

    def raise_starts(self, starts: Mapping[LogId, Offset]) -> None: ...

    def restart(self, log: LogId, start: Offset) -> None: ...

    def save_clean_shutdown(self, broker_epoch: int) -> None: ...

    def save_high_watermarks(self, offsets: Mapping[LogId, Offset]) -> None: ...

    def save_recovery_points(self) -> None: ...


def perform(change: LogChange, log: BatchLog) -> None:
    """Done when it returns."""
    match change:
        case AppendBatches(data=data):
            log.append(data)
        case TruncateLog(end=end):
            log.truncate(end)
        case _:
            assert isinstance(log, WritableLog), f"{change} of a log that has no snapshots"
            _perform_on_snapshots(change, log)


def _perform_on_snapshots(
    change: WriteSnapshot | FinishSnapshot | DeleteBeforeSnapshot | ReplaceLog, log: WritableLog
) -> None:
    match change:
        case WriteSnapshot(snapshot=id_, position=position, data=data):
            log.write_snapshot(id_, position, data)
        case FinishSnapshot(snapshot=id_):
            log.finish_snapshot(id_)
        case DeleteBeforeSnapshot(snapshot=id_):
            log.delete_before_snapshot(id_)
        case ReplaceLog(snapshot=id_):
            log.replace(id_)
        case _:
            assert_never(change)


def perform_on_replicas(change: ReplicaLogChange, logs: ChangeableLogs) -> None:
    """Done when it returns."""
    match change:
        case CreateLog(log=log, topic=topic, directory=directory):
            logs.create(log, topic, directory)
        case LimitSegments(log=log, limits=limits):
            logs.limit_segments(log, limits)
        case RemoveLog(log=log):
            logs.remove(log)
        case RaiseLogStarts(starts=starts):
            logs.raise_starts(starts)
        case RestartLog(log=log, start=start):
            logs.restart(log, start)
        case SaveCleanShutdown(broker_epoch=epoch):
            logs.save_clean_shutdown(epoch)
        case SaveHighWatermarks(offsets=offsets):
            logs.save_high_watermarks(offsets)
        case SaveRecoveryPoints():
            logs.save_recovery_points()
        case _:
            assert_never(change)
