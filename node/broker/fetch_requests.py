"""Fetch, for consumers and for followers: a leader's records, and what followers tell by asking.

A follower that asks from an offset has all below; so a Fetch moves the high watermark, and the ISR
(KIP-966, KIP-903). It gets all of the log; consumers get what is below the high watermark. One that
finds too little waits: for records, and a follower also for a newer high watermark, and to hear
that the log begins later.
"""

from collections.abc import Collection, Mapping
from operator import attrgetter

from node import limits
from node.broker.held_replicas import Held, HeldReplicas, PartitionRefusal
from node.broker.isr_changes import IsrChanges
from node.broker.remote_replica import RemoteReplica
from node.broker.replica_logs import ReplicaLog
from node.errors import ErrorCode
from node.ids import MS, NO_EPOCH, NO_NODE, NO_OFFSET, ConnectionId, LogId, LogPosition, Offset
from node.lazy_dataclass import dataclass
from node.parking import Parking, Waiting
from node.storage.storage_errors import CorruptLog
from node.wire.partition_fetch import (
    CONSUMER,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)

# Who leads is told to those who took another one for it (KIP-951).
_TELLING_WHO_LEADS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


_until_ns = attrgetter("until_ns")  # of who waits; asked for after every step


@dataclass(slots=True, kw_only=True)
class _WaitingFetch:
    request: PartitionsFetchRequest
    logs: frozenset[LogId]  # of its partitions, all of which are served here
    until_ns: int


@dataclass(slots=True, kw_only=True)
class _Found:
    """Of one partition: what is told of it, and the records that are to be read: `size` bytes."""

    requested: FetchedPartition
    held: Held | None
    refusal: PartitionRefusal | None = None
    high_watermark: int = -1
    log_start: int = NO_OFFSET
    diverging: LogPosition | None = None
    log: ReplicaLog | None = None
    max_bytes: int = 0
    limit: Offset = Offset(0)
    size: int = 0


class FetchRequests:
    def __init__(self, replicas: HeldReplicas, changes: IsrChanges, parking: Parking) -> None:
        self._replicas = replicas
        self._changes = changes
        self._waiting = Waiting[_WaitingFetch](parking)

    def fetch(
        self, connection: ConnectionId, request: PartitionsFetchRequest, mono_ns: int
    ) -> PartitionsFetchResponse | None:
        """None: answered later."""
        if request.session_error is not ErrorCode.NONE:
            return PartitionsFetchResponse(error=request.session_error)
        found = self._look(request, mono_ns)
        if request.max_wait_ms <= 0 or self._is_enough(request, found):
            return self._tell(request, found)
        until_ns = mono_ns + request.max_wait_ms * MS
        logs = frozenset(each.held.log for each in found if each.held is not None)
        waiting = _WaitingFetch(request=request, logs=logs, until_ns=until_ns)
        self._waiting.park(connection, waiting)
        return None

    def is_awaited(self, logs: Collection[LogId]) -> bool:
        """Does anybody wait for news of one of them?"""
        return not all(each.logs.isdisjoint(logs) for each in self._waiting.requests.values())

    def poll(self, moved: Mapping[LogId, Held], mono_ns: int) -> None:
        """Answer who waits for what is there now, or waited long enough."""
        for connection, waiting in self._waiting.all():
            is_late = mono_ns >= waiting.until_ns
            if not is_late and waiting.logs.isdisjoint(moved):
                continue
            found = self._look(waiting.request)
            if is_late or self._is_enough(waiting.request, found):
                self._waiting.respond(connection, self._tell(waiting.request, found))

    def deadline_ns(self) -> int:
        return self._waiting.earliest_ns(_until_ns)

    def _look(self, request: PartitionsFetchRequest, arrived_ns: int | None = None) -> list[_Found]:
        """What there is, without reading it: whoever waits for more has others look again.
        `arrived_ns`: where it is looked at for the first time."""
        left = min(max(request.max_bytes, 0), limits.MAX_PARTITIONS_FETCH_BYTES)
        found: list[_Found] = []
        has_none = True
        for each in request.partitions:
            one = self._look_at(request, each, arrived_ns)
            # The first batch is returned whatever the limits are, so that a consumer goes on
            # (KIP-74).
            if one.log is not None and (left or has_none):
                self._measure(one, left)
                left = max(0, left - one.size)
                has_none = has_none and not one.size
            found.append(one)
        return found

    def _look_at(
        self,
        request: PartitionsFetchRequest,
        requested: FetchedPartition,
        arrived_ns: int | None,
    ) -> _Found:
        held = self._replicas.find(requested.partition)
        if held is None:
            refusal = self._replicas.absent(requested.partition)
            return _Found(requested=requested, held=None, refusal=refusal)
        replica, error = held.replica, self._refusal(request, requested, held)
        if error is not ErrorCode.NONE:
            return _refused(requested, held, error)
        offset, is_consumer = Offset(requested.offset), request.replica == CONSUMER
        diverging = replica.divergence(requested.last_epoch, offset)
        if arrived_ns is not None and not is_consumer:
            self._count(request, requested, held, diverging, arrived_ns)
        limit = replica.high_watermark if is_consumer else replica.end
        has_more = diverging is None and offset < limit
        return _Found(
            requested=requested,
            held=held,
            high_watermark=replica.high_watermark,
            log_start=replica.start,
            diverging=diverging,
            log=self._replicas.log_at(held, offset) if has_more else None,
            limit=limit,
        )

    def _measure(self, found: _Found, left: int) -> None:
        """How much of it is to be read, with so many bytes left."""
        assert found.log is not None
        assert found.held is not None
        found.max_bytes = max(0, min(left, found.requested.max_bytes))
        try:
            found.size = found.log.readable(
                Offset(found.requested.offset), found.max_bytes, found.limit
            )
        except CorruptLog as damage:
            self._replicas.damaged(found.held, damage)
            found.refusal = PartitionRefusal(error=ErrorCode.CORRUPT_MESSAGE)
            found.log_start = NO_OFFSET

    def _count(
        self,
        request: PartitionsFetchRequest,
        requested: FetchedPartition,
        held: Held,
        diverging: LogPosition | None,
        mono_ns: int,
    ) -> None:
        """What a follower has, where its log does not diverge. Others may wait for it: it asks for
        all that it follows, and has more of one of them."""
        replica = held.replica
        watermark = replica.high_watermark
        has_moved = replica.told_start(request.replica, Offset(requested.log_start))
        if diverging is None:
            proposal = replica.fetched_by(
                request.replica, Offset(requested.offset), request.broker_epoch, mono_ns
            )
            if proposal is not None:
                self._changes.propose(held, proposal)
                has_moved = True
        if has_moved or replica.high_watermark != watermark:
            self._replicas.note(held)

    def _refusal(
        self, request: PartitionsFetchRequest, requested: FetchedPartition, held: Held
    ) -> ErrorCode:
        """A follower, too, gives consumers what it knows to be committed (KIP-392)."""
        replica, is_consumer = held.replica, request.replica == CONSUMER
        may_follow = is_consumer and request.may_be_from_follower
        error = replica.refusal(requested.epoch, may_follow=may_follow)
        if error is not ErrorCode.NONE:
            return error
        if not is_consumer:
            assert replica.leading is not None
            if request.replica not in replica.leading.followers:
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
        elif requested.last_epoch > replica.leader_epoch:
            return ErrorCode.OFFSET_OUT_OF_RANGE  # nothing is known of where that epoch ends
        is_in = replica.start <= requested.offset <= replica.end
        is_fine = (
            is_in or replica.divergence(requested.last_epoch, Offset(requested.offset)) is not None
        )
        return ErrorCode.NONE if is_fine else ErrorCode.OFFSET_OUT_OF_RANGE

    def _is_enough(self, request: PartitionsFetchRequest, found: list[_Found]) -> bool:
        if not found:
            return request.min_bytes == 0
        if any(each.refusal is not None or each.diverging is not None for each in found):
            return True
        wanted = min(max(request.min_bytes, 1), limits.MAX_PARTITIONS_FETCH_BYTES)
        if sum(each.size for each in found) >= wanted:
            return True
        return request.replica != CONSUMER and any(
            _follower(request, each).told != (each.high_watermark, each.log_start) for each in found
        )

    def _tell(
        self, request: PartitionsFetchRequest, found: list[_Found]
    ) -> PartitionsFetchResponse:
        if request.replica != CONSUMER:
            for each in found:
                if each.refusal is None:
                    told = Offset(each.high_watermark), Offset(each.log_start)
                    _follower(request, each).told = told
        return PartitionsFetchResponse(partitions=tuple(map(_read, found)))


def _refused(requested: FetchedPartition, held: Held, error: ErrorCode) -> _Found:
    replica = held.replica
    refusal = PartitionRefusal(
        error=error, leader=replica.leader, leader_epoch=replica.leader_epoch
    )
    is_out = error is ErrorCode.OFFSET_OUT_OF_RANGE
    return _Found(
        requested=requested,
        held=held,
        refusal=refusal,
        log_start=replica.start if is_out else NO_OFFSET,
    )


def _follower(request: PartitionsFetchRequest, found: _Found) -> RemoteReplica:
    """Who asks, as the leader of a partition that it is not refused knows it."""
    assert found.held is not None
    assert found.held.replica.leading is not None
    return found.held.replica.leading.followers[request.replica]


def _read(found: _Found) -> FetchedRecords:
    log, refusal, partition = found.log, found.refusal, found.requested.partition
    if refusal is not None:
        tells_leader = refusal.error in _TELLING_WHO_LEADS
        return FetchedRecords(
            partition=partition,
            error=refusal.error,
            log_start=found.log_start,
            leader=refusal.leader if tells_leader else NO_NODE,
            leader_epoch=refusal.leader_epoch if tells_leader else NO_EPOCH,
        )
    records, sliced = b"", None
    if log is not None and found.size:
        what = Offset(found.requested.offset), found.max_bytes, found.limit
        if found.size > limits.MAX_READ_AT_ONCE:
            sliced = log.slice_below(*what)
        else:
            records = log.read_below(*what)
    return FetchedRecords(
        partition=partition,
        high_watermark=found.high_watermark,
        log_start=found.log_start,
        diverging=found.diverging,
        records=records,
        sliced=sliced,
    )
