"""Rebalances: joining, assignment, and members that are late or replaced (`GroupMetadataManager`'s
classic groups, KIP-62, KIP-134, KIP-345, KIP-394).

Members join until all have, or their longest rebalance timeout has passed; the first ones of a
group are waited for a little longer. Then a generation begins, and its leader, the first that
joined, assigns the partitions. The assignment is written before any member gets it.

A static member (it brings the name of an instance) is waited for, and belongs to the next
generation too, until its session ends. A client with the same instance name takes its place and its
assignment without a rebalance, and the former member is fenced.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Protocol
from uuid import UUID

from node import limits
from node.broker.coordinators.group import Group, GroupMember, GroupState, protocols_bytes
from node.config import GroupSettings
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ConnectionId, Now
from node.wire.apis import Response
from node.wire.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeavingMember,
    SyncGroupRequest,
    SyncGroupResponse,
)

# Names in groups: the ids of members, and whether all responses have room for the names that
# members bring.
#
# Kafka takes longer names in flexible versions, and then cannot describe the group in older ones.


_NUMBER_BYTES = len(f"-{UUID(int=0)}")


def new_member_id(request: JoinGroupRequest, random: Random) -> str:
    number = UUID(int=random.getrandbits(128), version=4)
    return f"{_prefix(request)}-{number}"


def have_room(request: JoinGroupRequest) -> bool:
    """Do they fit into every version of every response about the group, and into its record? A
    member with an id keeps it.
    """
    protocols = (each.name for each in request.protocols)
    names = (request.group, request.protocol_type, *protocols)
    fit = all(len(name.encode()) <= limits.MAX_STRING_BYTES for name in names)
    number = 0 if request.member else _NUMBER_BYTES
    return fit and len(_prefix(request).encode()) + number <= limits.MAX_STRING_BYTES


def _prefix(request: JoinGroupRequest) -> str:
    """The one that Kafka gives: a static member's, or the client's."""
    return request.instance or request.client_id


Stored = Callable[[ErrorCode, Now], None]


class Host(Protocol):
    """The keeper of groups."""

    def respond(self, connection: ConnectionId, response: Response) -> None:
        """Answer a waiting request; nothing if its connection is closed."""

    def store(self, group: Group, now: Now, stored: Stored) -> None:
        """Write it; calls `stored` exactly once with the result."""


class Rebalancing:
    """The rebalances of any group. `group_bytes` is what fits into a record."""

    def __init__(
        self, settings: GroupSettings, group_bytes: int, random: Random, host: Host
    ) -> None:
        self._settings = settings
        self._group_bytes = group_bytes
        self._random = random
        self._host = host

    # --- requests ---

    def join(
        self, group: Group, connection: ConnectionId, request: JoinGroupRequest, now: Now
    ) -> None:
        error = self._why_not_join(group, request)
        known = group.known(request)
        if error is not ErrorCode.NONE:
            self._refuse_join(connection, error, request.member)
        elif known is not None and request.member == "":
            self._replace(group, known, connection, request, now)
        elif known is not None:
            self._join_again(group, known, connection, request, now)
        elif request.member == "" and request.needs_known_id and request.instance is None:
            member = new_member_id(request, self._random)
            group.pending[member] = now.mono_ns + request.session_timeout_ms * MS
            self._refuse_join(connection, ErrorCode.MEMBER_ID_REQUIRED, member)
        else:
            self._add(group, connection, request, now)

    def sync(
        self, group: Group, connection: ConnectionId, request: SyncGroupRequest, now: Now
    ) -> None:
        """Answered now, or when the leader's assignment is written."""
        error = _why_not_sync(group, request)
        if error is not ErrorCode.NONE:
            self._host.respond(connection, SyncGroupResponse(error=error))
            return
        member = group.members[request.member]
        member.has_synced = True
        if group.state is GroupState.STABLE:
            member.is_heard_of(now.mono_ns)
            self._tell_share(group, member, connection)
            return
        if member.syncing is not None:
            again = SyncGroupResponse(error=ErrorCode.REBALANCE_IN_PROGRESS)
            self._host.respond(member.syncing, again)
        member.syncing = connection
        if member.id == group.leader and not group.is_shared_out:
            group.is_shared_out = True
            shares = {each.member: each.assignment for each in request.shares}
            for each in group.members.values():
                each.assignment = shares.get(each.id, b"")
            self._store(group, now)

    def heartbeat(self, group: Group, request: HeartbeatRequest, now: Now) -> ErrorCode:
        error = group.why_not(request.member, request.instance)
        if error is not ErrorCode.NONE:
            return error
        if request.generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        group.members[request.member].is_heard_of(now.mono_ns)
        is_preparing = group.state is GroupState.PREPARING
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def leave(self, group: Group, leaving: LeavingMember, now: Now) -> ErrorCode:
        """A member that is named by its instance alone is removed by another client."""
        if group.pending.pop(leaving.id, None) is not None:
            self._complete_if_all_have_joined(group, now)
            return ErrorCode.NONE
        known = group.static_member(leaving.instance) if leaving.id == "" else None
        member = leaving.id if known is None else known.id
        error = group.why_not(member, leaving.instance)
        if error is ErrorCode.NONE:
            self._remove(group, group.members[member], now)
        return error

    # --- what is due, and what became of it ---

    def elapse(self, group: Group, now: Now) -> None:
        for member_id, until_ns in list(group.pending.items()):
            if until_ns <= now.mono_ns:
                self.leave(group, LeavingMember(id=member_id), now)
        late = [
            each
            for each in group.members.values()
            if not each.waits and each.expires_ns <= now.mono_ns
        ]
        if group.synced_until_ns <= now.mono_ns:
            group.synced_until_ns = NEVER_NS
            late.extend(
                each for each in group.members.values() if not each.has_synced and each not in late
            )
        for member in late:
            if member.id in group.members:  # the generation may have gone on without it
                self._remove(group, member, now)
        if group.joined_until_ns <= now.mono_ns:
            self._end_of_joining(group, now)

    def _store(self, group: Group, now: Now) -> None:
        """Write the group with the leader's assignment."""
        generation = group.generation
        self._host.store(group, now, lambda error, now: self._stored(group, generation, error, now))

    def _stored(self, group: Group, generation: int, error: ErrorCode, now: Now) -> None:
        """No request waits for an EMPTY group's record."""
        if group.generation != generation or group.state is not GroupState.COMPLETING:
            return
        if error is not ErrorCode.NONE:
            self._forget_shares(group, error, now)
            self._prepare(group, now)
            return
        group.state = GroupState.STABLE
        for member in group.members.values():
            if member.syncing is not None:
                connection, member.syncing = member.syncing, None
                member.is_heard_of(now.mono_ns)
                self._tell_share(group, member, connection)

    def drop(self, group: Group, error: ErrorCode) -> None:
        """Another broker coordinates it: waiting members get that error."""
        for member in group.members.values():
            self._let_go(member, error)

    # --- joining ---

    def _why_not_join(self, group: Group, request: JoinGroupRequest) -> ErrorCode:
        settings = self._settings
        is_known = group.known(request) is not None
        if not have_room(request):
            return ErrorCode.INVALID_REQUEST
        if not settings.session_min_ms <= request.session_timeout_ms <= settings.session_max_ms:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        if request.member not in ("", *group.pending):
            error = group.why_not(request.member, request.instance)
            if error is not ErrorCode.NONE:
                return error
        is_one_too_many = not is_known and self._is_full(group, request)
        if is_one_too_many or not self._has_room(group, request):
            return ErrorCode.GROUP_MAX_SIZE_REACHED
        if not group.supports(request):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE

    def _is_full(self, group: Group, request: JoinGroupRequest) -> bool:
        """Pending ids count too, as this member may have one."""
        is_full = len(group.members) + len(group.pending) >= self._settings.members
        return is_full and request.member not in group.pending

    def _has_room(self, group: Group, request: JoinGroupRequest) -> bool:
        known = group.known(request)
        before = 0 if known is None else protocols_bytes(known.protocols)
        added = protocols_bytes(request.protocols) - before
        return group.size_bytes() + added <= self._group_bytes

    def _refuse_join(self, connection: ConnectionId, error: ErrorCode, member: str) -> None:
        self._host.respond(connection, JoinGroupResponse(error=error, member=member))

    def _add(
        self, group: Group, connection: ConnectionId, request: JoinGroupRequest, now: Now
    ) -> None:
        if not group.members:
            group.protocol_type = request.protocol_type
        group.pending.pop(request.member, None)
        member = GroupMember(
            id=request.member or new_member_id(request, self._random),
            client_id=request.client_id,
            instance=request.instance,
            session_ms=request.session_timeout_ms,
            rebalance_ms=request.rebalance_timeout_ms,
            protocols=request.protocols,
            expires_ns=now.mono_ns + request.session_timeout_ms * MS,
        )
        group.members[member.id] = member
        group.has_grown = group.generation == 0
        self._await_others(group, member, connection, now)

    def _join_again(
        self,
        group: Group,
        member: GroupMember,
        connection: ConnectionId,
        request: JoinGroupRequest,
        now: Now,
    ) -> None:
        """Nothing changes for a member that missed the answer, or asks twice; but a leader asks for
        another generation by it.
        """
        is_same = member.protocols == request.protocols
        is_told = group.state is GroupState.STABLE and member.id != group.leader
        if is_same and (is_told or group.state is GroupState.COMPLETING):
            member.is_heard_of(now.mono_ns)
            self._host.respond(connection, group.joined(member))
            return
        member.take(request)
        self._await_others(group, member, connection, now)

    def _replace(
        self,
        group: Group,
        old: GroupMember,
        connection: ConnectionId,
        request: JoinGroupRequest,
        now: Now,
    ) -> None:
        """The instance has a new member, with the old one's assignment. In a stable generation
        nothing else changes, unless the group's protocol would be another one then.
        """
        self._let_go(old, ErrorCode.FENCED_INSTANCE_ID)
        new = replace(old, id=new_member_id(request, self._random), client_id=request.client_id)
        new.take(request)
        new.is_heard_of(now.mono_ns)
        leader = group.leader
        group.replace(old, new)
        if group.state is not GroupState.STABLE or group.would_speak() != group.protocol:
            self._await_others(group, new, connection, now)
            return
        new.joining = connection
        told = group.joined(new)
        if not request.may_lead:  # it would assign anew what the others have
            told = replace(told, leader=leader or "", members=())
        told = replace(told, is_shared_out=request.may_lead and group.leader == new.id)

        def stored(error: ErrorCode, now: Now) -> None:
            self._replaced(group, old, new, error, told, now)

        self._host.store(group, now, stored)

    def _replaced(
        self,
        group: Group,
        old: GroupMember,
        new: GroupMember,
        error: ErrorCode,
        told: JoinGroupResponse,
        now: Now,
    ) -> None:
        """The record is written, or not; unless all rejoin meanwhile, or yet another member
        came.
        """
        is_same = group.generation == told.generation and group.members.get(new.id) is new
        if not is_same or group.state is not GroupState.STABLE or new.joining is None:
            return
        connection, new.joining = new.joining, None
        if error is ErrorCode.NONE:
            new.is_heard_of(now.mono_ns)
            self._host.respond(connection, told)
            return
        group.replace(new, old)
        old.is_heard_of(now.mono_ns)
        self._refuse_join(connection, error, "")

    def _await_others(
        self, group: Group, member: GroupMember, connection: ConnectionId, now: Now
    ) -> None:
        if member.joining is not None:
            self._refuse_join(member.joining, ErrorCode.REBALANCE_IN_PROGRESS, member.id)
        member.joining = connection
        if group.state is GroupState.PREPARING:
            self._complete_if_all_have_joined(group, now)
        else:
            self._prepare(group, now)

    def _prepare(self, group: Group, now: Now) -> None:
        """Wait for all to join; members that wait for an assignment have to rejoin."""
        self._forget_shares(group, ErrorCode.REBALANCE_IN_PROGRESS, now)
        delay_ms, longest_ms = self._settings.first_delay_ms, group.rebalance_ms()
        group.is_first = group.state is GroupState.EMPTY
        if group.is_first:
            group.more_ns, group.has_grown = max(longest_ms - delay_ms, 0) * MS, False
        wait_ms = delay_ms if group.is_first else longest_ms
        group.state = GroupState.PREPARING
        group.joined_until_ns = now.mono_ns + max(wait_ms, 0) * MS
        group.synced_until_ns = NEVER_NS
        self._complete_if_all_have_joined(group, now)

    def _complete_if_all_have_joined(self, group: Group, now: Now) -> None:
        """A new group waits for more members until its deadline."""
        is_waited_for = group.is_first and now.mono_ns < group.joined_until_ns
        if group.state is GroupState.PREPARING and not is_waited_for and group.all_have_joined():
            self._begin_generation(group, now)

    def _end_of_joining(self, group: Group, now: Now) -> None:
        if group.is_first and group.has_grown and group.more_ns > 0:
            wait_ns = min(self._settings.first_delay_ms * MS, group.more_ns)
            group.more_ns -= wait_ns
            group.joined_until_ns, group.has_grown = now.mono_ns + wait_ns, False
        else:
            self._begin_generation(group, now)

    def _begin_generation(self, group: Group, now: Now) -> None:
        """Its members are those that joined, and static ones; not static ones alone, which may be
        gone.
        """
        group.joined_until_ns = NEVER_NS
        for member in list(group.members.values()):
            if member.joining is None and member.instance is None:
                del group.members[member.id]
        if group.members and all(each.joining is None for each in group.members.values()):
            group.joined_until_ns = now.mono_ns + group.rebalance_ms() * MS
            return
        group.begin_generation()
        if group.state is GroupState.EMPTY:
            self._store(group, now)
            return
        group.synced_until_ns = now.mono_ns + group.rebalance_ms() * MS
        for member in group.members.values():
            member.has_synced = False
            member.is_heard_of(now.mono_ns)
            if member.joining is not None:
                connection, member.joining = member.joining, None
                self._host.respond(connection, group.joined(member))

    # --- the end of members, and of shares ---

    def _remove(self, group: Group, member: GroupMember, now: Now) -> None:
        del group.members[member.id]
        self._let_go(member, ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state is GroupState.PREPARING:
            self._complete_if_all_have_joined(group, now)
        else:
            self._prepare(group, now)

    def _let_go(self, member: GroupMember, error: ErrorCode) -> None:
        if member.joining is not None:
            self._refuse_join(member.joining, error, member.id)
        if member.syncing is not None:
            self._host.respond(member.syncing, SyncGroupResponse(error=error))
        member.joining = member.syncing = None

    def _forget_shares(self, group: Group, error: ErrorCode, now: Now) -> None:
        if group.state is not GroupState.COMPLETING:
            return
        group.is_shared_out = False
        for member in group.members.values():
            member.assignment = b""
            if member.syncing is not None:
                self._host.respond(member.syncing, SyncGroupResponse(error=error))
                member.syncing = None
                member.is_heard_of(now.mono_ns)

    def _tell_share(self, group: Group, member: GroupMember, connection: ConnectionId) -> None:
        share = SyncGroupResponse(
            protocol_type=group.protocol_type,
            protocol=group.protocol,
            assignment=member.assignment,
        )
        self._host.respond(connection, share)


def _why_not_sync(group: Group, request: SyncGroupRequest) -> ErrorCode:
    error = group.why_not(request.member, request.instance)
    if error is not ErrorCode.NONE:
        return error
    if request.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    is_other_type = request.protocol_type not in (None, group.protocol_type)
    if is_other_type or request.protocol not in (None, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_preparing = group.state is GroupState.PREPARING
    return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE
