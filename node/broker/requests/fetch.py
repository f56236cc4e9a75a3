"""Fetch, for consumers and for followers: a leader's records, and what it learns from the requests.

A follower that fetches from an offset has all records below it; so a Fetch moves the high
watermark, and the ISR (KIP-966, KIP-903). A follower gets all of the log, a consumer what is below
the high watermark. A request that finds too little waits: for records, and, if a follower's, also
for a newer high watermark or log start. While it waits, only those of its partitions are looked at
that have moved; in a session (`fetch_sessions`) also when it arrives.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from operator import attrgetter
from random import Random

from node import limits
from node.broker.replicas.isr import RemoteReplica
from node.broker.replicas.isr_changes import IsrChanges
from node.broker.replicas.logs import ReplicaLog
from node.broker.replicas.manager import HostedPartition, PartitionRefusal, ReplicaManager
from node.broker.requests.fetch_sessions import (
    FetchClock,
    FetchSession,
    FetchSessions,
    SentOffsets,
    place_of,
)
from node.errors import ErrorCode
from node.ids import (
    MS,
    NO_EPOCH,
    NO_NODE,
    NO_OFFSET,
    ConnectionId,
    LogId,
    LogPosition,
    NodeId,
    Offset,
)
from node.lazy_dataclass import dataclass
from node.outbox import Parking, Waiting
from node.storage.disk import CorruptLog
from node.wire.entities import TopicPartition, grouped
from node.wire.partition_fetch import (
    CONSUMER,
    FIRST_SESSION_EPOCH,
    NO_SESSION,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)

# The leader is returned to clients that took another broker for it (KIP-951).
_TELLING_WHO_LEADS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


_until_ns = attrgetter("until_ns")  # the deadline of a waiting Fetch; read after every step


@dataclass(slots=True, kw_only=True)
class _Asked:
    """A pending Fetch; `session`: the session that it continues, and its epoch."""

    request: PartitionsFetchRequest
    session: FetchSession | None
    session_epoch: int
    clock: FetchClock  # the session's, or this Fetch's alone
    until_ns: int
    # Without a session, if it waits: what it asks for, by the logs that are here.
    wanted: dict[LogId, list[FetchedPartition]] = field(default_factory=dict)
    sizes: dict[TopicPartition, int] = field(default_factory=dict)  # readable bytes that were found

    def partitions(self) -> Sequence[FetchedPartition]:
        """Those that may have something new."""
        session = self.session
        if session is None:
            return self.request.partitions
        return [session.entries[place].asked for place in session.open]


@dataclass(slots=True, kw_only=True)
class _Found:
    """The result for one partition: what is returned, and the records to read: `size` bytes."""

    requested: FetchedPartition
    held: HostedPartition | None
    refusal: PartitionRefusal | None = None
    high_watermark: int = -1
    log_start: int = NO_OFFSET
    diverging: LogPosition | None = None
    log: ReplicaLog | None = None
    max_bytes: int = 0
    limit: Offset = Offset(0)
    size: int = 0

    @property
    def is_odd(self) -> bool:
        """The Fetch is not to wait for this."""
        return self.refusal is not None or self.diverging is not None

    @property
    def told(self) -> SentOffsets:
        return Offset(self.high_watermark), Offset(self.log_start)


class FetchRequests:
    def __init__(
        self, replicas: ReplicaManager, changes: IsrChanges, parking: Parking, rng: Random
    ) -> None:
        """`rng` draws the session ids."""
        self._replicas = replicas
        self._changes = changes
        self._waiting = Waiting[_Asked](parking)
        self.sessions = FetchSessions(rng, self._no_longer_asked)

    def fetch(
        self, connection: ConnectionId, request: PartitionsFetchRequest, mono_ns: int
    ) -> PartitionsFetchResponse | None:
        """The response; None: answered later."""
        session: FetchSession | None = None
        if request.is_whole:
            self.sessions.close(request.session)
        else:
            error = self.sessions.refusal(request)
            if error is not ErrorCode.NONE:
                return PartitionsFetchResponse(error=error)
            session = self.sessions.go_on(request, mono_ns)
            if session is None and request.partitions:
                return PartitionsFetchResponse(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        asked = _Asked(
            request=request,
            session=session,
            session_epoch=NO_SESSION if session is None else session.epoch,
            clock=FetchClock(fetched_ns=mono_ns) if session is None else session.clock,
            until_ns=mono_ns + max(request.max_wait_ms, 0) * MS,
        )
        found = self._look(asked, asked.partitions(), is_new=True)
        if request.max_wait_ms <= 0 or self._is_enough(asked, found):
            return self._tell(asked, found)
        if session is None:
            for each in found:
                if each.held is not None:
                    asked.wanted.setdefault(each.held.log, []).append(each.requested)
        self._waiting.park(connection, asked)
        return None

    def is_awaited(self, logs: Mapping[LogId, HostedPartition]) -> bool:
        """Is any Fetch waiting for news of one of them?"""
        waiting = self._waiting.requests.values()
        in_session = {each.session.id for each in waiting if each.session is not None}
        if in_session:
            for held in logs.values():
                for place in held.places:
                    if any(each.id in in_session for each in self.sessions.asking(place)):
                        return True
        return not all(each.wanted.keys().isdisjoint(logs) for each in waiting)

    def poll(self, moved: Mapping[LogId, HostedPartition], mono_ns: int) -> None:
        """Answer each waiting Fetch that can be answered now, or that has waited long enough."""
        in_sessions = self._moved_in_sessions(moved) if len(self.sessions) else {}
        for connection, asked in self._waiting.all():
            news: Sequence[FetchedPartition]
            if asked.session is None:
                logs = [log for log in moved if log in asked.wanted]
                news = [each for log in logs for each in asked.wanted[log]]
            else:
                news = in_sessions.get(asked.session.id, ())
            is_late = mono_ns >= asked.until_ns
            if is_late or (news and self._is_enough(asked, self._look(asked, news))):
                found = self._look(asked, asked.partitions())
                self._waiting.respond(connection, self._tell(asked, found))

    def _moved_in_sessions(
        self, moved: Mapping[LogId, HostedPartition]
    ) -> Mapping[int, Sequence[FetchedPartition]]:
        """Mark the change in each session with the partition, to be looked at in its next Fetch."""
        found: dict[int, list[FetchedPartition]] = {}
        for held in moved.values():
            for place in held.places:
                for session in self.sessions.moved(place):
                    found.setdefault(session.id, []).append(session.entries[place].asked)
        return found

    def deadline_ns(self) -> int:
        return self._waiting.earliest_ns(_until_ns)

    def _no_longer_asked(self, replica: NodeId, at: TopicPartition, clock: FetchClock) -> None:
        held = self._replicas.find(at)
        leading = None if held is None else held.replica.leading
        follower = None if leading is None else leading.followers.get(replica)
        if follower is not None and follower.clock is clock:
            follower.stop_the_clock()

    def _look(
        self, asked: _Asked, partitions: Iterable[FetchedPartition], *, is_new: bool = False
    ) -> list[_Found]:
        """Look at what there is, without reading it: a waiting Fetch may have to look again.
        `is_new`: the first look.
        """
        request = asked.request
        left = min(max(request.max_bytes, 0), limits.MAX_PARTITIONS_FETCH_BYTES)
        found: list[_Found] = []
        has_none = True
        for each in partitions:
            one = self._look_at(request, each, asked.clock if is_new else None)
            # The first batch is returned whatever the limits are, so that a consumer progresses
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
        arrived: FetchClock | None,
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
        if arrived is not None and not is_consumer:
            self._count(request, requested, held, diverging, arrived)
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
        """How much of the partition to read, with so many bytes left."""
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
        held: HostedPartition,
        diverging: LogPosition | None,
        clock: FetchClock,
    ) -> None:
        """Count the follower's progress, where its log does not diverge. Other requests may wait
        for it: each Fetch names all that the follower follows, and it has more of one partition.
        """
        replica = held.replica
        watermark = replica.high_watermark
        has_moved = replica.told_start(request.replica, Offset(requested.log_start))
        replica.asked_by(request.replica, None if diverging is not None else clock)
        if diverging is None:
            end, epoch = Offset(requested.offset), request.broker_epoch
            proposal = replica.fetched_by(request.replica, end, epoch, clock.fetched_ns)
            if proposal is not None:
                self._changes.propose(held, proposal)
                has_moved = True
        if has_moved or replica.high_watermark != watermark:
            self._replicas.note(held)
        elif replica.is_ahead:
            self._replicas.watch(held)

    def _refusal(
        self, request: PartitionsFetchRequest, requested: FetchedPartition, held: HostedPartition
    ) -> ErrorCode:
        """Followers serve consumers as well, up to the high watermark that they know (KIP-392)."""
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
            return ErrorCode.OFFSET_OUT_OF_RANGE  # where that epoch ends is not known
        is_in = replica.start <= requested.offset <= replica.end
        is_fine = (
            is_in or replica.divergence(requested.last_epoch, Offset(requested.offset)) is not None
        )
        return ErrorCode.NONE if is_fine else ErrorCode.OFFSET_OUT_OF_RANGE

    def _is_enough(self, asked: _Asked, found: Collection[_Found]) -> bool:
        """Is it to be answered now, given what was found for the partitions before?"""
        request = asked.request
        if not found:
            return request.min_bytes == 0
        if any(each.is_odd for each in found):
            return True
        for each in found:
            asked.sizes.pop(each.requested.partition, None)
            if each.size:
                asked.sizes[each.requested.partition] = each.size
        wanted = min(max(request.min_bytes, 1), limits.MAX_PARTITIONS_FETCH_BYTES)
        if sum(asked.sizes.values()) >= wanted:
            return True
        return request.replica != CONSUMER and any(
            self._told_before(asked, each) != each.told for each in found
        )

    def _told_before(self, asked: _Asked, found: _Found) -> SentOffsets | None:
        if asked.session is None:
            return _follower(asked.request, found).told
        return asked.session.entries[place_of(found.requested.partition)].told

    def _tell(self, asked: _Asked, found: Sequence[_Found]) -> PartitionsFetchResponse:
        request, session = asked.request, asked.session
        if session is not None:
            return self._tell_news(asked, session, found)
        if request.replica != CONSUMER:
            for each in found:
                if each.refusal is None:
                    _follower(request, each).told = each.told
        if request.session_epoch == FIRST_SESSION_EPOCH:
            session = self._begin_session(asked, found)
        number = NO_SESSION if session is None else session.id
        return PartitionsFetchResponse(session=number, partitions=_read_all(found))

    def _begin_session(self, asked: _Asked, found: Iterable[_Found]) -> FetchSession | None:
        request = asked.request
        if request.replica != CONSUMER:
            self.sessions.close_earlier_lives(request.replica, request.broker_epoch)
        session = self.sessions.open(request, asked.clock)
        if session is not None:
            for each in sorted(found, key=_has_records):
                _note(session, each)
        return session

    def _tell_news(
        self, asked: _Asked, session: FetchSession, found: Iterable[_Found]
    ) -> PartitionsFetchResponse:
        """The partitions with news (`FetchSession.PartitionIterator`)."""
        if session.epoch != asked.session_epoch or self.sessions.find(session.id) is not session:
            return PartitionsFetchResponse(error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        # The partitions returned now come last next time.
        news = [each for each in sorted(found, key=_has_records) if _note(session, each)]
        return PartitionsFetchResponse(session=session.id, partitions=_read_all(news))


def _read_all(found: Iterable[_Found]) -> tuple[FetchedRecords, ...]:
    return grouped(map(_read, found), lambda each: each.partition)


def _has_records(found: _Found) -> bool:
    return found.size > 0


def _note(session: FetchSession, found: _Found) -> bool:
    """Note what the session now knows of a partition; return whether that is news."""
    place = place_of(found.requested.partition)
    entry = session.entries[place]
    is_news = found.is_odd or found.size > 0 or entry.told != found.told
    entry.told = None if found.is_odd else found.told
    session.open.pop(place, None)
    if found.is_odd or found.requested.offset < found.limit:
        session.open[place] = None  # there is more, or it had an error
    return is_news


def _refused(requested: FetchedPartition, held: HostedPartition, error: ErrorCode) -> _Found:
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
    """The requesting follower, as known to the leader, of a partition that is not refused."""
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
