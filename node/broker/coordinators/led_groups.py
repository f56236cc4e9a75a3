"""The groups of one partition of `__consumer_offsets`, while this broker leads it, and what was
written to it and is not committed yet."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from random import Random

from node import limits
from node.broker.coordinators.group import Group, GroupState, recorded_group
from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.broker.coordinators.group_room import GroupRoom
from node.broker.coordinators.rebalancing import Rebalancing
from node.config import GroupSettings
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ConnectionId, Now, Offset
from node.parking import Waiting
from node.records.group_records import GroupMetadataKey, OffsetCommitKey
from node.wire.apis import Response

Written = Callable[[ErrorCode, Now], None]
_MEMBERS = "members"
_ROOM_OF_A_RECORD = 2  # what members say of themselves may be half of it: shares come to it

# What clients are told of an append that failed (`CoordinatorOperationExceptionHelper`).
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
        self._writes: list[_Write] = []
        self._groups: dict[str, Group] = {}
        self._is_loaded = False
        self._gone: set[str] = set()  # topics that were deleted
        self.due_ns = NEVER_NS  # of groups: nothing is due before
        group_bytes = message_bytes // _ROOM_OF_A_RECORD
        self.rebalancing = Rebalancing(settings, group_bytes, random, self)

    # --- what is asked ---

    def refusal(self) -> ErrorCode:
        """Why nothing is answered from here, if nothing is."""
        if not self.log.is_led or self.log.is_unreadable:
            return ErrorCode.NOT_COORDINATOR
        ready = self._is_loaded and self.log.is_caught_up
        return ErrorCode.NONE if ready else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def all(self) -> list[Group]:
        """Also those that have committed offsets and no members, now or ever."""
        alone = self.log.offsets.keys() - self._groups.keys()
        return [*self._groups.values(), *(Group(id=each) for each in sorted(alone))]

    def find(self, group: str) -> Group | None:
        found = self._groups.get(group)
        has_offsets = bool(self.log.offsets.get(group))
        return Group(id=group) if found is None and has_offsets else found

    def find_or_make(self, group: str) -> Group | None:
        """None: there are too many."""
        found = self._groups.get(group)
        if found is None and len(self._groups) < limits.MAX_GROUPS_PER_PARTITION:
            found = self._groups[group] = Group(id=group)
        return found

    # --- what is due ---

    def poll(self, now: Now) -> None:
        self.log.catch_up()
        if not self._is_loaded and self.log.is_led and self.log.is_caught_up:
            self._is_loaded = True
            for name, value in self.log.groups.items():
                group = self._groups[name] = recorded_group(name, value, now.mono_ns)
                self._measure(group)
            self.due_ns = now.mono_ns
        if self._gone and self.refusal() is ErrorCode.NONE:
            self._forget_gone(now)
        self._settle(now)
        if now.mono_ns >= self.due_ns:
            self._elapse(now)

    def _elapse(self, now: Now) -> None:
        """Of groups; what nobody is in and nothing was said of is forgotten."""
        for group in list(self._groups.values()):
            if group.deadline_ns() <= now.mono_ns:
                self.rebalancing.elapse(group, now)
                self._measure(group)
            self._forget_if_new(group)
        self.due_ns = min((each.deadline_ns() for each in self._groups.values()), default=NEVER_NS)

    def deadline_ns(self) -> int:
        if self.log.is_led and self.log.may_read:
            return 0
        return min(self.due_ns, *(each.until_ns for each in self._writes), NEVER_NS)

    def touched(self, name: str) -> None:
        """Something was done to that group, if there is one."""
        group = self._groups.get(name)
        if group is not None:
            self._forget_if_new(group)
            self._measure(group)
            self.due_ns = min(self.due_ns, group.deadline_ns())

    def _forget_if_new(self, group: Group) -> None:
        is_empty = group.state is GroupState.EMPTY and not group.pending
        if is_empty and group.generation == 0:
            self._groups.pop(group.id, None)

    def _measure(self, group: Group) -> None:
        self._room.hold(_MEMBERS, group.id, group.held_bytes())

    def forget(self, topics: Set[str]) -> None:
        """What is committed of these, which are deleted, once all that is committed is known."""
        self._gone |= topics

    def _forget_gone(self, now: Now) -> None:
        """Where that cannot be written, it stays."""
        gone, self._gone = self._gone, set()
        for group, offsets in list(self.log.offsets.items()):
            records: list[GroupRecord] = [
                (OffsetCommitKey(group=group, topic=topic, partition=partition), None)
                for topic, partition in offsets
                if topic in gone
            ]
            if records:
                self.write(records, now, _nobody_waits)

    def drop(self, now: Now) -> None:
        """Another broker leads it, or this one in another epoch."""
        self._settle(now)
        for group in self._groups.values():
            self.rebalancing.drop(group, ErrorCode.NOT_COORDINATOR)
            self._room.hold(_MEMBERS, group.id, 0)
        self.log.drop()

    # --- writes ---

    def write(self, records: Sequence[GroupRecord], now: Now, written: Written) -> None:
        """Exactly one call of `written`: once it is committed, or with why that is not known."""
        error, end = self.log.append(records, now)
        if error is not ErrorCode.NONE:
            written(_told(error), now)
            return
        until_ns = now.mono_ns + self._settings.commit_timeout_ms * MS
        self._writes.append(_Write(end=end, until_ns=until_ns, written=written))
        self._settle(now)

    def _settle(self, now: Now) -> None:
        writes, self._writes = self._writes, []
        for each in writes:
            error = self.log.acknowledgement(each.end)
            if error is None and now.mono_ns >= each.until_ns:
                error = ErrorCode.REQUEST_TIMED_OUT
            if error is None:
                self._writes.append(each)
            else:
                each.written(_told(error), now)

    # --- Host ---

    def respond(self, connection: ConnectionId, response: Response) -> None:
        if self._waiting.find(connection) is not None:
            self._waiting.respond(connection, response)

    def store(self, group: Group, now: Now) -> None:
        generation = group.generation
        record = (GroupMetadataKey(group=group.id), group.record(now.wall_ns // MS))

        def written(error: ErrorCode, now: Now) -> None:
            self.rebalancing.stored(group, generation, error, now)
            self.touched(group.id)

        self.write([record], now, written)


def _nobody_waits(error: ErrorCode, now: Now) -> None:
    """For what becomes of a write."""


def _told(error: ErrorCode) -> ErrorCode:
    return _COORDINATORS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR)
