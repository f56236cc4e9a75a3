"""Fetch sessions: what each of those who fetch has asked for and was told (KIP-227).

Who opens a session names all partitions once, and from then on only those that it asks for in
another way; it is told of those only that have something new. So a Fetch costs what has changed,
and not what there is: a session knows which of its partitions may have something new, because
whatever changes a replica says so (`ReplicaManager.note`).

There are as many sessions as Kafka has, and of those that are not in use the new one takes a place:
that of one that was not used for two minutes, else that of a smaller one. Followers come before
consumers (`FetchSessionCache`). What all of them hold together is bounded as well, which Kafka does
not do. Who gets no session asks for everything each time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from random import Random

from node import limits
from node.errors import ErrorCode
from node.ids import MS, NodeId, Offset
from node.lazy_dataclass import dataclass
from node.wire.entities import TopicPartition
from node.wire.partition_fetch import (
    CONSUMER,
    FetchedPartition,
    PartitionsFetchRequest,
)

# Of a partition, as requests name it: the id of its topic as a number, or its name; and its index.
Place = tuple[int | str, int]
ToldOffsets = tuple[Offset, Offset]  # a leader's high watermark, and where its log begins

_UNUSED_NS = 120_000 * MS  # MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS
_LAST_EPOCH = 2**31 - 1


def place_of(at: TopicPartition) -> Place:
    return at.id.int or at.name, at.index


@dataclass(slots=True, kw_only=True)
class FetchClock:
    """When somebody fetched last. A follower's Fetch counts for all partitions of its session,
    also for those that it does not name: of these it has all that there is."""

    fetched_ns: int


@dataclass(slots=True, kw_only=True)
class SessionEntry:
    """Of one partition: how it is asked for, and what was told of it (None: to be told again)."""

    asked: FetchedPartition
    told: ToldOffsets | None = None


@dataclass(slots=True, kw_only=True)
class FetchSession:
    """`epoch` is the one that the next Fetch has to have."""

    id: int
    by_id: bool
    replica: NodeId
    broker_epoch: int
    begun_ns: int
    clock: FetchClock
    epoch: int = 1
    entries: dict[Place, SessionEntry] = field(default_factory=dict)
    # Those that may have something new; what was told of first comes last (KIP-227: so that one
    # with many records does not keep others waiting).
    open: dict[Place, None] = field(default_factory=dict)
    # Of a follower: what has moved since it asked last. Whether it may join an ISR by now is looked
    # at when it asks next, whatever it was told meanwhile.
    uncounted: dict[Place, None] = field(default_factory=dict)

    @property
    def is_followers(self) -> bool:
        """Kafka calls it privileged."""
        return self.replica != CONSUMER

    def worth(self) -> tuple[bool, int]:
        return self.is_followers, len(self.entries)


class FetchSessions:
    """`forgotten` is told of each partition that a follower does not ask for any more."""

    def __init__(
        self, rng: Random, forgotten: Callable[[NodeId, TopicPartition, FetchClock], None]
    ) -> None:
        self._rng = rng
        self._forgotten = forgotten
        self._sessions: dict[int, FetchSession] = {}  # longest unused first
        self._of: dict[Place, dict[int, FetchSession]] = {}  # those that ask for a partition
        self._held = 0  # entries, in all

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, id_: int) -> FetchSession | None:
        return self._sessions.get(id_)

    def moved(self, place: Place) -> Iterable[FetchSession]:
        """There may be something new of a partition. Those who have to look at it."""
        found = self._of.get(place)
        if found is None:
            return ()
        for session in found.values():
            session.open[place] = None
            if session.is_followers:
                session.uncounted[place] = None
        return found.values()

    def asking(self, place: Place) -> Iterable[FetchSession]:
        return self._of.get(place, {}).values()

    # --- requests ---

    def open(self, request: PartitionsFetchRequest, clock: FetchClock) -> FetchSession | None:
        """For a request that names all and wants a session; None: it gets none. `clock`: when that
        was sent."""
        mono_ns = clock.fetched_ns
        size = len(request.partitions)
        is_sane = 0 < size <= limits.MAX_FETCH_SESSION_PARTITIONS
        if not is_sane or not self._has_room(request.replica != CONSUMER, size, mono_ns):
            return None
        session = FetchSession(
            id=self._new_id(),
            by_id=request.by_id,
            replica=request.replica,
            broker_epoch=request.broker_epoch,
            begun_ns=mono_ns,
            clock=clock,
        )
        self._sessions[session.id] = session
        self._ask(session, request.partitions)
        if session.is_followers:
            session.uncounted.update(dict.fromkeys(session.entries))  # it may have waited
        return session

    def refusal(self, request: PartitionsFetchRequest) -> ErrorCode:
        """Why who goes on with a session may not, if so (`FetchManager.newContext`)."""
        session = self._sessions.get(request.session)
        if session is None or session.replica != request.replica:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.by_id != request.by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        return ErrorCode.NONE

    def go_on(self, request: PartitionsFetchRequest, mono_ns: int) -> FetchSession | None:
        """With a session that is not refused, which asks as the request says from now on. None: it
        asks for nothing any more, or for more than there is room for, and is over."""
        session = self._sessions.pop(request.session)
        self._sessions[session.id] = session
        if session.broker_epoch != request.broker_epoch:
            session.broker_epoch = request.broker_epoch
            session.open.update(dict.fromkeys(session.entries))
        self._ask(session, request.partitions)
        for at in request.forgotten:
            self._forget(session, place_of(at))
        if not session.entries or not self._make_room(session):
            self.close(session.id)
            return None
        session.epoch = 1 if session.epoch == _LAST_EPOCH else session.epoch + 1
        session.clock.fetched_ns = mono_ns
        session.open.update(session.uncounted)
        session.uncounted.clear()
        return session

    def close(self, id_: int) -> None:
        session = self._sessions.pop(id_, None)
        if session is not None:
            for place in list(session.entries):
                self._forget(session, place)

    def close_earlier_lives(self, replica: NodeId, broker_epoch: int) -> None:
        """Of a follower that has begun anew: nobody will ever go on with those."""
        gone = [
            each.id
            for each in self._sessions.values()
            if each.replica == replica and each.broker_epoch < broker_epoch
        ]
        for id_ in gone:
            self.close(id_)

    # --- what a session asks for ---

    def _ask(self, session: FetchSession, partitions: Iterable[FetchedPartition]) -> None:
        for asked in partitions:
            place = place_of(asked.partition)
            entry = session.entries.get(place)
            if entry is None:
                session.entries[place] = SessionEntry(asked=asked)
                self._of.setdefault(place, {})[session.id] = session
                self._held += 1
            else:
                before, entry.asked = entry.asked, asked
                if asked.epoch != before.epoch or asked.offset < before.offset:
                    # Who follows in another epoch, or has cut its log, did not heed what it was
                    # told meanwhile.
                    entry.told = None
            session.open[place] = None

    def _forget(self, session: FetchSession, place: Place) -> None:
        entry = session.entries.pop(place, None)
        if entry is None:
            return
        session.open.pop(place, None)
        session.uncounted.pop(place, None)
        self._held -= 1
        asking = self._of[place]
        del asking[session.id]
        if not asking:
            del self._of[place]
        if session.is_followers:
            self._forgotten(session.replica, entry.asked.partition, session.clock)

    # --- room ---

    def _new_id(self) -> int:
        while True:
            id_ = self._rng.randrange(1, 2**31)
            if id_ not in self._sessions:
                return id_

    def _has_room(self, is_followers: bool, size: int, mono_ns: int) -> bool:
        """For one more, if need be in the place of others."""
        while (
            len(self._sessions) >= limits.MAX_FETCH_SESSIONS
            or self._held + size > limits.MAX_FETCH_SESSION_PARTITIONS
        ):
            found = self._dispensable((is_followers, size), mono_ns)
            if found is None:
                return False
            self.close(found.id)
        return True

    def _dispensable(self, worth: tuple[bool, int], mono_ns: int) -> FetchSession | None:
        """One that was not used for long, else the one that is worth least, and not more than the
        new one (`FetchSessionCacheShard.tryEvict`): while it is young only followers take the place
        of a consumer, and nobody that of a follower."""
        first = next(iter(self._sessions.values()), None)
        if first is None or mono_ns - first.clock.fetched_ns > _UNUSED_NS:
            return first
        least = min(self._evictable(worth[0], mono_ns), key=FetchSession.worth, default=None)
        return None if least is None or worth < least.worth() else least

    def _evictable(self, by_follower: bool, mono_ns: int) -> Iterator[FetchSession]:
        for session in self._sessions.values():
            is_old = mono_ns - session.begun_ns > _UNUSED_NS
            if is_old or (by_follower and not session.is_followers):
                yield session

    def _make_room(self, session: FetchSession) -> bool:
        """For what a session asks for by now. Consumers go before a follower does."""
        while self._held > limits.MAX_FETCH_SESSION_PARTITIONS:
            others = (each for each in self._sessions.values() if not each.is_followers)
            found = next(others, None) if session.is_followers else None
            if found is None:
                return False
            self.close(found.id)
        return True
