"""How a broker follows the leaders of its replicas: one Fetch at a time from each other broker.

A response counts only for a replica that still follows in the epoch in which it asked, from the log
end that it asked from (KAFKA-18991). A leader's diverging epoch comes first: the follower truncates
its log before it looks at high watermarks (KAFKA-14704). A log begins where its leader's does, and
one that ends before that is dropped (KIP-107). A partition that a leader refuses is left alone for
a while, and the others go on (`AbstractFetcherThread.delayPartitions`).

A Fetch continues a session at its leader (KIP-227, `FetchSessionHandler`): it names what has
changed since the last one, and no more at once than any leader takes; the next one names the rest.
After any error of a session, the next Fetch begins another one. What keeps the broker from
following a leader is reported when it begins and when it is over; it retries for as long as needed.
"""

from collections.abc import Mapping
from dataclasses import field

from node import limits
from node.broker.lifecycle import Lifecycle
from node.broker.replicas.manager import HostedPartition, Key, ReplicaManager
from node.config import BrokerRole
from node.effects import DisconnectPeer
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_EPOCH, NO_NODE, ChannelId, Endpoint, NodeId, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.records.batch import HEADER_SIZE, DamagedBatch, read_header, split_batches
from node.wire.apis import Response
from node.wire.entities import TopicPartition, grouped
from node.wire.partition_fetch import (
    FIRST_SESSION_EPOCH,
    NO_SESSION,
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)

_FIRST_CHANNEL = -1000  # minus the broker's id: the quorum numbers its own from 0
_LAST_EPOCH = 2**31 - 1
# Errors by which a leader refuses to continue a session.
_OF_SESSIONS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


@dataclass(slots=True, kw_only=True)
class _Fetcher:
    """The Fetches from one broker."""

    at: Endpoint | None = None
    correlation_id: int = 0
    followed: dict[Key, HostedPartition] = field(default_factory=dict)
    session: int = NO_SESSION
    epoch: int = FIRST_SESSION_EPOCH  # of the session, in the next Fetch
    # How each was last asked for, in the session or in the last Fetch without one.
    asked: dict[Key, FetchedPartition] = field(default_factory=dict)
    # Partitions that may have to be asked for differently, or not any more.
    changed: dict[Key, None] = field(default_factory=dict)
    # Refused partitions, the longest ago first: the epoch, and until when they are not asked for
    # again in it.
    refused: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_out: bool = False
    due_ns: int = 0  # the earliest time of the next Fetch, or the timeout of a pending one
    trouble: str = ""  # as last reported

    def next_ns(self) -> int:
        """When there is something to do about it."""
        if self.is_out or self.asked or self.changed:
            return self.due_ns
        return max(self.due_ns, next((until for _, until in self.refused.values()), NEVER_NS))

    def is_wanted(self, held: HostedPartition, mono_ns: int) -> bool:
        epoch, until_ns = self.refused.get(held.key, (NO_EPOCH, 0))
        return until_ns <= mono_ns or epoch != held.replica.leader_epoch

    def ask_again(self, mono_ns: int) -> None:
        """Ask again for partitions that were left alone for long enough."""
        for key, (_, until_ns) in [*self.refused.items()]:
            if until_ns > mono_ns:
                return
            del self.refused[key]
            self.changed[key] = None

    def refuse(self, held: HostedPartition, until_ns: int) -> None:
        self.refused.pop(held.key, None)
        self.refused[held.key] = held.replica.leader_epoch, until_ns
        self.changed[held.key] = None

    def begin_anew(self) -> None:
        """Begin another session; the old one is closed by its id, if it still exists."""
        self.epoch = FIRST_SESSION_EPOCH
        self.asked = {}
        self.changed = dict.fromkeys(self.followed)

    def go_on(self, session: int) -> None:
        """Continue as the leader has answered."""
        has_session = session != NO_SESSION
        self.session = session
        if has_session and self.epoch == FIRST_SESSION_EPOCH:
            self.changed.update((key, None) for key in self.followed if key not in self.asked)
        if has_session:
            self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1
        elif self.epoch != FIRST_SESSION_EPOCH or not self.changed:
            self.begin_anew()


class Fetchers:
    def __init__(
        self,
        me: NodeId,
        replicas: ReplicaManager,
        lifecycle: Lifecycle,
        role: BrokerRole,
        outbox: Outbox,
    ) -> None:
        self._me = me
        self._replicas = replicas
        self._lifecycle = lifecycle
        self._role = role
        self._outbox = outbox
        self._fetchers: dict[NodeId, _Fetcher] = {}
        self._leaders: dict[Key, NodeId] = {}  # of the partitions that are followed

    @staticmethod
    def serves(channel: ChannelId) -> bool:
        return channel <= _FIRST_CHANNEL

    def poll(self, brokers: Mapping[NodeId, Endpoint], mono_ns: int) -> None:
        """Send a Fetch to every leader without a pending one; `brokers` are those that are up."""
        for key, held in self._replicas.take_unasked().items():
            self._follow(key, held)
        for leader, fetcher in self._fetchers.items():
            at = brokers.get(leader) if fetcher.followed else None
            if at is not fetcher.at:
                self._follow_address(leader, fetcher, at, mono_ns)
            if at is None or mono_ns < fetcher.next_ns():
                continue
            if fetcher.is_out:
                self._hang_up(leader, fetcher, mono_ns)
                self._tell(leader, fetcher, f"no answer for {self._role.socket_ms} ms")
            else:
                self._send(leader, fetcher, at, mono_ns)

    def deadline_ns(self) -> int:
        return min(
            (each.next_ns() for each in self._fetchers.values() if each.at is not None),
            default=NEVER_NS,
        )

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        leader = _leader(channel)
        fetcher = self._fetchers[leader]
        if not fetcher.is_out or correlation_id != fetcher.correlation_id:
            return  # of a connection that was dropped since
        fetcher.is_out, fetcher.due_ns = False, mono_ns
        assert isinstance(response, PartitionsFetchResponse), f"{response} answers a Fetch"
        if response.error is not ErrorCode.NONE:
            is_over = fetcher.epoch != FIRST_SESSION_EPOCH and response.error in _OF_SESSIONS
            fetcher.begin_anew()
            if not is_over:
                fetcher.due_ns = mono_ns + self._backoff_ns
                self._tell(leader, fetcher, f"it answers {response.error.name}")
            return
        self._tell(leader, fetcher, "")
        for each in response.partitions:
            held = self._replicas.find(each.partition)
            if held is not None and not self._take(fetcher, held, each, mono_ns):
                fetcher.refuse(held, mono_ns + self._backoff_ns)
        fetcher.go_on(response.session)

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        leader = _leader(channel)
        fetcher = self._fetchers[leader]
        was_out = fetcher.is_out
        self._lose(fetcher, mono_ns)
        if was_out:
            self._tell(leader, fetcher, "the connection cannot be made, or ended without an answer")

    def _lose(self, fetcher: _Fetcher, mono_ns: int) -> None:
        fetcher.is_out, fetcher.due_ns = False, mono_ns + self._backoff_ns
        fetcher.begin_anew()

    def _tell(self, leader: NodeId, fetcher: _Fetcher, trouble: str) -> None:
        """Report what keeps the broker from following that leader; "": nothing does."""
        if trouble != fetcher.trouble:
            fetcher.trouble = trouble
            self._outbox.trace(
                "b.following", leader=leader, partitions=len(fetcher.followed), trouble=trouble
            )

    @property
    def _backoff_ns(self) -> int:
        return self._role.fetch_backoff_ms * MS

    def _follow(self, key: Key, held: HostedPartition) -> None:
        """Note that a replica may have another leader, or other contents, or be gone."""
        replica = held.replica
        is_led = replica.leading is not None or replica.leader in (self._me, NO_NODE)
        leader = NO_NODE if is_led or self._replicas.by_key(key) is not held else replica.leader
        before = self._leaders.get(key, NO_NODE)
        if before not in (NO_NODE, leader):
            del self._leaders[key]
            del self._fetchers[before].followed[key]
            self._fetchers[before].changed[key] = None
        if leader != NO_NODE:
            self._leaders[key] = leader
            fetcher = self._fetchers.setdefault(leader, _Fetcher())
            fetcher.followed[key] = held
            fetcher.changed[key] = None

    def _follow_address(
        self, leader: NodeId, fetcher: _Fetcher, at: Endpoint | None, mono_ns: int
    ) -> None:
        if at != fetcher.at:
            if fetcher.is_out:
                self._hang_up(leader, fetcher, mono_ns)
            fetcher.at, fetcher.due_ns = at, mono_ns
            fetcher.session = NO_SESSION
            fetcher.begin_anew()
            self._tell(leader, fetcher, "")

    def _send(self, leader: NodeId, fetcher: _Fetcher, at: Endpoint, mono_ns: int) -> None:
        fetcher.ask_again(mono_ns)
        if fetcher.epoch == FIRST_SESSION_EPOCH:
            fetcher.asked = {}
        named, forgotten = self._name(fetcher, mono_ns)
        if not named and fetcher.epoch == FIRST_SESSION_EPOCH:
            return  # all was refused just now
        fetcher.correlation_id = (fetcher.correlation_id + 1) % 2**31
        fetcher.is_out, fetcher.due_ns = True, mono_ns + self._role.socket_ms * MS
        request = PartitionsFetchRequest(
            replica=self._me,
            broker_epoch=self._lifecycle.epoch,
            max_wait_ms=0 if fetcher.changed else self._role.fetch_wait_ms,
            min_bytes=1,
            max_bytes=self._role.fetch_bytes * 10,
            session=fetcher.session,
            session_epoch=fetcher.epoch,
            partitions=named,
            forgotten=forgotten,
        )
        self._outbox.emit(
            RequestTo(
                channel=_channel(leader),
                endpoint=at,
                correlation_id=fetcher.correlation_id,
                request=request,
            )
        )

    def _name(
        self, fetcher: _Fetcher, mono_ns: int
    ) -> tuple[tuple[FetchedPartition, ...], tuple[TopicPartition, ...]]:
        """The partitions to ask for differently, and those to forget."""
        named: list[FetchedPartition] = []
        forgotten: list[TopicPartition] = []
        asked, changed = fetcher.asked, fetcher.changed
        for key in [*changed]:
            if len(named) + len(forgotten) == limits.MAX_ASKED_PARTITIONS:
                break
            del changed[key]
            held, before = fetcher.followed.get(key), asked.get(key)
            if held is not None and fetcher.is_wanted(held, mono_ns):
                asked[key] = self._asked(held)
                if asked[key] != before:
                    named.append(asked[key])
            elif before is not None:
                del asked[key]
                forgotten.append(before.partition)
        return (
            grouped(named, lambda each: each.partition),
            grouped(forgotten, lambda each: each),
        )

    def _asked(self, held: HostedPartition) -> FetchedPartition:
        return FetchedPartition(
            partition=TopicPartition(id=held.key[0], index=held.key[1]),
            offset=held.replica.end,
            epoch=held.replica.leader_epoch,
            last_epoch=held.replica.last_epoch,
            log_start=held.replica.start,
            max_bytes=self._role.fetch_bytes,
        )

    def _hang_up(self, leader: NodeId, fetcher: _Fetcher, mono_ns: int) -> None:
        self._outbox.emit(DisconnectPeer(channel=_channel(leader)))
        self._lose(fetcher, mono_ns)

    def _take(
        self, fetcher: _Fetcher, held: HostedPartition, told: FetchedRecords, mono_ns: int
    ) -> bool:
        """False: wait before this partition is asked for again."""
        replica = held.replica
        if replica.leading is not None:
            return True
        asked = fetcher.asked.get(held.key)
        if asked is None or (asked.epoch, asked.offset) != (replica.leader_epoch, replica.end):
            return True
        log_start = Offset(max(told.log_start, 0))
        is_empty = replica.start == replica.end  # nor is any epoch known by which logs diverge
        if told.error is ErrorCode.OFFSET_OUT_OF_RANGE and (is_empty or log_start > replica.end):
            self._replicas.restart(held, log_start)
            return True
        if told.error is not ErrorCode.NONE:
            return False
        if told.diverging is not None:
            self._replicas.truncate(held, replica.truncation(told.diverging))
            return True
        is_sound = not told.records or self._append(held, told.records, mono_ns)
        before = replica.high_watermark
        replica.told_high_watermark(Offset(max(told.high_watermark, 0)))
        if replica.high_watermark != before:
            self._replicas.note(held)  # consumers may wait here for it
        if replica.start < log_start <= replica.high_watermark:
            self._replicas.begin_at(held, log_start)
        return is_sound

    def _append(self, held: HostedPartition, records: bytes, mono_ns: int) -> bool:
        """Append whole batches that continue the log; False if others came."""
        self._begin_with(held, records)
        replica, batches, end = held.replica, [], held.replica.end
        epoch = replica.position().epoch
        try:
            for batch in split_batches(records):
                header = batch.header
                is_next = header.base_offset == end
                if not is_next or not epoch <= header.leader_epoch <= replica.leader_epoch:
                    break
                batches.append(batch)
                end, epoch = header.next_offset, header.leader_epoch
        except DamagedBatch:
            pass  # truncated by the leader's limit, or changed on its way: it is asked for again
        if batches:
            data = b"".join(batch.data for batch in batches)
            self._replicas.append(held, data, [batch.header for batch in batches], mono_ns)
        return bool(batches)

    def _begin_with(self, held: HostedPartition, records: bytes) -> None:
        """An empty log may begin within one of its leader's batches: it gets the whole batch
        (`Partition.appendRecordsToFollowerOrFutureReplica`).
        """
        replica = held.replica
        if replica.start == replica.end and len(records) >= HEADER_SIZE:
            header = read_header(records)
            if header.base_offset < replica.end < header.next_offset:
                self._replicas.restart(held, header.base_offset)


def _channel(leader: NodeId) -> ChannelId:
    return ChannelId(_FIRST_CHANNEL - leader)


def _leader(channel: ChannelId) -> NodeId:
    return NodeId(_FIRST_CHANNEL - channel)
