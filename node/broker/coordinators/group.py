"""A group, its members, and the rules that do not depend on time (`ClassicGroup`).

Invariant: only an EMPTY group has no members, except during a rebalance.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from enum import StrEnum

from node.broker.coordinators.group_log import GroupLog, GroupRecord
from node.controller.image import Image
from node.controller.image.topics import Topics
from node.errors import ErrorCode
from node.ids import MS, NEVER_NS, ZERO_UUID, ConnectionId, Now, Offset
from node.lazy_dataclass import dataclass
from node.records.group_records import (
    GroupKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from node.wire.group_descriptions import DescribedGroup, DescribedMember
from node.wire.group_membership import (
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
)

# Offsets committed for deleted topics are found and forgotten, a piece a step.
#
# Thousands of groups may have read a deleted topic, and to write and replay a tombstone takes some
# 40 us. Kafka writes all of one coordinator in one operation
# (`GroupCoordinatorService.onPartitionsDeleted`), but on a thread that serves nothing else.
#
# All committed offsets are looked through, by the image as it is then, when a topic is deleted and
# when another broker begins to coordinate: so nothing has to outlive a coordinator. A pass begins
# when all that the log had at that time is replayed, and a piece is written when the last one is
# replayed: what is not yet replayed, and what is committed meanwhile, is of existing topics. No
# request waits for it: leftover offsets are not returned (`is_of_topic_that_is`).


# Per step, which is to take less than a tenth of the fetch timeout.
MAX_FORGOTTEN = 1_000
MAX_LOOKED_AT = 10_000
_RECORD_BYTES = 40  # of a tombstone, beside names
PART_OF_A_BATCH = 8  # characters take up to three bytes, and the last name goes beyond it


class GoneOffsets:
    def __init__(self, log: GroupLog, message_bytes: int) -> None:
        self._log = log
        self._topics = Image().topics  # of the newest image
        self._batch_bytes = message_bytes // PART_OF_A_BATCH
        self._pieces: Iterator[list[GroupRecord]] | None = None  # of the pass under way
        self._next_from: Offset | None = log.end  # another pass begins once all below is replayed
        self._written = Offset(0)  # where the last piece ends

    def look(self) -> None:
        """Called when a topic was deleted."""
        self._next_from = self._log.end

    @property
    def may_go_on(self) -> bool:
        """If nothing can be written, all stays until it can."""
        begins = self._next_from is not None and self._log.has_replayed(self._next_from)
        is_at_it = self._pieces is not None or begins
        return is_at_it and self._log.has_replayed(self._written) and self._log.may_append

    def go_on(self, topics: Topics, now: Now) -> None:
        """Forget some, if there are any and it is allowed."""
        if not self.may_go_on:
            return
        self._topics = topics
        if self._pieces is None:
            self._next_from = None
            self._pieces = self._looked_through()
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = None
        elif piece:
            _, self._written = self._log.append(piece, now)

    def _looked_through(self) -> Iterator[list[GroupRecord]]:
        """The gone offsets, as far as one step gets."""
        piece: list[GroupRecord] = []
        looked, size = 0, 0
        for key, value in self._all():
            looked += 1
            if not is_of_topic_that_is(self._topics, key.topic, value) and (
                not self._log.is_on_its_way(key)
            ):
                piece.append((key, None))
                size += tombstone_bytes(key)
            is_full = len(piece) >= MAX_FORGOTTEN or size >= self._batch_bytes
            if is_full or looked >= MAX_LOOKED_AT:
                yield piece
                piece, looked, size = [], 0, 0
        yield piece

    def _all(self) -> Iterator[tuple[OffsetCommitKey, OffsetCommitValue]]:
        """Each as it is when the pass reaches it."""
        for group in list(self._log.offsets):
            for topic, partition in list(self._log.offsets.get(group, ())):
                value = self._log.offsets.get(group, {}).get((topic, partition))
                if value is not None:
                    yield OffsetCommitKey(group=group, topic=topic, partition=partition), value


def tombstone_bytes(key: GroupKey) -> int:
    """An upper estimate."""
    topic = key.topic if isinstance(key, OffsetCommitKey) else ""
    return len(key.group) + len(topic) + _RECORD_BYTES


def is_of_topic_that_is(topics: Topics, name: str, value: OffsetCommitValue) -> bool:
    """False for an offset of a deleted topic of the same name
    (`OffsetMetadataManager.isMismatchedTopicId`).
    """
    found = topics.named(name)
    return found is not None and value.topic_id in (ZERO_UUID, found.id)


_PROTOCOL_BYTES = 8  # of a protocol without name and metadata: its lengths in a message
_MEMBER_BYTES = 1000  # of memory, beside its metadata


class GroupState(StrEnum):
    EMPTY = "Empty"
    PREPARING = "PreparingRebalance"  # members join
    COMPLETING = "CompletingRebalance"  # the group leader assigns partitions
    STABLE = "Stable"


@dataclass(slots=True, kw_only=True)
class GroupMember:
    """`joining` and `syncing` are connections on which it waits for an answer."""

    id: str
    client_id: str
    instance: str | None
    session_ms: int
    rebalance_ms: int
    protocols: tuple[JoinProtocol, ...]
    expires_ns: int  # session end without a heartbeat; not while it waits
    assignment: bytes = b""
    joining: ConnectionId | None = None
    syncing: ConnectionId | None = None
    has_synced: bool = False  # in this generation

    @property
    def waits(self) -> bool:
        return self.joining is not None or self.syncing is not None

    def is_heard_of(self, mono_ns: int) -> None:
        self.expires_ns = mono_ns + self.session_ms * MS

    def take(self, request: JoinGroupRequest) -> None:
        self.protocols = request.protocols
        self.session_ms, self.rebalance_ms = (
            request.session_timeout_ms,
            request.rebalance_timeout_ms,
        )

    def metadata(self, protocol: str | None) -> bytes:
        """Its metadata for a protocol; empty if it does not support that."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")


@dataclass(slots=True, kw_only=True)
class Group:
    id: str
    state: GroupState = GroupState.EMPTY
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: dict[str, GroupMember] = field(default_factory=dict)
    # Member ids that were given out and not used yet, with their deadlines.
    pending: dict[str, int] = field(default_factory=dict)
    joined_until_ns: int = NEVER_NS  # PREPARING: members that have not joined by then are left out
    more_ns: int = 0  # how much longer to wait for the first members of a group
    is_first: bool = False  # PREPARING: of a group that was EMPTY
    has_grown: bool = False  # since the last wait for more members
    is_shared_out: bool = False  # COMPLETING: the leader has sent the assignment
    synced_until_ns: int = NEVER_NS  # members that have not synced by then are left out

    # --- what is asked ---

    def static_member(self, instance: str | None) -> GroupMember | None:
        """KIP-345."""
        if instance is None:
            return None
        return next((each for each in self.members.values() if each.instance == instance), None)

    def known(self, request: JoinGroupRequest) -> GroupMember | None:
        """The member that asks, or the one that it replaces."""
        if request.member:
            return self.members.get(request.member)
        return self.static_member(request.instance)

    def why_not(self, member: str, instance: str | None) -> ErrorCode:
        """Why the client is not this member, or not this instance where it names one."""
        found = self.members.get(member)
        if instance is not None and (found is None or found.instance != instance):
            known = self.static_member(instance)
            return ErrorCode.UNKNOWN_MEMBER_ID if known is None else ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.UNKNOWN_MEMBER_ID if found is None else ErrorCode.NONE

    def rebalance_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((each.rebalance_ms for each in self.members.values()), default=0)

    def size_bytes(self) -> int:
        """Bytes of the members' metadata."""
        return sum(protocols_bytes(each.protocols) for each in self.members.values())

    def held_bytes(self) -> int:
        """An estimate of the memory; 0 if there are no members and no pending ids."""
        names = [*self.members, *self.pending]
        shares = sum(len(each.assignment) for each in self.members.values())
        size = self.size_bytes() + shares + sum(map(held_by_member, names))
        return size + len(self.id) if names else 0

    def supports(self, request: JoinGroupRequest) -> bool:
        """Is there a protocol that all support, with the new member?"""
        names = {each.name for each in request.protocols}
        known = self.known(request)
        others = [each for each in self.members.values() if each is not known]
        if not others:
            return bool(names) and request.protocol_type != ""
        is_same_type = request.protocol_type == self.protocol_type
        return is_same_type and bool(names.intersection(*map(_names, others)))

    def all_have_joined(self) -> bool:
        joined = all(each.joining is not None for each in self.members.values())
        return joined and not self.pending

    def deadline_ns(self) -> int:
        """The earliest time at which something is due."""
        return min(
            self.joined_until_ns,
            self.synced_until_ns,
            min(self.pending.values(), default=NEVER_NS),
            min(
                (each.expires_ns for each in self.members.values() if not each.waits),
                default=NEVER_NS,
            ),
        )

    def joined(self, member: GroupMember) -> JoinGroupResponse:
        """What a member of this generation gets; its leader gets the other members too."""
        is_leader = member.id == self.leader
        told = self.members.values() if is_leader else ()
        return JoinGroupResponse(
            generation=self.generation,
            protocol_type=self.protocol_type,
            protocol=self.protocol,
            leader=self.leader or "",
            member=member.id,
            members=tuple(
                JoinedMember(
                    id=each.id, instance=each.instance, metadata=each.metadata(self.protocol)
                )
                for each in told
            ),
        )

    def described(self) -> DescribedGroup:
        is_stable = self.state is GroupState.STABLE
        return DescribedGroup(
            id=self.id,
            state=self.state,
            protocol_type=self.protocol_type or "",
            protocol=(self.protocol or "") if is_stable else "",
            members=tuple(
                DescribedMember(
                    id=each.id,
                    instance=each.instance,
                    client_id=each.client_id,
                    client_host="",
                    metadata=each.metadata(self.protocol) if is_stable else b"",
                    assignment=each.assignment,  # also of the generation before
                )
                for each in self.members.values()
            ),
        )

    # --- changes ---

    def replace(self, old: GroupMember, new: GroupMember) -> None:
        """The new member takes the old one's place, also as the leader."""
        del self.members[old.id]
        self.members[new.id] = new
        if self.leader == old.id:
            self.leader = new.id

    def would_speak(self) -> str:
        """The protocol of the next generation, if it began now."""
        return self._elected_protocol()

    def begin_generation(self) -> None:
        """Begin one with the present members, including static ones that have not joined."""
        self.generation += 1
        self.is_shared_out = False
        if not self.members:
            self.state, self.protocol, self.leader = GroupState.EMPTY, None, None
            return
        self.state, self.protocol = GroupState.COMPLETING, self._elected_protocol()
        joined = [each.id for each in self.members.values() if each.joining is not None]
        if self.leader not in joined:
            self.leader = joined[0]

    def _elected_protocol(self) -> str:
        """Each member votes for the first in its list that all support; of equals, the earlier."""
        known = set.intersection(*(_names(each) for each in self.members.values()))
        votes = Counter(
            next(each.name for each in member.protocols if each.name in known)
            for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    # --- its record ---

    def record(self, wall_ms: int) -> GroupMetadataValue:
        return GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol,
            leader=self.leader,
            current_state_timestamp=wall_ms,
            members=tuple(
                MemberMetadata(
                    member_id=each.id,
                    group_instance_id=each.instance,
                    client_id=each.client_id,
                    client_host="",
                    rebalance_timeout=each.rebalance_ms,
                    session_timeout=each.session_ms,
                    subscription=each.metadata(self.protocol),
                    assignment=each.assignment,
                )
                for each in self.members.values()
            ),
        )


def recorded_group(id_: str, value: GroupMetadataValue, mono_ns: int) -> Group:
    """The group as another leader recorded it: members get a session timeout to send a
    heartbeat.
    """
    group = Group(
        id=id_,
        state=GroupState.STABLE if value.members else GroupState.EMPTY,
        generation=value.generation,
        protocol_type=value.protocol_type or None,
        protocol=value.protocol,
        leader=value.leader,
    )
    for each in value.members:
        group.members[each.member_id] = GroupMember(
            id=each.member_id,
            client_id=each.client_id,
            instance=each.group_instance_id,
            session_ms=each.session_timeout,
            rebalance_ms=each.rebalance_timeout,
            protocols=(JoinProtocol(name=value.protocol or "", metadata=each.subscription),),
            expires_ns=mono_ns + each.session_timeout * MS,
            assignment=each.assignment,
            has_synced=True,
        )
    return group


def protocols_bytes(protocols: tuple[JoinProtocol, ...]) -> int:
    return sum(len(each.name) + len(each.metadata) + _PROTOCOL_BYTES for each in protocols)


def held_by_member(name: str) -> int:
    return len(name) + _MEMBER_BYTES


def _names(member: GroupMember) -> set[str]:
    return {each.name for each in member.protocols}
