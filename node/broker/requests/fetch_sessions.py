"""Fetch sessions: what each fetching client or follower has asked for and was sent (KIP-227).

The Fetch that opens a session names all partitions, later ones only those with another position or
other limits; a response has only partitions with news. So a Fetch costs what has changed, and not
what there is: a session knows which of its partitions may have news, because every change of a
replica is noted (`ReplicaManager.note`).

There are as many sessions as Kafka has; a new one takes the place of a session that was not used
for two minutes, or else of a smaller one. Followers come before consumers (`FetchSessionCache`).
Their total number of partitions is bounded as well, unlike in Kafka. A client without a session
names all partitions each time.
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

# A partition as requests name it: the topic's id as a number, or its name; and the index.
Place = tuple[int | str, int]
SentOffsets = tuple[Offset, Offset]  # a leader's high watermark and log start

_UNUSED_NS = 120_000 * MS  # MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS
_LAST_EPOCH = 2**31 - 1


def place_of(at: TopicPartition) -> Place:
    return at.id.int or at.name, at.index


@dataclass(slots=True, kw_only=True)
class FetchClock:
    """When the last Fetch came. A follower's Fetch counts for all partitions of its session, also
    for those that it does not name: of these it has all records.
    """

    fetched_ns: int


@dataclass(slots=True, kw_only=True)
class SessionEntry:
    """One partition: how it is asked for, and what was last sent (None: to be sent again)."""

    asked: FetchedPartition
    told: SentOffsets | None = None


@dataclass(slots=True, kw_only=True)
class FetchSession:
    """`epoch`: the one that the next Fetch must have."""

    id: int
    by_id: bool
    replica: NodeId
    broker_epoch: int
    begun_ns: int
    clock: FetchClock
    epoch: int = 1
    entries: dict[Place, SessionEntry] = field(default_factory=dict)
    # Partitions that may have news. One that was sent goes to the end, so that a partition with
    # many records does not starve the others (KIP-227).
    open: dict[Place, None] = field(default_factory=dict)
    # Of a follower: what has moved since its last Fetch. Whether it may join an ISR by now is
    # looked at in its next Fetch, whatever it was sent meanwhile.
    uncounted: dict[Place, None] = field(default_factory=dict)

    @property
    def is_followers(self) -> bool:
        """Kafka calls it privileged."""
        return self.replica != CONSUMER

    def worth(self) -> tuple[bool, int]:
        return self.is_followers, len(self.entries)


class FetchSessions:
    """`forgotten` is called with each partition that a follower no longer asks for."""

    def __init__(
        self, rng: Random, forgotten: Callable[[NodeId, TopicPartition, FetchClock], None]
    ) -> None:
        self._rng = rng
        self._forgotten = forgotten
        self._sessions: dict[int, FetchSession] = {}  # least recently used first
        self._of: dict[Place, dict[int, FetchSession]] = {}  # the sessions with a partition
        self._held = 0  # entries, of all sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, id_: int) -> FetchSession | None:
        return self._sessions.get(id_)

    def moved(self, place: Place) -> Iterable[FetchSession]:
        """A partition may have news. Returns the sessions that have to look at it."""
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
        """Open one for a request that names all partitions and wants a session; None: it gets none.
        `clock`: when the request was sent.
        """
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
            session.uncounted.update(dict.fromkeys(session.entries))  # the Fetch may have waited
        return session

    def refusal(self, request: PartitionsFetchRequest) -> ErrorCode:
        """Why the request may not continue its session, if so (`FetchManager.newContext`)."""
        session = self._sessions.get(request.session)
        if session is None or session.replica != request.replica:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.by_id != request.by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        return ErrorCode.NONE

    def go_on(self, request: PartitionsFetchRequest, mono_ns: int) -> FetchSession | None:
        """Continue a session that is not refused, with the request's changes. None: the session is
        closed, as it has no partition left, or more than there is room for.
        """
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
        """Close the sessions of a follower's earlier lives: they will never be continued."""
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
                    # A follower in another leader epoch, or that truncated its log, ignored what it
                    # was sent meanwhile.
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
        """Is there room for one more, if need be in place of others?"""
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
        """A session that was not used for long, or else the least valuable one, if it is worth no
        more than the new one (`FetchSessionCacheShard.tryEvict`): a young session of a consumer
        only yields to a follower's, and a young one of a follower's to none.
        """
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
        """Make room for what a session asks for by now. Consumers' sessions go first."""
        while self._held > limits.MAX_FETCH_SESSION_PARTITIONS:
            others = (each for each in self._sessions.values() if not each.is_followers)
            found = next(others, None) if session.is_followers else None
            if found is None:
                return False
            self.close(found.id)
        return True
