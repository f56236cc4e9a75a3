"""Fetch, for consumers and for followers: a leader's records, and what followers tell by asking.

A follower that asks from an offset has all below; so a Fetch moves the high watermark, and the ISR
(KIP-966, KIP-903). It gets all of the log; consumers get what is below the high watermark. One that
finds too little waits: for records, and a follower also for a newer high watermark, and to hear
that the log begins later.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from node import limits
from node.broker.held_replicas import Held, HeldReplicas, Key, PartitionRefusal
from node.broker.isr_changes import IsrChanges
from node.broker.replica_logs import ReplicaLog
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_OFFSET, ConnectionId, Offset
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


@dataclass(slots=True, kw_only=True)
class _WaitingFetch:
    request: PartitionsFetchRequest
    keys: frozenset[Key]  # of its partitions, all of which are served here
    until_ns: int


@dataclass(slots=True, kw_only=True)
class _Found:
    """Of one partition: what is told of it, and the records that are to be read: `size` bytes."""

    told: FetchedRecords
    log: ReplicaLog | None = None
    offset: Offset = Offset(0)
    max_bytes: int = 0
    limit: Offset = Offset(0)
    size: int = 0


class FetchRequests:
    def __init__(self, replicas: HeldReplicas, changes: IsrChanges, parking: Parking) -> None:
        self._replicas = replicas
        self._changes = changes
        self._waiting = Waiting[_WaitingFetch](parking)
        # To followers: of high watermarks, and of where logs begin.
        self._told: dict[tuple[int, Key], tuple[int, int]] = {}

    def fetch(
        self, connection: ConnectionId, request: PartitionsFetchRequest, mono_ns: int
    ) -> PartitionsFetchResponse | None:
        """None: answered later."""
        if request.session_error is not ErrorCode.NONE:
            return PartitionsFetchResponse(error=request.session_error)
        if request.replica != CONSUMER:
            self._count(request, mono_ns)
        found = self._look(request)
        if request.max_wait_ms <= 0 or self._is_enough(request, found):
            return self._tell(request, found)
        until_ns = mono_ns + request.max_wait_ms * MS
        waiting = _WaitingFetch(request=request, keys=self._keys(request), until_ns=until_ns)
        self._waiting.park(connection, waiting)
        return None

    def _keys(self, request: PartitionsFetchRequest) -> frozenset[Key]:
        held = (self._replicas.find(each.partition) for each in request.partitions)
        return frozenset(each.key for each in held if each is not None)

    def is_awaited(self, partitions: Collection[Key]) -> bool:
        """Does anybody wait for news of one of them?"""
        return not all(each.keys.isdisjoint(partitions) for each in self._waiting.requests())

    def poll(self, moved: Mapping[Key, Held], mono_ns: int) -> None:
        """Answer who waits for what is there now, or waited long enough."""
        for connection, waiting in self._waiting.all():
            is_late = mono_ns >= waiting.until_ns
            if not is_late and waiting.keys.isdisjoint(moved):
                continue
            found = self._look(waiting.request)
            if is_late or self._is_enough(waiting.request, found):
                self._waiting.respond(connection, self._tell(waiting.request, found))

    def deadline_ns(self) -> int:
        return min((each.until_ns for each in self._waiting.requests()), default=NEVER_NS)

    def _count(self, request: PartitionsFetchRequest, mono_ns: int) -> None:
        """What a follower has, where its log does not diverge."""
        for each in request.partitions:
            held = self._replicas.find(each.partition)
            if held is None or self._refusal(request, each, held) is not ErrorCode.NONE:
                continue
            if self._has_moved(request, each, held, mono_ns):
                self._replicas.note(held)

    def _has_moved(
        self, request: PartitionsFetchRequest, each: FetchedPartition, held: Held, mono_ns: int
    ) -> bool:
        """Is there anything by it that others wait for? It asks for all that it follows, and has
        more of one of them."""
        replica = held.replica
        watermark = replica.high_watermark
        begins = replica.told_start(request.replica, Offset(each.log_start))
        if replica.divergence(each.last_epoch, Offset(each.offset)) is not None:
            return begins
        proposal = replica.fetched_by(
            request.replica, Offset(each.offset), request.broker_epoch, mono_ns
        )
        if proposal is not None:
            self._changes.propose(held, proposal)
        return begins or proposal is not None or replica.high_watermark != watermark

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

    def _look(self, request: PartitionsFetchRequest) -> list[_Found]:
        """What there is, without reading it: whoever waits for more has others look again."""
        left = min(max(request.max_bytes, 0), limits.MAX_PARTITIONS_FETCH_BYTES)
        found: list[_Found] = []
        has_none = True
        for each in request.partitions:
            # The first batch is returned whatever the limits are, so that a consumer goes on
            # (KIP-74).
            found.append(self._look_at(request, each, left, may_exceed=has_none))
            left = max(0, left - found[-1].size)
            has_none = has_none and not found[-1].size
        return found

    def _look_at(
        self,
        request: PartitionsFetchRequest,
        requested: FetchedPartition,
        left: int,
        *,
        may_exceed: bool,
    ) -> _Found:
        held = self._replicas.find(requested.partition)
        if held is None:
            return _refused(requested, self._replicas.absent(requested.partition))
        replica, error = held.replica, self._refusal(request, requested, held)
        if error is not ErrorCode.NONE:
            refusal = PartitionRefusal(
                error=error, leader=replica.leader, leader_epoch=replica.leader_epoch
            )
            is_out = error is ErrorCode.OFFSET_OUT_OF_RANGE
            return _refused(requested, refusal, replica.start if is_out else NO_OFFSET)
        offset = Offset(requested.offset)
        diverging = replica.divergence(requested.last_epoch, offset)
        told = FetchedRecords(
            partition=requested.partition,
            high_watermark=replica.high_watermark,
            log_start=replica.start,
            diverging=diverging,
        )
        limit = replica.high_watermark if request.replica == CONSUMER else replica.end
        log = self._replicas.log_at(held, offset)
        if log is None or diverging is not None or offset >= limit or not (left or may_exceed):
            return _Found(told=told)
        most = max(0, min(left, requested.max_bytes))
        try:
            size = log.readable(offset, most, limit)
        except CorruptLog as damage:
            self._replicas.damaged(held, damage)
            return _refused(requested, PartitionRefusal(error=ErrorCode.CORRUPT_MESSAGE))
        return _Found(told=told, log=log, offset=offset, max_bytes=most, limit=limit, size=size)

    def _is_enough(self, request: PartitionsFetchRequest, found: list[_Found]) -> bool:
        wanted = min(max(request.min_bytes, 1), limits.MAX_PARTITIONS_FETCH_BYTES)
        told = [each.told for each in found]
        is_news = any(each.error is not ErrorCode.NONE or each.diverging for each in told)
        if sum(each.size for each in found) >= wanted or is_news or not found:
            return bool(found) or request.min_bytes == 0
        return request.replica != CONSUMER and any(
            self._told.get(_told_key(request, each)) != _news(each) for each in told
        )

    def _tell(
        self, request: PartitionsFetchRequest, found: list[_Found]
    ) -> PartitionsFetchResponse:
        response = PartitionsFetchResponse(partitions=tuple(map(_read, found)))
        if request.replica != CONSUMER:
            for each in response.partitions:
                # Else anybody could have it remember names of followers without end.
                if each.error is ErrorCode.NONE:
                    self._told[_told_key(request, each)] = _news(each)
        return response


def _refused(
    requested: FetchedPartition, absent: PartitionRefusal, log_start: Offset | int = NO_OFFSET
) -> _Found:
    """Who leads is told to those who took another one for it (KIP-951)."""
    told = FetchedRecords(partition=requested.partition, error=absent.error, log_start=log_start)
    if absent.error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
        told = replace(told, leader=absent.leader, leader_epoch=absent.leader_epoch)
    return _Found(told=told)


def _read(found: _Found) -> FetchedRecords:
    if found.log is None or found.size == 0:
        return found.told
    records = found.log.read_below(found.offset, found.max_bytes, found.limit)
    return replace(found.told, records=records)


def _told_key(request: PartitionsFetchRequest, each: FetchedRecords) -> tuple[int, Key]:
    return request.replica, (each.partition.id, each.partition.index)


def _news(each: FetchedRecords) -> tuple[int, int]:
    return each.high_watermark, each.log_start
