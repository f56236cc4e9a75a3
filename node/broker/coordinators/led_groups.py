"""The groups of one partition of `__consumer_offsets`, while this broker leads it, with its pending
writes; and the cleaning of its log.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

from node import limits
from node.broker.coordinators.expiry import Expiry
from node.broker.coordinators.group import (
    MAX_FORGOTTEN,
    PART_OF_A_BATCH,
    GoneOffsets,
    Group,
    GroupState,
    recorded_group,
    tombstone_bytes,
)
from node.broker.coordinators.group_log import GroupLog, GroupRecord, GroupRoom
from node.broker.coordinators.rebalancing import Rebalancing, Stored
from node.config import GroupSettings
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ConnectionId, Now, Offset
from node.lazy_dataclass import dataclass
from node.outbox import Waiting
from node.records.group_records import (
    GroupKey,
    GroupMetadataKey,
    GroupMetadataValue,
    GroupValue,
    OffsetCommitValue,
)
from node.wire.apis import Response
from node.wire.group_descriptions import ListedGroup

# Cleaning: segments at the front of the log are deleted when they hold no current value.
#
# Kafka compacts this log. Here whole segments are deleted, from the front only, once no key has its
# newest value there: the log start is raised, as by DeleteRecords, and followers do the same. Where
# more than half of the log is obsolete, the current values in its first segment are written again
# at the end, so that one offset that is never committed again does not keep all segments behind it.
# No client is affected: reads return the same.
#
# Nothing below the log start is missed: the newest record of each key remains, and an older
# tombstone is deleted together with all that it ended.


_FULL_SEGMENTS = 2  # of a log that is worth cleaning
_DIRTY = 2  # times as large as its current values
_VALUE_BYTES = 60  # of an offset, or of a member, beside its metadata


class LogFront:
    """The front of one partition's log, while this broker leads it."""

    def __init__(self, log: GroupLog, settings: GroupSettings, message_bytes: int) -> None:
        self._log = log
        self._interval_ns = settings.retention_check_ms * MS
        self._batch_bytes = message_bytes // PART_OF_A_BATCH
        self.due_ns = 0  # of the next check; the first is an interval after the beginning
        self._pieces: Iterator[list[GroupRecord]] | None = None
        self._written = Offset(0)

    def go_on(self, now: Now) -> None:
        """Called only when all is loaded."""
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
        """The records to write again, a piece at a time; then the front goes as far as it may."""
        if self._drop():
            yield []  # until the segments are gone
        while self._is_dirty():
            yield from self._again(self._log.segment_bases()[1])
            yield []  # until the last piece is replayed
            if not self._drop():
                return  # a client's write was pending: the next check goes on
            yield []

    def _drop(self) -> bool:
        """Delete up to the last segment before the first current value; False if there is none."""
        needed = min(self._log.kept_at.values(), default=self._log.replayed)
        needed = min(needed, self._log.replayed)
        starts = [base for base in self._log.segment_bases()[1:] if base <= needed]
        return bool(starts) and self._log.begin_at(starts[-1])

    def _is_dirty(self) -> bool:
        sizes = self._log.segment_sizes()
        kept = sum(_size(key, self._log.value_of(key)) for key in self._log.kept_at)
        return len(sizes) > _FULL_SEGMENTS and sum(sizes) > _DIRTY * kept

    def _again(self, end: Offset) -> Iterator[list[GroupRecord]]:
        """Current values below `end`."""
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
    """The size of their record, about."""
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


Written = Callable[[ErrorCode, Now], None]
_MEMBERS = "members"
_ROOM_OF_A_RECORD = 2  # members' metadata may be half of it: assignments are added

# Groups in one step that are loaded from another coordinator's records, or in which something is
# due: after a change of coordinators the sessions of all members may end at once.
MAX_GROUPS_AT_ONCE = 200

# What clients get for an append that failed (`CoordinatorOperationExceptionHelper`).
_COORDINATORS = {
    ErrorCode.NONE: ErrorCode.NONE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


@dataclass(slots=True, kw_only=True)
class _Write:
    end: Offset
    until_ns: int
    written: Written


class LedGroups:
    """A `Host` of groups."""

    def __init__(
        self,
        log: GroupLog,
        settings: GroupSettings,
        message_bytes: int,
        random: Random,
        waiting: Waiting[str],
        room: GroupRoom,
    ) -> None:
        self.log = log
        self._room = room
        self._settings = settings
        self._waiting = waiting
        self._writes: deque[_Write] = deque()  # by their ends, which is by their times as well
        self._groups: dict[str, Group] = {}
        self._is_loaded = False
        self._unloaded: Iterator[tuple[str, GroupMetadataValue]] | None = None  # what is left
        self.gone = GoneOffsets(log, message_bytes)
        self._piece_bytes = message_bytes // PART_OF_A_BATCH
        self._expiry = Expiry(log, settings, message_bytes, self.find, self._forget_expired)
        self._front = LogFront(log, settings, message_bytes)
        self._look_ns, self._is_forgetting = 0, False  # when either is due, or whether it runs
        self.due_ns = NEVER_NS  # of groups: nothing is due before
        group_bytes = message_bytes // _ROOM_OF_A_RECORD
        self.rebalancing = Rebalancing(settings, group_bytes, random, self)

    # --- what is asked ---

    def refusal(self) -> ErrorCode:
        """Why nothing is answered from here, if so. Once loaded, no read waits for the replay: what
        is yet to be replayed was not acknowledged (`GroupLog.acknowledgement`).
        """
        if not self.log.is_led or self.log.is_unreadable:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.NONE if self._is_loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def listed(self) -> Iterator[ListedGroup]:
        """All groups, also those with committed offsets and without members, now or ever."""
        for name in [*self._groups, *sorted(self.log.offsets.keys() - self._groups.keys())]:
            group = self._groups.get(name)
            state = GroupState.EMPTY if group is None else group.state
            type_ = None if group is None else group.protocol_type
            if group is not None or name in self.log.offsets:
                yield ListedGroup(id=name, protocol_type=type_ or "", state=state)

    def find(self, group: str) -> Group | None:
        found = self._groups.get(group)
        has_offsets = bool(self.log.offsets.get(group))
        return Group(id=group) if found is None and has_offsets else found

    def find_or_make(self, group: str) -> Group | None:
        """None: there are too many groups."""
        found = self._groups.get(group)
        if found is None and len(self._groups) < limits.MAX_GROUPS_PER_PARTITION:
            found = self._groups[group] = Group(id=group)
        return found

    # --- what is due ---

    def poll(self, image: Image, now: Now) -> None:
        self.log.catch_up()
        if not self._is_loaded and self.log.is_led and self.log.is_caught_up:
            self._load_some(now)
        if self.refusal() is ErrorCode.NONE:
            self.gone.go_on(image.topics, now)
            if self._is_forgetting or now.mono_ns >= self._look_ns:
                self._look(now)
        self._settle(now)
        if now.mono_ns >= self.due_ns:
            self._elapse(now)

    def _look(self, now: Now) -> None:
        """Look for what has expired."""
        self._expiry.go_on(now)
        self._front.go_on(now)
        self._is_forgetting = self._expiry.is_under_way or self._front.is_under_way
        self._look_ns = min(self._expiry.due_ns, self._front.due_ns)

    def _load_some(self, now: Now) -> None:
        """The replayed state does not change meanwhile: nothing is written before all is loaded."""
        if self._unloaded is None:
            self._unloaded = iter(self.log.groups.items())
        some = list(islice(self._unloaded, MAX_GROUPS_AT_ONCE))
        for name, value in some:
            group = self._groups[name] = recorded_group(name, value, now.mono_ns)
            self._measure(group)
        if not some:
            self._is_loaded, self._unloaded = True, None
            self.due_ns = now.mono_ns

    def _elapse(self, now: Now) -> None:
        """Let time pass in groups; forget one without members and records. Beyond the limit of a
        step, some stay due.
        """
        due = (each for each in self._groups.values() if each.deadline_ns() <= now.mono_ns)
        for group in list(islice(due, MAX_GROUPS_AT_ONCE)):
            self.rebalancing.elapse(group, now)
            self._measure(group)
        for group in list(self._groups.values()):
            self._forget_if_new(group)
        self.due_ns = min((each.deadline_ns() for each in self._groups.values()), default=NEVER_NS)

    def deadline_ns(self) -> int:
        is_loading = self.log.may_read or self._unloaded is not None
        may_forget = self.gone.may_go_on and self.refusal() is ErrorCode.NONE
        if may_forget or (is_loading and self.log.is_led):
            return 0
        old_ns = self._look_ns if self._is_loaded else NEVER_NS
        if self._is_forgetting:
            old_ns = min(self._expiry.deadline_ns(), self._front.deadline_ns())
        written_ns = self._writes[0].until_ns if self._writes else NEVER_NS
        return min(self.due_ns, written_ns, old_ns)

    def touched(self, name: str) -> None:
        """Called when that group has changed, if it exists."""
        group = self._groups.get(name)
        if group is not None:
            self._forget_if_new(group)
            self._measure(group)
            self.due_ns = min(self.due_ns, group.deadline_ns())

    def _forget_if_new(self, group: Group) -> None:
        is_empty = group.state is GroupState.EMPTY and not group.pending
        if is_empty and group.generation == 0:
            self._groups.pop(group.id, None)

    def _forget_expired(self, name: str) -> None:
        """It has no members, and no committed offsets."""
        self._groups.pop(name, None)
        self._room.hold(_MEMBERS, name, 0)

    def _measure(self, group: Group) -> None:
        self._room.hold(_MEMBERS, group.id, group.held_bytes())

    def drop(self, now: Now) -> None:
        """Another broker leads it, or this one in another epoch."""
        self._settle(now)
        for group in self._groups.values():
            self.rebalancing.drop(group, ErrorCode.NOT_COORDINATOR)
            self._room.hold(_MEMBERS, group.id, 0)
        self.log.drop()

    # --- writes ---

    def write(self, records: Sequence[GroupRecord], now: Now, written: Written) -> None:
        """Calls `written` exactly once: when it is committed, or with why that is not known."""
        error, end = self.log.append(records, now)
        if error is not ErrorCode.NONE:
            written(_told(error), now)
            return
        until_ns = now.mono_ns + self._settings.commit_timeout_ms * MS
        self._writes.append(_Write(end=end, until_ns=until_ns, written=written))

    def forget(self, keys: Sequence[GroupKey], now: Now, written: Written) -> None:
        """As `write`, with tombstones for any number of records, also none. In as many batches as
        needed, but in one step: so no other commit comes in between.
        """
        pieces = list(self._pieces(keys))
        if not pieces:
            written(ErrorCode.NONE, now)
            return
        for piece in pieces[:-1]:
            error, _ = self.log.append(piece, now)
            if error is not ErrorCode.NONE:
                written(_told(error), now)
                return
        self.write(pieces[-1], now, written)

    def _pieces(self, keys: Sequence[GroupKey]) -> Iterator[list[GroupRecord]]:
        piece: list[GroupRecord] = []
        size = 0
        for key in keys:
            piece.append((key, None))
            size += tombstone_bytes(key)
            if len(piece) >= MAX_FORGOTTEN or size >= self._piece_bytes:
                yield piece
                piece, size = [], 0
        if piece:
            yield piece

    def delete(self, name: str, now: Now, deleted: Written) -> None:
        """Delete an empty group and all its offsets. A client that joins from now on begins another
        one.
        """
        before = self._groups.pop(name, None)
        self._room.hold(_MEMBERS, name, 0)

        def written(error: ErrorCode, now: Now) -> None:
            if error is not ErrorCode.NONE and before is not None:
                self._groups.setdefault(name, before)
            deleted(error, now)

        self.forget([*self.log.keys_of(name), GroupMetadataKey(group=name)], now, written)

    def _settle(self, now: Now) -> None:
        while self._writes:
            first = self._writes[0]
            error = self.log.acknowledgement(first.end)
            if error is None and now.mono_ns >= first.until_ns:
                error = ErrorCode.REQUEST_TIMED_OUT
            if error is None:
                return
            self._writes.popleft()
            first.written(_told(error), now)

    # --- Host ---

    def respond(self, connection: ConnectionId, response: Response) -> None:
        if self._waiting.find(connection) is not None:
            self._waiting.respond(connection, response)

    def store(self, group: Group, now: Now, stored: Stored) -> None:
        record = (GroupMetadataKey(group=group.id), group.record(now.wall_ns // MS))

        def written(error: ErrorCode, now: Now) -> None:
            stored(error, now)
            self.touched(group.id)

        self.write([record], now, written)


def _told(error: ErrorCode) -> ErrorCode:
    return _COORDINATORS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR)
