"""A partition of `__consumer_offsets` that this broker leads: its committed records, replayed, and
what is appended to it (`CoordinatorLoaderImpl`, `CoordinatorPartitionWriter`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from node import limits
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.codec import UnencodableMessage
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, NO_EPOCH, ConnectionId, Epoch, Now, Offset
from node.outbox import Parking, Waiting
from node.records.batch import (
    Batch,
    BatchHeader,
    DamagedBatch,
    MalformedRecord,
    encode_batch,
    read_header,
    split_batches,
)
from node.records.group_records import (
    GroupKey,
    GroupMetadataValue,
    GroupValue,
    OffsetCommitKey,
    OffsetCommitValue,
    decode_key,
    decode_value,
    encode_versioned,
)
from node.storage.disk import CorruptLog
from node.wire.apis import Response
from node.wire.group_offsets import CommittedOffset

# The broker's memory for groups and offsets.
#
# Kafka has no such limit. What was not used for long expires (`expiry`); known groups may go on
# when there is no room for new ones.


class GroupRoom:
    """The sizes, in bytes, about, of all groups that one broker coordinates."""

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, str], int] = {}
        self._total = 0

    def hold(self, kind: str, group: str, size: int) -> None:
        """The size that a group, its members or its offsets now have; 0: it is forgotten."""
        key = (kind, group)
        self._total += size - self._sizes.get(key, 0)
        if size:
            self._sizes[key] = size
        else:
            self._sizes.pop(key, None)

    def has(self, size: int) -> bool:
        """Is there room for so much more?"""
        return self._total + size <= limits.MAX_GROUPS_BYTES


# Requests about very many groups or offsets are answered a piece a step: between two pieces other
# requests are served, and heartbeats are sent.
#
# Each group is returned as it is when its turn comes; so it is in Kafka, where groups change while
# a thread lists them.


PIECE = 2_000  # groups or offsets, of some 5 us

# None after each piece, and at the end the answer.
Work = Iterator[Response | None]


class Piecemeal:
    def __init__(self, parking: Parking) -> None:
        self._waiting = Waiting[Work](parking)

    def begin(self, connection: ConnectionId, work: Work) -> Response | None:
        """The response; None: answered later, or the connection is closed."""
        response = next(work)
        if response is None:
            self._waiting.park(connection, work)
        return response

    def poll(self) -> None:
        """Do a piece of the request with the oldest last piece."""
        for connection, work in self._waiting.requests.items():
            response = next(work)
            if response is not None:
                self._waiting.respond(connection, response)
            else:
                self._waiting.requests[connection] = self._waiting.requests.pop(connection)
            return

    def deadline_ns(self) -> int:
        return 0 if self._waiting.requests else NEVER_NS


GroupRecord = tuple[GroupKey, GroupValue | None]
_OFFSETS = "offsets"
_OFFSET_BYTES = 500  # of memory, beside names
_READ_BYTES = 128 * 1024  # in one step: some 10 us for each record of it


class GroupLog:
    """Lives while this broker leads it in one epoch. `is_unreadable`: it holds a record of an
    unknown format, and nothing is answered from it.
    """

    def __init__(
        self, replicas: ReplicaManager, held: HostedPartition, message_bytes: int, room: GroupRoom
    ) -> None:
        self._room = room
        self._sizes: dict[str, int] = {}  # of each group's offsets
        self._replicas = replicas
        self._held = held
        self._message_bytes = message_bytes
        self._replayed = Offset(0)  # all below
        # The high watermark and the log's end when nothing was left to replay.
        self._nothing_at: tuple[Offset, Offset] | None = None
        # Where the pending write of an offset ends, until it is replayed.
        self._on_its_way: dict[OffsetCommitKey, Offset] = {}
        self._groups_on_their_way: dict[str, Offset] = {}
        self._kept_at: dict[GroupKey, Offset] = {}  # the batch with the current value of each key
        self.epoch = held.replica.leader_epoch
        self.groups: dict[str, GroupMetadataValue] = {}
        self.offsets: dict[str, dict[tuple[str, int], OffsetCommitValue]] = {}
        self.is_unreadable = False

    @property
    def is_led(self) -> bool:
        """False once the topic is deleted and another one has its name."""
        replica, is_held = self._held.replica, self._replicas.find(self._held.at) is self._held
        return is_held and replica.leading is not None and replica.leader_epoch == self.epoch

    @property
    def is_caught_up(self) -> bool:
        """Is all replayed that may be committed?"""
        replica = self._held.replica
        return replica.knows_its_high_watermark and self._replayed >= replica.high_watermark

    def has_replayed(self, end: Offset) -> bool:
        """All below?"""
        return self._replayed >= end

    @property
    def replayed(self) -> Offset:
        """All below is."""
        return self._replayed

    def segment_bases(self) -> list[Offset]:
        return [each.base for each in self._replicas.segments(self._held)]

    def segment_sizes(self) -> list[int]:
        return [each.size for each in self._replicas.segments(self._held)]

    def begin_at(self, start: Offset) -> bool:
        """Raise the log start: nothing below it is needed, and all of that is replayed. Returns
        whether that is new.
        """
        is_news = self.is_led and start > self._held.replica.start
        if is_news:
            self._replicas.begin_at(self._held, start)
        return is_news

    @property
    def end(self) -> Offset:
        """The log's end, with what is not committed yet."""
        return self._held.replica.end

    @property
    def may_append(self) -> bool:
        return self.is_led and self._held.replica.may_append_for_all()

    def is_on_its_way(self, key: OffsetCommitKey) -> bool:
        """Was something appended for it that is not replayed yet?"""
        return key in self._on_its_way

    def is_group_on_its_way(self, name: str) -> bool:
        """The same for the group's own record."""
        return name in self._groups_on_their_way

    @property
    def kept_at(self) -> Mapping[GroupKey, Offset]:
        """The start of the batch that has its value, for each key with one."""
        return self._kept_at

    def value_of(self, key: GroupKey) -> GroupValue:
        """The value of such a key."""
        if isinstance(key, OffsetCommitKey):
            return self.offsets[key.group][key.topic, key.partition]
        return self.groups[key.group]

    def is_coming(self, key: GroupKey) -> bool:
        """Is any write of it pending?"""
        if isinstance(key, OffsetCommitKey):
            return self.is_on_its_way(key)
        return self.is_group_on_its_way(key.group)

    def knows(self, key: OffsetCommitKey) -> bool:
        """Is an offset committed there, or pending?"""
        is_committed = (key.topic, key.partition) in self.offsets.get(key.group, {})
        return is_committed or self.is_on_its_way(key)

    def keys_of(self, group: str) -> list[OffsetCommitKey]:
        """All of a group's keys for which `knows` is true."""
        committed = (
            OffsetCommitKey(group=group, topic=topic, partition=partition)
            for topic, partition in self.offsets.get(group, {})
        )
        coming = (key for key in self._on_its_way if key.group == group)
        return list(dict.fromkeys((*committed, *coming)))

    @property
    def may_read(self) -> bool:
        """Is there more to replay? Not if the high watermark lies within a batch: a client that
        claims to be a follower may have fetched from any offset.
        """
        is_more = self._replayed < self._held.replica.high_watermark
        return is_more and not self.is_unreadable and self._nothing_at != self._ends()

    def catch_up(self) -> None:
        """Replay some of what is committed and was not deleted."""
        if not self.may_read:
            return
        before, limit = self._replayed, self._held.replica.high_watermark
        self._replayed = max(before, self._held.replica.start)
        try:
            for batch in split_batches(self._read(limit)):
                self._replay(batch)
                self._replayed = batch.header.next_offset
        except (DamagedBatch, MalformedRecord):
            self.is_unreadable = True
        except CorruptLog as damage:
            self._replicas.damaged(self._held, damage)
            self.is_unreadable = True
        if self._replayed == before:
            self._nothing_at = self._ends()

    def _ends(self) -> tuple[Offset, Offset]:
        """This step's appends are not in the log yet."""
        log = self._replicas.log(self._held)
        end = Offset(0) if log is None else log.next_offset
        return self._held.replica.high_watermark, end

    def _read(self, limit: Offset) -> bytes:
        log = self._replicas.log_at(self._held, self._replayed)
        return b"" if log is None else log.read_below(self._replayed, _READ_BYTES, limit)

    def has_room(self, group: str, offsets: Iterable[CommittedOffset]) -> bool:
        """Is there room for new offsets of a group without any, or with fewer?"""
        known = self.offsets.get(group, {})
        more = 0
        for each in offsets:
            at = each.partition
            before = known.get((at.name, at.index))
            kept = 0 if before is None else held_by_offset(group, at.name, before.metadata)
            more += max(0, held_by_offset(group, at.name, each.metadata or "") - kept)
        return more == 0 or self._room.has(more)

    def append(self, records: Sequence[GroupRecord], now: Now) -> tuple[ErrorCode, Offset]:
        """Where the records end, or why they are not appended."""
        replica = self._held.replica
        error = replica.refusal(NO_EPOCH)
        if error is ErrorCode.NONE and not replica.may_append_for_all():
            error = ErrorCode.NOT_ENOUGH_REPLICAS
        if error is not ErrorCode.NONE:
            return error, replica.end
        try:
            pairs = [(encode_versioned(key), _encoded(value)) for key, value in records]
        except UnencodableMessage:  # a name that Kafka's formats have no room for
            return ErrorCode.MESSAGE_TOO_LARGE, replica.end
        data = encode_batch(
            pairs,
            base_offset=replica.end,
            leader_epoch=Epoch(replica.leader_epoch),
            timestamp_ms=now.wall_ns // MS,
        )
        if len(data) > self._message_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE, replica.end
        self._replicas.append(self._held, data, [read_header(data)], now.mono_ns)
        for key, _ in records:
            if isinstance(key, OffsetCommitKey):
                self._on_its_way[key] = replica.end
            else:
                self._groups_on_their_way[key.group] = replica.end
        return ErrorCode.NONE, replica.end

    def acknowledgement(self, end: Offset) -> ErrorCode | None:
        """The result for what was appended in this epoch, up to `end`; None: not yet. OK only once
        it is replayed: so a client that was acknowledged finds it here, and no read has to wait for
        a replay.
        """
        if not self.is_led or self.is_unreadable:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return self._held.replica.acknowledgement(end) if self._replayed >= end else None

    def _replay(self, batch: Batch) -> None:
        if batch.header.is_control:
            return  # a transaction marker of Kafka's, which says nothing of groups
        for record in batch.records():
            key = decode_key(record.key)
            if key is not None:
                self._apply(key, decode_value(key, record.value))
                self._note_place(key, batch.header, is_kept=record.value is not None)

    def _note_place(self, key: GroupKey, header: BatchHeader, *, is_kept: bool) -> None:
        """A batch with that header has its value."""
        if is_kept:
            self._kept_at[key] = header.base_offset
        else:
            self._kept_at.pop(key, None)
        if isinstance(key, OffsetCommitKey):
            if self._on_its_way.get(key) == header.next_offset:
                del self._on_its_way[key]
        elif self._groups_on_their_way.get(key.group) == header.next_offset:
            del self._groups_on_their_way[key.group]

    def _apply(self, key: GroupKey, value: GroupValue | None) -> None:
        if isinstance(key, OffsetCommitKey):
            at = (key.topic, key.partition)
            offsets = self.offsets.setdefault(key.group, {})
            before = offsets.pop(at, None)
            if isinstance(value, OffsetCommitValue):
                offsets[at] = value
            elif not offsets:
                del self.offsets[key.group]
            self._measure(key, before, offsets.get(at))
        elif isinstance(value, GroupMetadataValue):
            self.groups[key.group] = value
        else:
            self.groups.pop(key.group, None)

    def _measure(
        self, key: OffsetCommitKey, before: OffsetCommitValue | None, now: OffsetCommitValue | None
    ) -> None:
        change = _held(key, now) - _held(key, before)
        size = self._sizes.pop(key.group, 0) + change
        if size:
            self._sizes[key.group] = size
        self._room.hold(_OFFSETS, key.group, size)

    def drop(self) -> None:
        """Another log takes its place."""
        for group in self._sizes:
            self._room.hold(_OFFSETS, group, 0)


def _held(key: OffsetCommitKey, value: OffsetCommitValue | None) -> int:
    """An estimate of the memory; 0 without offsets."""
    return 0 if value is None else held_by_offset(key.group, key.topic, value.metadata)


def held_by_offset(group: str, topic: str, metadata: str) -> int:
    return len(group) + len(topic) + len(metadata) + _OFFSET_BYTES


def _encoded(value: GroupValue | None) -> bytes | None:
    return None if value is None else encode_versioned(value)
