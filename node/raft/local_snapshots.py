"""The node's own snapshots: writing one, as it is taken or fetched, and letting go of old ones.

One is written at a time: who begins another drops what was written of the one before. Which are to
go is looked at when a node starts, when one came or went, and each minute: the oldest grows too old
also where none comes, and the log grows between two of them (`KafkaRaftLog.maybeClean`).
"""

from collections.abc import Sequence
from itertools import pairwise

from node.config import SnapshotSettings
from node.effects import DeleteBeforeSnapshot, FinishSnapshot, WriteSnapshot
from node.ids import METADATA_LOG, NEVER_NS, LogPosition, Now
from node.outbox import Outbox
from node.raft import deadlines
from node.storage.snapshots import Snapshot
from node.storage.view import LogView


def deletion_point(
    snapshots: Sequence[Snapshot], log_bytes: int, wall_ms: int, settings: SnapshotSettings
) -> LogPosition | None:
    """The snapshot behind which the log is to be cut, and all older ones with it; or None.

    The newest one stays, and so does all that lies behind it: the oldest goes while there is more
    than is to be kept, or while it is older (`KafkaRaftLog.cleanSnapshots`).
    """
    total = log_bytes + sum(snapshot.size for snapshot in snapshots)
    for older, newer in pairwise(snapshots):
        is_old = wall_ms - older.timestamp_ms > settings.retention_ms
        return newer.id if is_old or total > settings.retention_bytes else None
    return None


class PieceWriter:
    """The bytes of one snapshot, in order."""

    def __init__(self, id_: LogPosition, owner: "LocalSnapshots") -> None:
        self.id = id_
        self.position = 0
        self._owner = owner

    @property
    def is_current(self) -> bool:
        """Has nobody begun another since?"""
        return self._owner.writing is self

    def write(self, data: bytes) -> None:
        assert self.is_current, f"{self.id} was dropped"
        self._owner.outbox.emit(
            WriteSnapshot(log=METADATA_LOG, snapshot=self.id, position=self.position, data=data)
        )
        self.position += len(data)

    def finish(self, what: str) -> None:
        """All is written; `what` became of it, as traced."""
        assert self.is_current, f"{self.id} was dropped"
        self._owner.writing = None
        self._owner.outbox.emit(FinishSnapshot(log=METADATA_LOG, snapshot=self.id))
        self._owner.trace(what, self.id)


class LocalSnapshots:
    def __init__(self, view: LogView, settings: SnapshotSettings, outbox: Outbox) -> None:
        self.settings = settings
        self.outbox = outbox
        self.writing: PieceWriter | None = None
        self._view = view
        self._known = [snapshot.id for snapshot in view.snapshots()]
        self._due_ns = 0  # to look at what is to go, whatever came or went

    def newest(self) -> Snapshot | None:
        """As the log is seen in this step."""
        snapshots = self._view.snapshots()
        return snapshots[-1] if snapshots else None

    def start(self) -> None:
        """Tell of those that are there."""
        for id_ in self._known:
            self.trace("found", id_)

    def begin(self, id_: LogPosition) -> PieceWriter:
        self.writing = PieceWriter(id_, self)
        return self.writing

    def poll(self, now: Now) -> None:
        """Tell of those that are gone, and let go of more."""
        snapshots = self._view.snapshots()
        if not (snapshots or self._known):
            return  # as mostly
        ids = [snapshot.id for snapshot in snapshots]
        if ids == self._known and now.mono_ns < self._due_ns:
            return
        for id_ in self._known:
            if id_ not in ids:
                self.trace("deleted", id_)
        self._known = ids
        self._due_ns = now.mono_ns + deadlines.RETENTION_CHECK_NS
        wall_ms = now.wall_ns // 1_000_000
        id_to_keep = deletion_point(snapshots, self._view.size(), wall_ms, self.settings)
        if id_to_keep is not None:
            self.outbox.emit(DeleteBeforeSnapshot(log=METADATA_LOG, snapshot=id_to_keep))

    def deadline_ns(self) -> int:
        """When `poll` looks again; never while there is only the newest one, which stays."""
        return self._due_ns if len(self._known) > 1 else NEVER_NS

    def trace_loaded(self, id_: LogPosition) -> None:
        self.outbox.trace("q.loaded", end=id_.offset, epoch=id_.epoch)

    def trace(self, what: str, id_: LogPosition) -> None:
        start = self._view.start()
        self.outbox.trace("q.snapshot", what=what, end=id_.offset, epoch=id_.epoch, start=start)
