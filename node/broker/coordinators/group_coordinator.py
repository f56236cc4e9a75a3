"""The group coordinator: one method a request, for the groups in the partitions that it leads
(`GroupCoordinatorService`).
"""

from collections.abc import Callable
from random import Random
from typing import assert_never

from node import limits
from node.broker.controller_link import ControllerLink
from node.broker.coordinators import commits
from node.broker.coordinators.expiry import CONSUMERS, topics_read
from node.broker.coordinators.group import GroupState, held_by_member, protocols_bytes
from node.broker.coordinators.group_log import PIECE, GroupLog, GroupRoom, Piecemeal, Work
from node.broker.coordinators.led_groups import LedGroups
from node.broker.coordinators.offsets_topic import OFFSETS_TOPIC, OffsetsTopic, coordinators
from node.broker.replicas.manager import HostedPartition, ReplicaManager
from node.broker.requests.descriptions import live_brokers
from node.config import GroupSettings
from node.controller.image import Image
from node.errors import ErrorCode
from node.ids import NEVER_NS, ConnectionId, Now
from node.outbox import Parking, Waiting
from node.records.group_records import OffsetCommitKey
from node.wire.apis import GroupRequest, Response
from node.wire.group_descriptions import (
    CLASSIC,
    DeletedGroup,
    DeletedOffset,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from node.wire.group_membership import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeftMember,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    CommitResult,
    FetchedOffsets,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)

# DeleteGroups and OffsetDelete: which groups and offsets a client may delete.


Find = Callable[[str], tuple[LedGroups | None, ErrorCode]]


class DeletedGroups:
    """The groups of one request, which is answered when the last of them is done."""

    def __init__(
        self, connection: ConnectionId, request: DeleteGroupsRequest, waiting: Waiting[str]
    ) -> None:
        self._connection = connection
        self._waiting = waiting
        self._names = tuple(dict.fromkeys(request.groups))
        self._errors: dict[str, ErrorCode] = {}

    def delete(self, find: Find, now: Now) -> None:
        for name in self._names:
            led, error = find(name)
            if led is None or error is not ErrorCode.NONE:
                self._done(name, error)
            else:
                self._delete(led, name, now)
        if not self._names:
            self._respond()

    def _delete(self, led: LedGroups, name: str, now: Now) -> None:
        group = led.find(name)
        if group is None:
            self._done(name, ErrorCode.GROUP_ID_NOT_FOUND)
        elif group.state is not GroupState.EMPTY:
            self._done(name, ErrorCode.NON_EMPTY_GROUP)
        else:
            led.delete(name, now, lambda error, now: self._done(name, error))  # noqa: ARG005

    def _done(self, name: str, error: ErrorCode) -> None:
        self._errors[name] = error
        if len(self._errors) == len(self._names):
            self._respond()

    def _respond(self) -> None:
        if self._waiting.find(self._connection) is not None:
            results = tuple(DeletedGroup(id=each, error=self._errors[each]) for each in self._names)
            self._waiting.respond(self._connection, DeleteGroupsResponse(results=results))


def delete_offsets(
    led: LedGroups,
    connection: ConnectionId,
    request: OffsetDeleteRequest,
    waiting: Waiting[str],
    now: Now,
) -> OffsetDeleteResponse | None:
    """None: answered once it is written. Of a consumer group, offsets of topics that it does not
    read may go; what any other group needs is not known (`ClassicGroup`).
    """
    group = led.find(request.group)
    if group is None:
        return OffsetDeleteResponse(error=ErrorCode.GROUP_ID_NOT_FOUND)
    if group.state is not GroupState.EMPTY and group.protocol_type != CONSUMERS:
        return OffsetDeleteResponse(error=ErrorCode.NON_EMPTY_GROUP)
    read = topics_read(group)
    free = [each for each in request.partitions if read is not None and each.name not in read]
    kept = [each for each in request.partitions if read is None or each.name in read]
    if not waiting.park(connection, request.group):
        return None

    def written(error: ErrorCode, now: Now) -> None:  # noqa: ARG001 (Written)
        done = [DeletedOffset(partition=each, error=error) for each in free]
        subscribed = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        refused = [DeletedOffset(partition=each, error=subscribed) for each in kept]
        led.respond(connection, OffsetDeleteResponse(results=(*done, *refused)))

    keys = [
        OffsetCommitKey(group=request.group, topic=each.name, partition=each.index) for each in free
    ]
    led.forget([each for each in keys if led.log.knows(each)], now, written)
    return None


_DEAD = "Dead"  # the state of a group that does not exist


class GroupCoordinator:
    def __init__(
        self,
        settings: GroupSettings,
        message_bytes: int,
        random: Random,
        replicas: ReplicaManager,
        link: ControllerLink,
        parking: Parking,
    ) -> None:
        self._settings = settings
        self._message_bytes = message_bytes
        self._random = random
        self._replicas = replicas
        self._topic = OffsetsTopic(settings, link)
        self._waiting = Waiting[str](parking)
        self._piecemeal = Piecemeal(parking)
        self._led: dict[int, LedGroups] = {}  # by partition
        self._room = GroupRoom()
        self._topics = Image().topics.ids()  # of the image that was followed last

    # --- requests ---

    def handle(
        self, connection: ConnectionId, listener: str, request: GroupRequest, image: Image, now: Now
    ) -> Response | None:
        """The response; None: answered later."""
        match request:
            case FindCoordinatorRequest():
                found = coordinators(request, self._topic, image, live_brokers(image, listener))
                return FindCoordinatorResponse(coordinators=found)
            case JoinGroupRequest():
                return self._join(connection, request, image, now)
            case SyncGroupRequest():
                return self._sync(connection, request, image, now)
            case HeartbeatRequest():
                return HeartbeatResponse(error=self._heartbeat(request, image, now))
            case LeaveGroupRequest():
                return self._leave(request, image, now)
            case OffsetCommitRequest():
                return self._commit(connection, request, image, now)
            case OffsetFetchRequest():
                return self._piecemeal.begin(connection, self._fetched(request, image))
            case ListGroupsRequest():
                return self._piecemeal.begin(connection, self._listed(request))
            case DescribeGroupsRequest():
                return self._describe(request, image)
            case DeleteGroupsRequest():
                return self._delete(connection, request, image, now)
            case OffsetDeleteRequest():
                return self._delete_offsets(connection, request, image, now)
            case _:
                assert_never(request)

    def _join(
        self, connection: ConnectionId, request: JoinGroupRequest, image: Image, now: Now
    ) -> Response | None:
        led, error = self._find(request.group, image)
        group = None
        if led is not None and error is ErrorCode.NONE:
            # Only a member without an id may begin a group.
            group = led.find_or_make(request.group) if self._has_room(led, request) else None
            error = ErrorCode.GROUP_MAX_SIZE_REACHED if group is None else error
        if led is None or group is None:
            return JoinGroupResponse(error=error, member=request.member)
        if self._waiting.park(connection, request.group):
            led.rebalancing.join(group, connection, request, now)
            led.touched(request.group)
        return None

    def _sync(
        self, connection: ConnectionId, request: SyncGroupRequest, image: Image, now: Now
    ) -> Response | None:
        led, error = self._find(request.group, image)
        group = None if led is None else led.find(request.group)
        if error is ErrorCode.NONE and group is None:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if led is None or group is None or error is not ErrorCode.NONE:
            return SyncGroupResponse(error=error)
        if self._waiting.park(connection, request.group):
            led.rebalancing.sync(group, connection, request, now)
            led.touched(request.group)
        return None

    def _heartbeat(self, request: HeartbeatRequest, image: Image, now: Now) -> ErrorCode:
        led, error = self._find(request.group, image)
        if led is None or error is not ErrorCode.NONE:
            return error
        group = led.find(request.group)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return led.rebalancing.heartbeat(group, request, now)

    def _leave(self, request: LeaveGroupRequest, image: Image, now: Now) -> LeaveGroupResponse:
        led, error = self._find(request.group, image)
        if led is None or error is not ErrorCode.NONE:
            return LeaveGroupResponse(error=error)
        left = []
        for each in request.members:
            group = led.find(request.group)
            error = ErrorCode.UNKNOWN_MEMBER_ID
            if group is not None:
                error = led.rebalancing.leave(group, each, now)
            left.append(LeftMember(id=each.id, instance=each.instance, error=error))
        led.touched(request.group)
        return LeaveGroupResponse(members=tuple(left))

    def _commit(
        self, connection: ConnectionId, request: OffsetCommitRequest, image: Image, now: Now
    ) -> Response | None:
        led, error = self._find(request.group, image, may_be_unnamed=True)
        if led is not None and error is ErrorCode.NONE:
            error = commits.why_not_commit(led.find(request.group), request, now)
        if led is None or error is not ErrorCode.NONE:
            return commits.refused_commit(request, error)
        fit, unfit = commits.checked(request, image, self._settings.metadata_bytes)
        if not fit:
            return OffsetCommitResponse(results=tuple(unfit))
        if not led.log.has_room(request.group, fit):
            return commits.refused_commit(request, ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        if not self._waiting.park(connection, request.group):
            return None

        def written(error: ErrorCode, now: Now) -> None:  # noqa: ARG001 (Written)
            done = (CommitResult(partition=each.partition, error=error) for each in fit)
            led.respond(connection, OffsetCommitResponse(results=(*done, *unfit)))

        led.write(commits.records(request.group, fit, image.topics, now), now, written)
        return None

    def _fetched(self, request: OffsetFetchRequest, image: Image) -> Work:
        """A group that is named twice is refused the second time: it may have very many offsets."""
        found: list[FetchedOffsets] = []
        named: set[str] = set()
        for each in request.groups:
            led, error = self._find(each.group, image, may_be_unnamed=True)
            if error is ErrorCode.NONE and each.group in named:
                error = ErrorCode.INVALID_REQUEST
            named.add(each.group)
            if led is None or error is not ErrorCode.NONE:
                found.append(commits.refused_fetch(each, error))
                continue
            for fetched in commits.fetched(led.log, each, image.topics):
                if fetched is None:
                    yield None
                else:
                    found.append(fetched)
        yield OffsetFetchResponse(groups=tuple(found))

    def _listed(self, request: ListGroupsRequest) -> Work:
        """All groups of this broker, or the error that they are not loaded yet."""
        loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if any(led.refusal() is loading for led in self._led.values()):
            yield ListGroupsResponse(error=loading)
            return
        states = {each.lower() for each in request.states}
        is_sought = not request.types or CLASSIC in {each.lower() for each in request.types}
        listed: list[ListedGroup] = []
        for led in list(self._led.values()) if is_sought else ():
            for looked, group in enumerate(led.listed(), start=1):
                if not states or group.state.lower() in states:
                    listed.append(group)
                if looked % PIECE == 0:
                    yield None
        yield ListGroupsResponse(groups=tuple(listed))

    def _describe(self, request: DescribeGroupsRequest, image: Image) -> DescribeGroupsResponse:
        described = []
        for name in request.groups:
            led, error = self._find(name, image, may_be_unnamed=True)
            group = None if led is None else led.find(name)
            if error is not ErrorCode.NONE:
                described.append(DescribedGroup(id=name, error=error))
            elif group is None:
                unknown = ErrorCode.GROUP_ID_NOT_FOUND
                what = f"Group {name} not found."[: limits.MAX_MESSAGE_CHARACTERS]
                described.append(DescribedGroup(id=name, error=unknown, message=what, state=_DEAD))
            else:
                described.append(group.described())
        return DescribeGroupsResponse(groups=tuple(described))

    def _delete(
        self, connection: ConnectionId, request: DeleteGroupsRequest, image: Image, now: Now
    ) -> Response | None:
        if self._waiting.park(connection, ""):
            deleted = DeletedGroups(connection, request, self._waiting)
            deleted.delete(lambda name: self._find(name, image, may_be_unnamed=True), now)
        return None

    def _delete_offsets(
        self, connection: ConnectionId, request: OffsetDeleteRequest, image: Image, now: Now
    ) -> Response | None:
        led, error = self._find(request.group, image, may_be_unnamed=True)
        if led is None or error is not ErrorCode.NONE:
            return OffsetDeleteResponse(error=error)
        return delete_offsets(led, connection, request, self._waiting, now)

    def make_offsets_topic(self) -> None:
        """Called when a client needs the topic, and there is none."""
        self._topic.make()

    # --- what is due ---

    def follow(self, image: Image, now: Now) -> None:
        """The replicas know what they lead. Offsets of deleted topics are forgotten
        (`GroupCoordinatorService.onPartitionsDeleted`).
        """
        before, self._topics = self._topics, image.topics.ids()
        is_gone = any(self._topics.get(name) != topic for name, topic in before.items())
        for index, led in list(self._led.items()):
            if not led.log.is_led:
                del self._led[index]
                led.drop(now)
        topic = image.topics.named(OFFSETS_TOPIC)
        for index in range(0 if topic is None else topic.partitions):
            assert topic is not None
            held = self._replicas.by_key((topic.id, index))
            is_mine = held is not None and held.replica.leading is not None
            if held is not None and is_mine and index not in self._led:
                self._led[index] = self._new(held)
        if is_gone:
            for led in self._led.values():
                led.gone.look()

    def poll(self, image: Image, now: Now) -> None:
        for led in self._led.values():
            led.poll(image, now)
        self._piecemeal.poll()

    def deadline_ns(self) -> int:
        led_ns = min((led.deadline_ns() for led in self._led.values()), default=NEVER_NS)
        return min(led_ns, self._piecemeal.deadline_ns())

    def _new(self, held: HostedPartition) -> LedGroups:
        log = GroupLog(self._replicas, held, self._message_bytes, self._room)
        return LedGroups(
            log, self._settings, self._message_bytes, self._random, self._waiting, self._room
        )

    def _has_room(self, led: LedGroups, request: JoinGroupRequest) -> bool:
        """Is there room for a member, or for more metadata of one?"""
        group = led.find(request.group)
        known = None if group is None else group.known(request)
        more = protocols_bytes(request.protocols)
        if known is not None:
            more -= protocols_bytes(known.protocols)
        else:
            more += len(request.group) + held_by_member(request.instance or request.client_id)
        return more <= 0 or self._room.has(more)

    def _find(
        self, group: str, image: Image, *, may_be_unnamed: bool = False
    ) -> tuple[LedGroups | None, ErrorCode]:
        """The groups of its partition, and why they cannot be used, if so."""
        if group == "" and not may_be_unnamed:
            return None, ErrorCode.INVALID_GROUP_ID
        partition = self._topic.partition_of(group, image)
        led = None if partition is None else self._led.get(partition)
        return led, ErrorCode.NOT_COORDINATOR if led is None else led.refusal()
