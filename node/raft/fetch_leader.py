"""Fetch at the leader: returns records or the divergence point, at once or when there is news."""

from operator import attrgetter

from node import limits
from node.errors import ErrorCode
from node.ids import (
    MS,
    NEVER_NS,
    ConnectionId,
    Epoch,
    LogPosition,
    NodeId,
    Now,
    Offset,
    uuid_text,
)
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, Parking, Waiting
from node.raft.common import top_refusal
from node.raft.local_log import LocalLog
from node.raft.quorum import Quorum
from node.raft.replicas import ReadIndex, Replicas
from node.raft.roles import Leader
from node.storage.view import LogView
from node.wire.fetch import FetchRequest, FetchResponse

_deadline_ns = attrgetter("deadline_ns")  # of parked Fetches; read after every step


def divergence(view: LogView, offset: int, last_epoch: int) -> LogPosition | None:
    """Where our log ends in the fetcher's last epoch, if its log is not a prefix of ours.

    A larger end of that epoch is an ordinary follower behind; an empty log never diverges
    (`RaftLog.validateOffsetAndEpoch`).
    """
    if offset == view.start():
        return None
    ours = view.end_of_epoch(Epoch(last_epoch))
    if ours.epoch != last_epoch or ours.offset < offset:
        return ours
    return None


def snapshot_instead(view: LogView, offset: int, last_epoch: int) -> LogPosition | None:
    """The snapshot to fetch, if that is better than records, or if our log begins behind the
    position that the fetcher's is to be compared at (`RaftLog.validateOffsetAndEpoch`)."""
    snapshots = view.snapshots()
    if not snapshots:
        return None
    oldest, start = snapshots[0].id, view.start()
    is_behind = offset < start or (offset == start > 0 and last_epoch != oldest.epoch)
    if offset == 0 or is_behind or last_epoch < oldest.epoch:
        return snapshots[-1].id
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """A Fetch that waits for news."""

    request: FetchRequest
    deadline_ns: int


class LeaderFetch:
    def __init__(
        self,
        quorum: Quorum,
        log: LocalLog,
        replicas: Replicas,
        reads: ReadIndex,
        outbox: Outbox,
        parking: Parking,
        cluster_id: str,
    ) -> None:
        self._quorum = quorum
        self._log = log
        self._replicas = replicas
        self._reads = reads
        self._outbox = outbox
        self._cluster_id = cluster_id
        self._parked = Waiting[Parked](parking)

    def on_request(
        self, connection: ConnectionId, request: FetchRequest, now: Now
    ) -> FetchResponse | None:
        """The response, or None while there is nothing to return yet (`poll` answers later)."""
        top = top_refusal(
            request.cluster_id, partition_ok=request.partition_ok, cluster_id=self._cluster_id
        )
        if top is not None:
            return FetchResponse(top_error=top)
        error = self._refusal(request)
        if error != ErrorCode.NONE:
            return self._response(error=error)
        snapshot = self._snapshot_instead(request)
        if snapshot is not None:
            self._trace(request, "snapshot")
            return self._response(snapshot=snapshot)
        diverging = divergence(self._log.view, request.fetch_offset, request.last_epoch)
        self._trace(request, "valid" if diverging is None else "diverging")
        if diverging is not None:
            return self._response(diverging=diverging)
        self._replicas.on_valid_fetch(connection, request, now)
        if self._is_worth_a_response(request):
            return self._records_for(connection, request, now.mono_ns)
        deadline = now.mono_ns + request.max_wait_ms * MS
        self._parked.park(connection, Parked(request=request, deadline_ns=deadline))
        return None

    def _refusal(self, request: FetchRequest) -> ErrorCode:
        epoch = self._quorum.epoch
        if request.fetch_offset < 0 or not 0 <= request.last_epoch <= request.epoch:
            return ErrorCode.INVALID_REQUEST
        if request.epoch < epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if request.epoch > epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self._quorum.role, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE

    def _snapshot_instead(self, request: FetchRequest) -> LogPosition | None:
        return snapshot_instead(self._log.view, request.fetch_offset, request.last_epoch)

    # --- parked fetches ---

    def poll(self, mono_ns: int) -> None:
        """Answer the parked fetches for which there is news or that are due, and all of them
        once we lead no more."""
        if not self._parked.requests:
            return
        for connection, parked in self._parked.all():
            response = self.response_to_parked(connection, parked, mono_ns)
            if response is not None:
                self._parked.respond(connection, response)

    def response_to_parked(
        self, connection: ConnectionId, parked: Parked, mono_ns: int
    ) -> FetchResponse | None:
        """None: it keeps waiting. Nothing is reused from when it was parked: we may have lost the
        leadership since, and our log its end (KAFKA-15100)."""
        error = self._refusal(parked.request)
        if error == ErrorCode.FENCED_LEADER_EPOCH:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        if error != ErrorCode.NONE:
            return self._response(error=error)
        if parked.request.fetch_offset < self._log.start:
            return self._response(snapshot=self._snapshot_instead(parked.request))
        if parked.deadline_ns <= mono_ns or self._is_worth_a_response(parked.request):
            return self._records_for(connection, parked.request, mono_ns)
        return None

    def deadline_ns(self) -> int:
        parked = self._parked
        return parked.earliest_ns(_deadline_ns) if parked.requests else NEVER_NS

    def _is_worth_a_response(self, request: FetchRequest) -> bool:
        known = self._leader().high_watermark
        return (
            request.fetch_offset < self._log.durable
            or request.max_wait_ms <= 0
            or (known is not None and request.high_watermark < known)
            or self._reads.awaits(request.replica)
        )

    def _records_for(
        self, connection: ConnectionId, request: FetchRequest, mono_ns: int
    ) -> FetchResponse:
        """Uncommitted records too: that is how they become committed. Only flushed ones trigger a
        response; later appends may ride along, as they do not count until flushed here."""
        records = b""
        if request.fetch_offset < self._log.durable:
            wanted = min(request.max_bytes, self._quorum.timeouts.fetch_max_bytes)
            limit = min(max(wanted, 1), limits.MAX_FETCH_BYTES)
            records = self._log.view.read(Offset(request.fetch_offset), limit)
        self._reads.on_response(connection, request.replica, mono_ns)
        return self._response(records=records)

    def _response(
        self,
        *,
        error: ErrorCode = ErrorCode.NONE,
        diverging: LogPosition | None = None,
        snapshot: LogPosition | None = None,
        records: bytes = b"",
    ) -> FetchResponse:
        quorum = self._quorum
        known = quorum.high_watermark if isinstance(quorum.role, Leader) else None
        return FetchResponse(
            error=error,
            leader=quorum.leader,
            epoch=quorum.epoch,
            high_watermark=-1 if known is None else known,
            log_start=self._log.view.start(),
            diverging=diverging,
            snapshot=snapshot,
            records=records,
            leader_endpoint=quorum.leader_at(),
        )

    def _trace(self, request: FetchRequest, outcome: str) -> None:
        """Trace only changes: an idle follower fetches the same offset for ever."""
        known = self._leader().replicas.get(request.replica)
        if known is not None and (known.end, known.outcome) == (request.fetch_offset, outcome):
            return
        self._outbox.trace(
            "q.fetch",
            replica=NodeId(request.replica.id),
            replica_dir=uuid_text(request.replica.directory),
            offset=request.fetch_offset,
            last_epoch=request.last_epoch,
            epoch=request.epoch,
            outcome=outcome,
        )

    def _leader(self) -> Leader:
        assert isinstance(self._quorum.role, Leader), "only a leader serves fetches"
        return self._quorum.role
