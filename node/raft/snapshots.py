"""Snapshots of the metadata log: writing one, taken or fetched; deleting old ones; FetchSnapshot.

One snapshot is written at a time: beginning another drops the unfinished one. Retention is checked
when a node starts, when a snapshot came or went, and each minute: the oldest grows too old also
where none comes, and the log grows between two of them (`KafkaRaftLog.maybeClean`).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from node import limits
from node.config import SnapshotSettings
from node.effects import DeleteBeforeSnapshot, FinishSnapshot, WriteSnapshot
from node.errors import ErrorCode
from node.ids import METADATA_LOG, NEVER_NS, LogPosition, Now, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.outbox import Outbox
from node.raft import deadlines
from node.raft.common import heed, top_refusal
from node.raft.local_log import LocalLog, Unreplayable, first_unreplayable
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas
from node.raft.roles import Follower, Leader
from node.records.metadata import check_contents
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot
from node.storage.view import LogView
from node.wire.fetch import FetchSnapshotRequest, FetchSnapshotResponse


def deletion_point(
    snapshots: Sequence[Snapshot], log_bytes: int, wall_ms: int, settings: SnapshotSettings
) -> LogPosition | None:
    """The snapshot to truncate the log's start to, with all older ones deleted; or None.

    The newest one stays, and so does the log after it: the oldest goes while they exceed the
    retention size, or while it is older than the retention time (`KafkaRaftLog.cleanSnapshots`).
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
        """False once another snapshot was begun."""
        return self._owner.writing is self

    def write(self, data: bytes) -> None:
        assert self.is_current, f"{self.id} was dropped"
        self._owner.outbox.emit(
            WriteSnapshot(log=METADATA_LOG, snapshot=self.id, position=self.position, data=data)
        )
        self.position += len(data)

    def finish(self, what: str) -> None:
        """All is written; `what` is how it ended, as traced."""
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
        self._due_ns = 0  # next retention check, without a snapshot coming or going

    def newest(self) -> Snapshot | None:
        """As the log is seen in this step."""
        snapshots = self._view.snapshots()
        return snapshots[-1] if snapshots else None

    def start(self) -> None:
        """Trace the existing snapshots."""
        for id_ in self._known:
            self.trace("found", id_)

    def begin(self, id_: LogPosition) -> PieceWriter:
        self.writing = PieceWriter(id_, self)
        return self.writing

    def poll(self, now: Now) -> None:
        """Trace those that are gone, and delete more."""
        snapshots = self._view.snapshots()
        if not (snapshots or self._known):
            return  # the usual case
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
        """When `poll` checks again; never while there is only the newest one, which stays."""
        return self._due_ns if len(self._known) > 1 else NEVER_NS

    def trace_loaded(self, id_: LogPosition) -> None:
        self.outbox.trace("q.loaded", end=id_.offset, epoch=id_.epoch)

    def trace(self, what: str, id_: LogPosition) -> None:
        start = self._view.start()
        self.outbox.trace("q.snapshot", what=what, end=id_.offset, epoch=id_.epoch, start=start)


# FetchSnapshot (KIP-630): a follower that needs records before its leader's log start fetches the
# state they add up to, piece by piece.
#
# The leader announces this in its Fetch response (`fetch_leader`). While a snapshot is being
# fetched no Fetch is sent; each piece renews the fetch time-out and the leader's check-quorum
# instead. Another epoch, another leader or a deleted snapshot ends it: the next Fetch response
# names the snapshot to fetch then.


class LeaderSnapshots:
    """Serves the pieces."""

    def __init__(self, quorum: Quorum, log: LocalLog, replicas: Replicas, cluster_id: str) -> None:
        self._quorum = quorum
        self._log = log
        self._replicas = replicas
        self._cluster_id = cluster_id

    def on_request(self, request: FetchSnapshotRequest, now: Now) -> FetchSnapshotResponse:
        top = top_refusal(request.cluster_id, partition_ok=True, cluster_id=self._cluster_id)
        if top is not None:
            return FetchSnapshotResponse(top_error=top)
        if not request.partition_ok:
            return FetchSnapshotResponse(top_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        error = self._refusal(request)
        if error != ErrorCode.NONE:
            return self._response(request, error)
        found = find_snapshot(self._log, request.snapshot)
        if found is None:
            return self._response(request, ErrorCode.SNAPSHOT_NOT_FOUND)
        if not 0 <= request.position < found.size:
            return self._response(request, ErrorCode.POSITION_OUT_OF_RANGE)
        self._replicas.on_snapshot_fetch(request.replica, now)
        limit = min(max(request.max_bytes, 1), limits.MAX_FETCH_BYTES)
        data = self._log.view.read_snapshot(found.id, request.position, limit)
        return self._response(request, size=found.size, data=data)

    def _refusal(self, request: FetchSnapshotRequest) -> ErrorCode:
        if request.epoch < self._quorum.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request.epoch > self._quorum.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self._quorum.role, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def _response(
        self,
        request: FetchSnapshotRequest,
        error: ErrorCode = ErrorCode.NONE,
        *,
        size: int = 0,
        data: bytes = b"",
    ) -> FetchSnapshotResponse:
        quorum = self._quorum
        return FetchSnapshotResponse(
            error=error,
            leader=quorum.leader,
            epoch=quorum.epoch,
            snapshot=request.snapshot,
            size=size,
            position=request.position,
            data=data,
            leader_endpoint=quorum.leader_at(),
        )


def find_snapshot(log: LocalLog, id_: LogPosition) -> Snapshot | None:
    return next((each for each in log.view.snapshots() if each.id == id_), None)


@dataclass(slots=True, kw_only=True)
class _Fetching:
    """A snapshot being fetched: what has arrived, from which leader, in which role."""

    leader: ReplicaKey
    epoch: int
    writer: PieceWriter
    reader: SnapshotReader
    unreplayable: Unreplayable | None = None


class FollowerSnapshots:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        snapshots: LocalSnapshots,
        peers: Peers,
        cluster_id: str,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._snapshots = snapshots
        self._peers = peers
        self._cluster_id = cluster_id
        self._fetching: _Fetching | None = None

    @property
    def is_fetching(self) -> bool:
        """In our current role."""
        fetching, role = self._fetching, self._quorum.role
        if fetching is None:
            return False
        follows = isinstance(role, Follower) and role.epoch == fetching.epoch
        if not follows or not fetching.writer.is_current:
            self._fetching = None
        return self._fetching is not None

    def begin(self, leader: ReplicaKey, id_: LogPosition) -> str | None:
        """The leader named the snapshot to fetch. Returns why it cannot be fetched, if so."""
        committed = self._quorum.committed or Offset(0)
        if id_.offset <= committed or id_.epoch > self._quorum.epoch:
            return f"a snapshot at {id_}, where {committed} is committed here"
        self._fetching = _Fetching(
            leader=leader,
            epoch=self._quorum.epoch,
            writer=self._snapshots.begin(id_),
            reader=SnapshotReader(id_.epoch),
        )
        return None

    def send(self, mono_ns: int) -> None:
        fetching = self._fetching
        if fetching is None or not self.is_fetching:
            return
        request = FetchSnapshotRequest(
            cluster_id=self._cluster_id,
            replica=self._quorum.key,
            epoch=self._quorum.epoch,
            snapshot=fetching.writer.id,
            position=fetching.writer.position,
            max_bytes=self._snapshots.settings.fetch_max_bytes,
        )
        if self._peers.may_send(fetching.leader, request):
            self._peers.send(fetching.leader, request, mono_ns)

    def on_response(
        self,
        key: ReplicaKey,
        request: FetchSnapshotRequest,
        response: FetchSnapshotResponse,
        mono_ns: int,
    ) -> str | None:
        """What is wrong with an invalid response: the connection is to be dropped."""
        refused = response.top_error != ErrorCode.NONE
        if refused or not heed(self._quorum, response, mono_ns):
            self._give_up(key, mono_ns)
            return None
        fetching, role = self._fetching, self._quorum.role
        if not self.is_fetching or fetching is None or not isinstance(role, Follower):
            return None
        requested = (request.snapshot, request.position, request.epoch)
        if requested != (fetching.writer.id, fetching.writer.position, role.epoch):
            return None
        if response.error != ErrorCode.NONE:
            self._give_up(key, mono_ns)
            return None
        return self._take(fetching, role, response, mono_ns)

    def _give_up(self, key: ReplicaKey, mono_ns: int) -> None:
        """The next Fetch response shows how to go on."""
        self._fetching = None
        self._peers.back_off(key, mono_ns)

    def _take(
        self, fetching: _Fetching, role: Follower, response: FetchSnapshotResponse, mono_ns: int
    ) -> str | None:
        writer = fetching.writer
        fault = _read(fetching, response)
        if fault is not None:
            self._fetching = None
            return fault
        deadline = mono_ns + deadlines.fetch_timeout_ns(self._quorum.timeouts)
        self._quorum.update(role.heard(mono_ns, deadline))
        writer.write(response.data)
        if fetching.reader.is_complete:
            self._fetching = None
            self._load(fetching)
        return None

    def _load(self, fetching: _Fetching) -> None:
        """The log now begins, and ends, at the snapshot's end; everything below is committed."""
        writer = fetching.writer
        assert not isinstance(self._quorum.role, Leader), "a leader has what is committed"
        writer.finish("fetched")
        self._log.replace(writer.id, fetching.reader.controls, fetching.unreplayable)
        self._snapshots.trace_loaded(writer.id)
        self._quorum.publish_high_watermark(writer.id.offset)


def _read(fetching: _Fetching, response: FetchSnapshotResponse) -> str | None:
    """Take the next piece; returns what is wrong with it, if anything is."""
    writer, reader = fetching.writer, fetching.reader
    end = writer.position + len(response.data)
    if (response.snapshot, response.position) != (writer.id, writer.position):
        return f"another piece of a snapshot than was asked for: {response.position}"
    if not response.data or end > response.size:
        return f"{len(response.data)} bytes at {writer.position} of a snapshot of {response.size}"
    try:
        batches = reader.feed(response.data)
        for batch in batches:
            check_contents(batch)
    except ValueError as error:  # DamagedBatch and MalformedRecord
        return str(error)
    if (end == response.size) != reader.is_complete:
        return f"a snapshot of {response.size} bytes without an end there"
    if fetching.unreplayable is None:
        found = first_unreplayable(batches)
        # Its offset is not known, only that it lies below the snapshot's end.
        fetching.unreplayable = found and replace(found, offset=Offset(writer.id.offset - 1))
    return None
