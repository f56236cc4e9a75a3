"""FetchSnapshot (KIP-630): a follower whose leader's log begins behind what it needs fetches, piece
by piece, what the missing records add up to.

The leader says so in the answer to a Fetch (`fetch_leader`). While a snapshot is being fetched no
Fetch is sent; each piece renews the fetch time-out and the leader's check-quorum instead. Another
epoch, another leader or a snapshot that is gone ends it: a Fetch then tells what to fetch now.
"""

from dataclasses import replace

from node import limits
from node.errors import ErrorCode
from node.ids import LogPosition, Now, Offset, ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft import deadlines
from node.raft.common import heed, top_refusal
from node.raft.local_log import LocalLog
from node.raft.local_snapshots import LocalSnapshots, PieceWriter
from node.raft.peers import Peers
from node.raft.quorum import Quorum
from node.raft.replicas import Replicas
from node.raft.roles import Follower, Leader
from node.raft.unreplayable import Unreplayable, first_unreplayable
from node.records.contents import check_contents
from node.records.snapshot import SnapshotReader
from node.storage.snapshots import Snapshot
from node.wire.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse


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
    """What came of one so far, and in which role it is fetched from whom."""

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
        """In the role that we are in."""
        fetching, role = self._fetching, self._quorum.role
        if fetching is None:
            return False
        follows = isinstance(role, Follower) and role.epoch == fetching.epoch
        if not follows or not fetching.writer.is_current:
            self._fetching = None
        return self._fetching is not None

    def begin(self, leader: ReplicaKey, id_: LogPosition) -> str | None:
        """The leader said to fetch that one. What is wrong with it, if it cannot be."""
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
        """What is wrong with the answer, if it makes no sense: the connection is to be dropped."""
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
        """A Fetch will tell how to go on."""
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
        """The log now begins, and ends, where the snapshot does; all of that is committed."""
        writer = fetching.writer
        assert not isinstance(self._quorum.role, Leader), "a leader has what is committed"
        writer.finish("fetched")
        self._log.replace(writer.id, fetching.reader.controls, fetching.unreplayable)
        self._snapshots.trace_loaded(writer.id)
        self._quorum.publish_high_watermark(writer.id.offset)


def _read(fetching: _Fetching, response: FetchSnapshotResponse) -> str | None:
    """Take the next piece; what is wrong with it, if anything is."""
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
        # Its place in the log is not known any more, but that it lies below the snapshot's end.
        fetching.unreplayable = found and replace(found, offset=Offset(writer.id.offset - 1))
    return None
