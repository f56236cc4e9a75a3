"""DeleteGroups and OffsetDelete: what somebody wants to be forgotten of a group, and may be."""

from collections.abc import Callable

from node.broker.coordinators.group import GroupState
from node.broker.coordinators.led_groups import LedGroups
from node.broker.coordinators.subscriptions import CONSUMERS, topics_read
from node.errors import ErrorCode
from node.ids import ConnectionId, Now
from node.parking import Waiting
from node.records.group_records import OffsetCommitKey
from node.wire.group_deletions import (
    DeletedGroup,
    DeletedOffset,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)

Find = Callable[[str], tuple[LedGroups | None, ErrorCode]]


class DeletedGroups:
    """Of one request, whose answer waits for the last of them."""

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
    """None: answered once it is written down. Of a group of consumers those of topics that they do
    not read may go; of any other group nobody knows which it needs (`ClassicGroup`)."""
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
