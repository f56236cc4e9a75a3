"""What a shell does with the effects that change a log: the same call on whatever log it has."""

from typing import Protocol, assert_never

from node.effects import (
    AppendBatches,
    CutLog,
    FinishSnapshot,
    LogChange,
    ReplaceLog,
    TruncateLog,
    WriteSnapshot,
)
from node.ids import LogPosition, Offset


class WritableLog(Protocol):
    """See `node.storage.log`."""

    def append(self, data: bytes) -> None: ...

    def truncate(self, end: Offset) -> None: ...

    def flush(self) -> Offset: ...

    def write_snapshot(self, id_: LogPosition, position: int, data: bytes) -> None: ...

    def finish_snapshot(self, id_: LogPosition) -> None: ...

    def cut_behind(self, snapshot: LogPosition) -> None: ...

    def replace(self, snapshot: LogPosition) -> None: ...


def perform(change: LogChange, log: WritableLog) -> None:
    """Done when it returns."""
    match change:
        case AppendBatches(data=data):
            log.append(data)
        case TruncateLog(end=end):
            log.truncate(end)
        case WriteSnapshot(snapshot=id_, position=position, data=data):
            log.write_snapshot(id_, position, data)
        case FinishSnapshot(snapshot=id_):
            log.finish_snapshot(id_)
        case CutLog(snapshot=id_):
            log.cut_behind(id_)
        case ReplaceLog(snapshot=id_):
            log.replace(id_)
        case _:
            assert_never(change)
