"""The front of a partition of `__consumer_offsets` goes when nothing in it means anything any more.

Kafka compacts that log. Here whole segments go, from the front alone, once no key has its newest
value there: the log begins later, as after a deletion of records, and followers' logs do by that.
So that one offset which nobody commits anew does not hold all that is behind it, the values that
mean something in the first segment are written again, at the end, where more than half of the log
means nothing. Nobody is told of that: what is read is the same.

What is below the log's start is not missed: of each key the newest record is there, and an older
tombstone goes together with all that it has ended.
"""

from collections.abc import Iterator, Sequence

from node.broker.coordinators.gone_offsets import MAX_FORGOTTEN, PART_OF_A_BATCH, tombstone_bytes
from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.config import GroupSettings
from node.ids import MS, NEVER_NS, Now, Offset
from node.records.group_records import GroupKey, GroupMetadataValue, GroupValue, OffsetCommitValue

_FULL_SEGMENTS = 2  # of a log that is worth the trouble
_DIRTY = 2  # times as large as what means something
_VALUE_BYTES = 60  # of an offset, or of a member, beside what it says


class LogFront:
    """Of one partition, while this broker leads it."""

    def __init__(self, log: GroupLog, settings: GroupSettings, message_bytes: int) -> None:
        self._log = log
        self._interval_ns = settings.retention_check_ms * MS
        self._batch_bytes = message_bytes // PART_OF_A_BATCH
        self.due_ns = 0  # of the next look; the first is an interval after the beginning
        self._pieces: Iterator[list[GroupRecord]] | None = None
        self._written = Offset(0)

    def go_on(self, now: Now) -> None:
        """Only where all is loaded."""
        if self.due_ns == 0:
            self.due_ns = now.mono_ns + self._interval_ns
        if self._pieces is None and now.mono_ns >= self.due_ns:
            self.due_ns = now.mono_ns + self._interval_ns
            self._pieces = self._moved_on()
        if not self._may_go_on:
            return
        assert self._pieces is not None, "nothing is under way"
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
        elif piece:
            _, self._written = self._log.append(piece, now)

    def deadline_ns(self) -> int:
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

    def _moved_on(self) -> Iterator[list[GroupRecord]]:
        """What is written again, a piece at a time, and the front goes as far as it may."""
        if self._drop():
            yield []  # until the segments are gone
        while self._is_dirty():
            yield from self._again(self._log.segment_bases()[1])
            yield []  # until the last piece is replayed
            if not self._drop():
                return  # somebody's write was on its way: the next look goes on
            yield []

    def _drop(self) -> bool:
        """Up to the last segment before the first value that means something: false if there is
        none that goes."""
        needed = min(self._log.kept_at.values(), default=self._log.replayed)
        needed = min(needed, self._log.replayed)
        starts = [base for base in self._log.segment_bases()[1:] if base <= needed]
        return bool(starts) and self._log.begin_at(starts[-1])

    def _is_dirty(self) -> bool:
        sizes = self._log.segment_sizes()
        kept = sum(_size(key, self._log.value_of(key)) for key in self._log.kept_at)
        return len(sizes) > _FULL_SEGMENTS and sum(sizes) > _DIRTY * kept

    def _again(self, end: Offset) -> Iterator[list[GroupRecord]]:
        """What means something below `end`."""
        piece: list[GroupRecord] = []
        size = 0
        for key in [key for key, at in self._log.kept_at.items() if at < end]:
            if self._log.kept_at.get(key, end) >= end or self._log.is_coming(key):
                continue
            value = self._log.value_of(key)
            if piece and size + _size(key, value) > self._batch_bytes:
                yield piece
                piece, size = [], 0
                if self._log.kept_at.get(key, end) >= end or self._log.is_coming(key):
                    continue
                value = self._log.value_of(key)
            piece.append((key, value))
            size += _size(key, value)
            if len(piece) >= MAX_FORGOTTEN:
                yield piece
                piece, size = [], 0
        if piece:
            yield piece


def _size(key: GroupKey, value: GroupValue) -> int:
    """Of their record, about."""
    return tombstone_bytes(key) + _value_size(value)


def _value_size(value: GroupValue) -> int:
    match value:
        case OffsetCommitValue():
            return _VALUE_BYTES + len(value.metadata)
        case GroupMetadataValue():
            said: Sequence[int] = [
                _VALUE_BYTES + len(each.subscription) + len(each.assignment)
                for each in value.members
            ]
            return _VALUE_BYTES + sum(said)
