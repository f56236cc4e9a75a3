"""How a broker follows the leaders of its replicas: one Fetch at a time from each other broker.

What came back counts only for a replica that still follows in the epoch in which it asked, from the
end that it asked from (KAFKA-18991). A leader that says where the logs part is believed first: the
own log is cut, before anything is said of high watermarks (KAFKA-14704). A log begins where its
leader's does, and one that ends before that is dropped (KIP-107). A partition that a leader refuses
is left alone for a while, and the others go on (`AbstractFetcherThread.delayPartitions`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import field

from node.broker.held_replicas import Held, HeldReplicas, Key
from node.broker.lifecycle import Lifecycle
from node.config import BrokerRole
from node.effects import DisconnectPeer
from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_EPOCH, ChannelId, LogId, NodeId, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Outbox, RequestTo
from node.records.batch import HEADER_SIZE, DamagedBatch, read_header, split_batches
from node.wire.apis import Response
from node.wire.partition_fetch import (
    FetchedPartition,
    FetchedRecords,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.topic_partitions import TopicPartition

_FIRST_CHANNEL = -1000  # minus the broker's id: the quorum numbers its own from 0


@dataclass(slots=True, kw_only=True)
class _Fetcher:
    """From one broker."""

    at: Endpoint | None = None
    correlation_id: int = 0
    requested: dict[LogId, tuple[int, Offset]] = field(
        default_factory=dict
    )  # in which epoch, from where
    # What was refused: in which epoch, and until when it is not asked for again in that one.
    refused: dict[Key, tuple[int, int]] = field(default_factory=dict)
    is_out: bool = False
    due_ns: int = 0  # of the next one at the earliest, or of giving up what is out

    def next_ns(self, followed: Sequence[Held]) -> int:
        """When there is something to do about it."""
        if self.is_out or not self.refused:
            return self.due_ns
        return max(self.due_ns, min(map(self.wanted_ns, followed)))

    def wanted(self, followed: list[Held], mono_ns: int) -> list[Held]:
        if not self.refused:
            return followed
        return [held for held in followed if self.wanted_ns(held) <= mono_ns]

    def wanted_ns(self, held: Held) -> int:
        """From when on it is asked for."""
        epoch, until_ns = self.refused.get(held.key, (NO_EPOCH, 0))
        return until_ns if epoch == held.replica.leader_epoch else 0


class Fetchers:
    def __init__(
        self,
        me: NodeId,
        replicas: HeldReplicas,
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
        self._followed: dict[NodeId, list[Held]] = {}  # by leader, as of when it was told last
        self._times_told = 0

    @staticmethod
    def serves(channel: ChannelId) -> bool:
        return channel <= _FIRST_CHANNEL

    def poll(self, brokers: Mapping[NodeId, Endpoint], mono_ns: int) -> None:
        """Ask every leader that is followed and not asked; `brokers` are those that are up."""
        if self._times_told != self._replicas.times_told:
            self._times_told = self._replicas.times_told
            self._followed = self._by_leader()
        for leader, followed in self._followed.items():
            fetcher, at = self._fetchers[leader], brokers.get(leader)
            if at is not fetcher.at:
                self._follow_address(leader, fetcher, at, mono_ns)
            if mono_ns < fetcher.next_ns(followed):
                continue
            if fetcher.is_out:
                self._hang_up(leader, fetcher, mono_ns)
            elif at is not None:
                self._send(leader, fetcher, at, fetcher.wanted(followed, mono_ns), mono_ns)

    def deadline_ns(self) -> int:
        return min(
            (
                self._fetchers[leader].next_ns(followed)
                for leader, followed in self._followed.items()
                if self._fetchers[leader].at is not None
            ),
            default=NEVER_NS,
        )

    def on_response(
        self, channel: ChannelId, correlation_id: int, response: Response, mono_ns: int
    ) -> None:
        fetcher = self._fetchers[_leader(channel)]
        if not fetcher.is_out or correlation_id != fetcher.correlation_id:
            return  # of a connection that was dropped since
        fetcher.is_out, fetcher.due_ns = False, mono_ns
        if not isinstance(response, PartitionsFetchResponse) or response.error:
            fetcher.due_ns = mono_ns + self._backoff_ns
            return
        if fetcher.refused:
            fetcher.refused = {key: row for key, row in fetcher.refused.items() if row[1] > mono_ns}
        for each in response.partitions:
            held = self._replicas.find(each.partition)
            if held is not None and not self._take(fetcher, held, each, mono_ns):
                until_ns = mono_ns + self._backoff_ns
                fetcher.refused[held.key] = held.replica.leader_epoch, until_ns

    def on_lost(self, channel: ChannelId, mono_ns: int) -> None:
        fetcher = self._fetchers[_leader(channel)]
        fetcher.is_out, fetcher.due_ns = False, mono_ns + self._backoff_ns

    @property
    def _backoff_ns(self) -> int:
        return self._role.fetch_backoff_ms * MS

    def _by_leader(self) -> dict[NodeId, list[Held]]:
        followed: dict[NodeId, list[Held]] = {}
        for held in self._replicas.all():
            if held.replica.leading is None and held.replica.leader not in (self._me, -1):
                followed.setdefault(held.replica.leader, []).append(held)
        for leader in followed:
            self._fetchers.setdefault(leader, _Fetcher())
        return followed

    def _follow_address(
        self, leader: NodeId, fetcher: _Fetcher, at: Endpoint | None, mono_ns: int
    ) -> None:
        if at != fetcher.at:
            if fetcher.is_out:
                self._hang_up(leader, fetcher, mono_ns)
            fetcher.at, fetcher.due_ns = at, mono_ns

    def _send(
        self, leader: NodeId, fetcher: _Fetcher, at: Endpoint, followed: list[Held], mono_ns: int
    ) -> None:
        fetcher.requested = {
            held.log: (held.replica.leader_epoch, held.replica.end) for held in followed
        }
        fetcher.correlation_id = (fetcher.correlation_id + 1) % 2**31
        fetcher.is_out, fetcher.due_ns = True, mono_ns + self._role.socket_ms * MS
        request = PartitionsFetchRequest(
            replica=self._me,
            broker_epoch=self._lifecycle.epoch,
            max_wait_ms=self._role.fetch_wait_ms,
            min_bytes=1,
            max_bytes=self._role.fetch_bytes * 10,
            partitions=tuple(
                FetchedPartition(
                    partition=TopicPartition(id=held.key[0], index=held.key[1]),
                    offset=held.replica.end,
                    epoch=held.replica.leader_epoch,
                    last_epoch=held.replica.last_epoch,
                    log_start=held.replica.start,
                    max_bytes=self._role.fetch_bytes,
                )
                for held in followed
            ),
        )
        self._outbox.emit(
            RequestTo(
                channel=_channel(leader),
                endpoint=at,
                correlation_id=fetcher.correlation_id,
                request=request,
            )
        )

    def _hang_up(self, leader: NodeId, fetcher: _Fetcher, mono_ns: int) -> None:
        self._outbox.emit(DisconnectPeer(channel=_channel(leader)))
        fetcher.is_out, fetcher.due_ns = False, mono_ns + self._backoff_ns

    def _take(self, fetcher: _Fetcher, held: Held, told: FetchedRecords, mono_ns: int) -> bool:
        """False: it is better to wait before it is asked again."""
        replica = held.replica
        if replica.leading is not None:
            return True
        if fetcher.requested.get(held.log) != (replica.leader_epoch, replica.end):
            return True
        log_start = Offset(max(told.log_start, 0))
        is_empty = replica.start == replica.end  # nor is an epoch known by which logs part
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

    def _append(self, held: Held, records: bytes, mono_ns: int) -> bool:
        """Whole batches that continue the log; False where others came."""
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
            pass  # cut by the leader's limit, or on its way: it is asked for again
        if batches:
            data = b"".join(batch.data for batch in batches)
            self._replicas.append(held, data, [batch.header for batch in batches], mono_ns)
        return bool(batches)

    def _begin_with(self, held: Held, records: bytes) -> None:
        """An empty log begins where the leader's may, within a batch: it gets the whole batch
        (`Partition.appendRecordsToFollowerOrFutureReplica`)."""
        replica = held.replica
        if replica.start == replica.end and len(records) >= HEADER_SIZE:
            header = read_header(records)
            if header.base_offset < replica.end < header.next_offset:
                self._replicas.restart(held, header.base_offset)


def _channel(leader: NodeId) -> ChannelId:
    return ChannelId(_FIRST_CHANNEL - leader)


def _leader(channel: ChannelId) -> NodeId:
    return NodeId(_FIRST_CHANNEL - channel)
