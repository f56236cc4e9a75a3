"""Answers to members of groups by one life of a broker, which coordinates some of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from chaos.cluster.sim.invariants.broker_watch import (
    OFFSETS_TOPIC,
    Begun,
    BrokerWatch,
    CommitPlace,
    KeptReplicas,
    WrittenCommit,
    partition_of,
)
from chaos.cluster.sim.invariants.committed_changes import Key
from chaos.cluster.sim.invariants.known_batches import KnownBatch, holds
from chaos.cluster.sim.invariants.rules import Broken, Heard, Looked
from node.errors import ErrorCode
from node.ids import MS, ZERO_UUID, Offset
from node.wire.group_descriptions import (
    GROUP,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from node.wire.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    CommittedOffset,
    FetchedOffset,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

_OfMember = HeartbeatRequest | SyncGroupRequest | OffsetCommitRequest
_DISOWNING = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)


@dataclass(eq=False, slots=True)
class _Member:
    """`heard_ns`: the last answer, by the broker's clock, that it is a member of a stable
    generation. It is not removed before `kept_ns` have passed since."""

    kept_ns: int
    synced: int = -1  # the generation of its last assignment
    synced_step: int = -1
    heard_ns: int | None = None


class _Joined(NamedTuple):
    """The last generation that a member was let into, when it was heard since, and how long it may
    be silent."""

    generation: int
    heard_ns: int
    kept_ns: int


@dataclass(eq=False, slots=True)
class _Group:
    """A group as one coordinator described it. `first_told`: the step by which a generation
    existed; `told`: what all its members were answered."""

    members: dict[str, _Member] = field(default_factory=dict)
    joined: dict[str, _Joined] = field(default_factory=dict)
    stirred: int = -1  # the last step in which a member joined or left
    # Until when a client may be a member without knowing it, as it no longer waits.
    unheard_until_ns: int = -1
    first_told: dict[int, int] = field(default_factory=dict)
    told: dict[int, tuple[object, ...]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class _Reign:
    """Leadership of one partition of the offsets topic, in one leader epoch."""

    begun: Begun
    has_answered: bool = False
    groups: dict[str, _Group] = field(default_factory=dict)

    def group(self, name: str) -> _Group:
        return self.groups.setdefault(name, _Group())


class GroupAnswers:
    """Raises Broken."""

    def __init__(self, watch: BrokerWatch, held: KeptReplicas, looked: Looked) -> None:
        self._watch = watch
        self._held = held
        self._looked = looked
        self._reigns: dict[Key, _Reign] = {}

    def hear(self, asked: Heard) -> None:
        """A member that joins or leaves may be out of the generation that it was in."""
        match asked.request:
            case JoinGroupRequest(group=group, member=member):
                self._unsettle(group, [member], asked.step)
            case LeaveGroupRequest(group=group, members=members):
                self._unsettle(group, [each.id for each in members], asked.step)
            case _:
                pass

    def forget(self, asked: Heard) -> None:
        """A client that joined and no longer waits may be let in, and is then missed."""
        request = asked.request
        if isinstance(request, JoinGroupRequest):
            key = self._key(request.group)
            reign = None if key is None else self._reign(key)
            if reign is not None:
                waits_ms = request.session_timeout_ms + request.rebalance_timeout_ms
                group = reign.group(request.group)
                until_ns = asked.at_ns + 2 * waits_ms * MS
                group.unheard_until_ns = max(group.unheard_until_ns, until_ns)

    def _unsettle(self, name: str, members: Sequence[str], step: int) -> None:
        for group in self._known(name):
            group.stirred = step
            for member in members:
                group.members.pop(member, None)

    def _known(self, name: str) -> list[_Group]:
        """Noted by each leadership that knows the group."""
        return [reign.groups[name] for reign in self._reigns.values() if name in reign.groups]

    def _fail(self, rule: str, what: str) -> NoReturn:
        raise Broken(rule, f"n{self._held.node} {what}")

    def _key(self, group: str) -> Key | None:
        """None: the offsets topic does not exist yet."""
        topic = self._held.image.topics.named(OFFSETS_TOPIC)
        return None if topic is None else (topic.id, partition_of(group, topic.partitions))

    def _reign(self, key: Key) -> _Reign | None:
        begun = self._held.begun.get(key)
        if begun is None or not begun.leads:
            return None
        known = self._reigns.get(key)
        if known is None or known.begun is not begun:
            known = self._reigns[key] = _Reign(begun)
        return known

    # --- coordinators ---

    def found(self, told: FindCoordinatorResponse, asked: Heard) -> None:
        rule, held, request = "told-coordinators-lead", self._held, asked.request
        if not isinstance(request, FindCoordinatorRequest) or request.key_type != GROUP:
            return
        for each in told.coordinators:
            key = self._key(each.key)
            state = None if key is None else held.image.topics.partition(*key)
            if each.error is not ErrorCode.NONE or state is None or held.has_news:
                continue
            self._looked[rule] += 1
            if each.node != state.leader:
                what = (
                    f"answers that n{each.node} coordinates {each.key!r}, and n{state.leader} "
                    "leads "
                )
                self._fail(rule, f"{what}partition {key and key[1]} of {OFFSETS_TOPIC}")

    def _check_denied(self, group: str, error: ErrorCode, asked: Heard) -> bool:
        """Whether the group's coordinator answered it, and was that before the request arrived."""
        rule, held, key = "coordinators-do-not-deny-it", self._held, self._key(group)
        if key is None or held.has_news or held.is_damaged:
            return False
        reign = self._reign(key)
        state = held.image.topics.partition(*key)
        leads = state is not None and state.leader == held.node
        if reign is None or not leads or state is None or held.has_moved(key, asked.step):
            return False
        if reign.begun.epoch != state.leader_epoch:
            return False
        self._looked[rule] += 1
        is_loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if error is ErrorCode.NOT_COORDINATOR or (is_loading and reign.has_answered):
            what = f"answers {error.name} for {group!r}, and leads partition {key[1]} of "
            self._fail(rule, f"{what}{OFFSETS_TOPIC} in leader epoch {reign.begun.epoch}")
        reign.has_answered = reign.has_answered or error is ErrorCode.NONE
        return True

    # --- members ---

    def joined(self, told: JoinGroupResponse, asked: Heard) -> None:
        request = asked.request
        if not isinstance(request, JoinGroupRequest):
            return
        if not self._check_denied(request.group, told.error, asked):
            return
        key = self._key(request.group)
        reign = None if key is None else self._reign(key)
        if reign is None or told.error is not ErrorCode.NONE:
            return
        rule, group = "one-generation-answers", reign.group(request.group)
        self._looked[rule] += 1
        newest = max(group.first_told, default=-1)
        alike = told.leader, told.protocol, told.protocol_type
        if told.generation < newest or group.told.setdefault(told.generation, alike) != alike:
            what = f"lets {told.member!r} join generation {told.generation} of {request.group!r} "
            what += f"with {alike}; others got generation {newest}, and for the same "
            self._fail(rule, f"{what}{group.told.get(told.generation)}")
        group.first_told.setdefault(told.generation, asked.step)
        kept_ns = min(request.session_timeout_ms, request.rebalance_timeout_ms) * MS
        group.members[told.member] = _Member(kept_ns=kept_ns)
        group.joined[told.member] = _Joined(told.generation, asked.at_ns, kept_ns)

    def synced(self, told: SyncGroupResponse, asked: Heard) -> None:
        request = asked.request
        if isinstance(request, SyncGroupRequest):
            member = self._answered(request, told.error, asked)
            if member is not None:
                member.synced, member.heard_ns = request.generation, asked.at_ns
                member.synced_step = asked.step

    def heard(self, told: HeartbeatResponse, asked: Heard) -> None:
        request = asked.request
        if isinstance(request, HeartbeatRequest):
            member = self._answered(request, told.error, asked)
            if member is not None:
                member.heard_ns = asked.at_ns

    def _answered(self, request: _OfMember, error: ErrorCode, asked: Heard) -> _Member | None:
        """The member that is answered now as one of the generation in its request."""
        if not self._check_denied(request.group, error, asked):
            return None
        key = self._key(request.group)
        reign = None if key is None else self._reign(key)
        if reign is None or request.group not in reign.groups:
            return None
        group = reign.groups[request.group]
        if error in _DISOWNING:
            self._check_disowned(group, request, error, asked)
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._check_cause(group, request, asked)
        if error is not ErrorCode.NONE or request.generation < 0:
            return None
        self._check_newest(group, request, asked)
        joined = group.joined.get(request.member)
        if joined is not None:
            group.joined[request.member] = joined._replace(heard_ns=asked.at_ns)
        return group.members.get(request.member)

    def _check_newest(self, group: _Group, request: _OfMember, asked: Heard) -> None:
        rule = "one-generation-answers"
        self._looked[rule] += 1
        later = [
            generation
            for generation, step in group.first_told.items()
            if generation > request.generation and step < asked.step
        ]
        if later:
            what = f"answers {request.member!r} as a member of generation {request.generation} of "
            self._fail(
                rule, f"{what}{request.group!r}, and has answered with generation {max(later)}"
            )

    def _check_disowned(
        self, group: _Group, request: _OfMember, error: ErrorCode, asked: Heard
    ) -> None:
        """A client that got its assignment, was heard within its time-outs, and has neither joined
        nor left since, is a member: a rebalance waits for it that long."""
        member = group.members.get(request.member)
        if member is None or member.heard_ns is None or member.synced != request.generation:
            return
        rule = "members-are-not-disowned"
        self._looked[rule] += 1
        silent_ns = asked.at_ns - member.heard_ns
        if 0 <= silent_ns < member.kept_ns:
            what = (
                f"answers {error.name} to {request.member!r} of generation {request.generation} of "
            )
            what += f"{request.group!r}, which it heard {silent_ns / MS:.3f} ms ago, and waits for "
            self._fail(rule, f"{what}{member.kept_ns / MS:.0f} ms")

    def _check_cause(self, group: _Group, request: _OfMember, asked: Heard) -> None:
        """For a generation in which this coordinator answered every member so."""
        member, at_ns = group.members.get(request.member), asked.at_ns
        if member is None or member.synced != request.generation:
            return
        rule = "rebalances-have-a-cause"
        self._looked[rule] += 1
        is_one_silent = any(
            at_ns - each.heard_ns >= each.kept_ns
            for each in group.joined.values()
            if each.generation == request.generation
        )
        has_moved = group.stirred >= member.synced_step or at_ns <= group.unheard_until_ns
        if not has_moved and not is_one_silent:
            what = f"answers REBALANCE_IN_PROGRESS to {request.member!r} of generation "
            what += f"{request.generation} of {request.group!r}, which has its assignment, and "
            self._fail(rule, f"{what}no member has joined, left or been silent since")

    # --- what they commit ---

    def committed(self, told: OffsetCommitResponse, asked: Heard) -> None:
        request = asked.request
        if not isinstance(request, OffsetCommitRequest) or not told.results:
            return
        errors = {result.error for result in told.results}
        for error in sorted(errors):
            self._answered(request, error, asked)
        done = {
            (each.partition.name, each.partition.index)
            for each in told.results
            if each.error is ErrorCode.NONE
        }
        for each in request.offsets:
            if (each.partition.name, each.partition.index) in done:
                self._check_committed(request.group, each)

    def _check_committed(self, group: str, sent: CommittedOffset) -> None:
        """The commit is on the ISR, whichever broker leads by now."""
        key, at = self._key(group), sent.partition
        if key is None:
            return
        rule, partition = "told-commits-were-committed", self._watch.partition(key)
        self._looked[rule] += 1
        place = CommitPlace(group, at.name, at.index)
        for written in self._watch.commits.newest_first(place):
            batch = written.batch
            if partition.was_forgotten_since(batch.epoch):
                return
            if written.offset == sent.offset and holds(partition.shown, batch):
                written.is_acknowledged = True
                return
        what = f"acknowledges that {group!r} committed {sent.offset} of {at.name}-{at.index}, and "
        self._fail(rule, f"{what}no committed record has that")

    def looked_up(self, told: OffsetFetchResponse, asked: Heard) -> None:
        if not isinstance(asked.request, OffsetFetchRequest):
            return
        for of_group in told.groups:
            if not self._check_denied(of_group.group, of_group.error, asked):
                continue
            for each in of_group.offsets:
                if of_group.error is ErrorCode.NONE and each.error is ErrorCode.NONE:
                    self._check_told(of_group.group, each)

    def _check_told(self, group: str, told: FetchedOffset) -> None:
        key, at, held = self._key(group), told.partition, self._held
        if key is None or key not in held.marks:
            return
        rule, log = "told-commits-were-committed", held.logs[key]
        if self._watch.partition(key).was_forgotten_since(held.begun[key].epoch):
            return
        self._looked[rule] += 1
        place = CommitPlace(group, at.name, at.index)
        offsets: list[int | None] = []
        for written in self._replayed(place, log, Offset(held.marks[key])):
            offsets.append(self._as_told(written, at.name))
            if written.is_acknowledged:
                break
        else:
            offsets.append(None)  # nothing was committed before
        if (None if told.offset < 0 else told.offset) not in offsets:
            what = (
                f"answers that {group!r} has committed {told.offset} of {at.name}-{at.index}, and "
            )
            self._fail(rule, f"{what}since the last that was acknowledged it did {offsets[::-1]}")

    def _replayed(
        self, place: CommitPlace, log: KnownBatch, mark: Offset
    ) -> Iterator[WrittenCommit]:
        """Commits in this coordinator's log below its high watermark, the newest first."""
        for written in self._watch.commits.newest_first(place):
            if written.batch.end <= mark and holds(log, written.batch):
                yield written

    def _as_told(self, written: WrittenCommit, name: str) -> int | None:
        """None: nothing, also for a topic that is deleted, or has another id by now."""
        topic = self._held.image.topics.named(name)
        if topic is None or written.topic_id not in (ZERO_UUID, topic.id):
            return None
        return written.offset
