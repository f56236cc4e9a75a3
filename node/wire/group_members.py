"""What members of a group say while it is at rest: Heartbeat 0-4, and LeaveGroup 0-5."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error

_FIRST_OF_SEVERAL = 3  # LeaveGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    group: str
    generation: int
    member: str
    instance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    id: str
    instance: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    """One member before version 3."""

    group: str
    members: tuple[LeavingMember, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember:
    id: str
    instance: str | None = None
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """`error` is that of the only member before version 3."""

    error: ErrorCode = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


def _read_heartbeat(entity: Any) -> HeartbeatRequest:
    return HeartbeatRequest(
        group=entity.group_id,
        generation=entity.generation_id,
        member=entity.member_id,
        instance=getattr(entity, "group_instance_id", None),
    )


def _write_heartbeat(message: HeartbeatRequest, kio: SimpleNamespace) -> Any:
    return kio.HeartbeatRequest(
        group_id=message.group,
        generation_id=message.generation,
        member_id=message.member,
        group_instance_id=message.instance,
    )


def _read_heartbeat_response(entity: Any) -> HeartbeatResponse:
    return HeartbeatResponse(error=our_error(entity.error_code))


def _write_heartbeat_response(message: HeartbeatResponse, kio: SimpleNamespace) -> Any:
    return kio.HeartbeatResponse(throttle_time=NO_THROTTLE, error_code=message.error)


def _read_leave(entity: Any) -> LeaveGroupRequest:
    """Before version 3 the request is the member."""
    leaving = getattr(entity, "members", (entity,))
    return LeaveGroupRequest(
        group=entity.group_id,
        members=tuple(
            LeavingMember(id=each.member_id, instance=getattr(each, "group_instance_id", None))
            for each in leaving
        ),
    )


def _write_leave(message: LeaveGroupRequest, kio: SimpleNamespace) -> Any:
    return kio.LeaveGroupRequest(
        group_id=message.group,
        member_id=message.members[0].id,
        members=tuple(
            kio.MemberIdentity(member_id=each.id, group_instance_id=each.instance, reason=None)
            for each in message.members
        ),
    )


def _read_leave_response(entity: Any) -> LeaveGroupResponse:
    return LeaveGroupResponse(
        error=our_error(entity.error_code),
        members=tuple(
            LeftMember(
                id=each.member_id,
                instance=each.group_instance_id,
                error=our_error(each.error_code),
            )
            for each in getattr(entity, "members", ())
        ),
    )


def _write_leave_response(message: LeaveGroupResponse, kio: SimpleNamespace) -> Any:
    error = message.error
    if error is ErrorCode.NONE and kio.version < _FIRST_OF_SEVERAL:
        error = next((each.error for each in message.members), ErrorCode.NONE)
    return kio.LeaveGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=error,
        members=tuple(
            kio.MemberResponse(
                member_id=each.id, group_instance_id=each.instance, error_code=each.error
            )
            for each in message.members
        ),
    )


HEARTBEAT = Api(
    key=12,
    name="Heartbeat",
    package="heartbeat",
    min_version=0,
    max_version=4,
    request=HeartbeatRequest,
    read_request=_read_heartbeat,
    write_request=_write_heartbeat,
    read_response=_read_heartbeat_response,
    write_response=_write_heartbeat_response,
)
LEAVE_GROUP = Api(
    key=13,
    name="LeaveGroup",
    package="leave_group",
    min_version=0,
    max_version=5,
    request=LeaveGroupRequest,
    read_request=_read_leave,
    write_request=_write_leave,
    read_response=_read_leave_response,
    write_response=_write_leave_response,
)
