"""Expiry of offsets and groups that were not used for offsets.retention.minutes, a piece a step
(`GroupMetadataManager`, `OffsetMetadataManager.cleanupExpiredOffsets`; KIP-211).

Offsets of a group without members expire that long after the last one left; offsets committed
without a group, and those of topics that a consumer group no longer reads, that long after the
commit; in any other group none expire. An empty group without offsets goes as well.

A check runs each offsets.retention.check.interval.ms. A piece is written once the one before is
committed and replayed, as in `GoneOffsets`; the next check finds what became of it.
"""

from collections.abc import Callable, Iterator

from node.broker.coordinators.group import (
    MAX_FORGOTTEN,
    MAX_LOOKED_AT,
    PART_OF_A_BATCH,
    Group,
    GroupState,
    tombstone_bytes,
)
from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.config import GroupSettings
from node.ids import MS, NEVER_NS, Now, Offset
from node.records.group_records import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue

# The topics that a group's members read, by their own subscriptions.


CONSUMERS = "consumer"  # the protocol type of members with subscriptions
_VERSION_BYTES, _COUNT_BYTES, _LENGTH_BYTES = 2, 4, 2


def topics_read(group: Group) -> set[str] | None:
    """The topics in the members' subscriptions, for their common protocol; None: a subscription
    cannot be read, and it may be any topic.
    """
    read: set[str] = set()
    for member in group.members.values():
        found = _subscription(member.metadata(group.protocol))
        if found is None:
            return None
        read |= found
    return read


def _subscription(data: bytes) -> set[str] | None:
    """The topics of a ConsumerProtocolSubscription, which stand first in each of its versions."""
    at = _VERSION_BYTES + _COUNT_BYTES
    count = int.from_bytes(data[_VERSION_BYTES:at], "big", signed=True)
    topics: set[str] = set()
    for _ in range(count):
        end = at + _LENGTH_BYTES + int.from_bytes(data[at : at + _LENGTH_BYTES], "big")
        if end > len(data) or at + _LENGTH_BYTES > len(data):
            return None
        try:
            topics.add(data[at + _LENGTH_BYTES : end].decode())
        except UnicodeDecodeError:
            return None
        at = end
    return topics if count >= 0 and at <= len(data) else None


_MINUTE_MS = 60_000
FindGroup = Callable[[str], Group | None]


class Expiry:
    """The expiry of one partition's groups. `forget` is called with each group that goes."""

    def __init__(
        self,
        log: GroupLog,
        settings: GroupSettings,
        message_bytes: int,
        find: FindGroup,
        forget: Callable[[str], None],
    ) -> None:
        self._log = log
        self._find = find
        self._forget = forget
        self._kept_ms = settings.retention_minutes * _MINUTE_MS
        self._interval_ns = settings.retention_check_ms * MS
        self._batch_bytes = message_bytes // PART_OF_A_BATCH
        self.due_ns = 0  # of the next check; the first is an interval after the beginning
        self._pieces: Iterator[list[GroupRecord]] | None = None  # of the check under way
        self._written = Offset(0)  # where the last piece ends

    def go_on(self, now: Now) -> None:
        """Called only when all is loaded."""
        if self.due_ns == 0:
            self.due_ns = now.mono_ns + self._interval_ns
        if self._pieces is None and now.mono_ns >= self.due_ns:
            self.due_ns = now.mono_ns + self._interval_ns
            self._pieces = self._looked_through(now.wall_ns // MS)
        if not self._may_go_on:
            return
        assert self._pieces is not None, "nothing is under way"
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
        elif piece:
            _, self._written = self._log.append(piece, now)

    def deadline_ns(self) -> int:
        """If nothing can be written, all stays until it can."""
        if self._pieces is not None:
            return 0 if self._may_go_on else NEVER_NS
        return self.due_ns

    @property
    def is_under_way(self) -> bool:
        return self._pieces is not None

    @property
    def _may_go_on(self) -> bool:
        is_at_it = self._pieces is not None
        return is_at_it and self._log.has_replayed(self._written) and self._log.may_append

    def _looked_through(self, wall_ms: int) -> Iterator[list[GroupRecord]]:
        """The expired records, as far as one step gets."""
        piece: list[GroupRecord] = []
        looked, size = 0, 0
        for name in sorted(self._log.offsets.keys() | self._log.groups.keys()):
            group = self._find(name)
            if group is None:
                continue
            is_old = self._is_old(group, wall_ms)
            left = 0
            for topic, partition in list(self._log.offsets.get(name, ())):
                key = OffsetCommitKey(group=name, topic=topic, partition=partition)
                value = self._log.offsets.get(name, {}).get((topic, partition))
                looked += 1
                if value is None or not is_old(key, value):
                    left += value is not None
                else:
                    piece.append((key, None))
                    size += tombstone_bytes(key)
                if self._is_full(piece, size, looked):
                    yield piece
                    piece, looked, size = [], 0, 0
            looked += 1
            if not left and _is_empty(group) and self._may_go(name):
                key_of_group = GroupMetadataKey(group=name)
                if name in self._log.groups:
                    piece.append((key_of_group, None))
                    size += tombstone_bytes(key_of_group)
                self._forget(name)
        yield piece

    def _is_full(self, piece: list[GroupRecord], size: int, looked: int) -> bool:
        is_long = len(piece) >= MAX_FORGOTTEN or looked >= MAX_LOOKED_AT
        return is_long or size >= self._batch_bytes

    def _may_go(self, name: str) -> bool:
        """False while a write of it is pending."""
        keys = self._log.keys_of(name)
        return not self._log.is_group_on_its_way(name) and not any(
            map(self._log.is_on_its_way, keys)
        )

    def _is_old(
        self, group: Group, wall_ms: int
    ) -> Callable[[OffsetCommitKey, OffsetCommitValue], bool]:
        """Is the group old enough, by each of its offsets?"""
        since_ms, read = self._empty_since_ms(group), set[str]()
        is_simple = not group.protocol_type
        if not is_simple and not _is_empty(group):
            found = topics_read(group)
            is_known = group.protocol_type == CONSUMERS and group.state is GroupState.STABLE
            if not is_known or found is None:
                return lambda _, __: False
            read = found

        def is_old(key: OffsetCommitKey, value: OffsetCommitValue) -> bool:
            begin_ms = max(value.commit_timestamp, since_ms)
            is_late = wall_ms - begin_ms >= self._kept_ms
            return is_late and key.topic not in read and not self._log.is_on_its_way(key)

        return is_old

    def _empty_since_ms(self, group: Group) -> int:
        """Since when the group is empty, as far as is recorded; otherwise -1."""
        recorded = self._log.groups.get(group.id)
        return -1 if recorded is None or group.members else recorded.current_state_timestamp


def _is_empty(group: Group) -> bool:
    return group.state is GroupState.EMPTY and not group.pending
