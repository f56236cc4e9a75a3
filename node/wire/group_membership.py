"""Heartbeat, LeaveGroup, JoinGroup and SyncGroup: the requests of group members.

This section is Heartbeat 0-4 and LeaveGroup 0-5.
"""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, milliseconds, our_error

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
    """Before version 3 the request itself names the member."""
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


# JoinGroup 0-9: a consumer joins the next generation of its group.


_FIRST_WITH_KNOWN_MEMBERS = 4  # KIP-394
_FIRST_WITHOUT_PROTOCOL = 7
_FIRST_WITHOUT_SHARING = 9  # KIP-814


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol:
    """An assignment protocol (`range`), and the member's metadata for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """`member` is empty for one without an id; `needs_known_id`: it is then given one, and has to
    join again with it. `instance` is a static member's (KIP-345); `may_lead`: it understands that
    it leads a generation that keeps its assignment. `client_id` is from the header.
    """

    group: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member: str = ""
    instance: str | None = None
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]
    needs_known_id: bool = True
    may_lead: bool = True
    client_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMember:
    id: str
    instance: str | None = None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    """`members`: for the leader alone, which assigns the partitions, unless `is_shared_out`."""

    error: ErrorCode = ErrorCode.NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    member: str = ""
    members: tuple[JoinedMember, ...] = ()
    is_shared_out: bool = False


def _read_join_group_request(entity: Any) -> JoinGroupRequest:
    """Version 0 has one timeout for both."""
    session_ms = milliseconds(entity.session_timeout)
    rebalance = getattr(entity, "rebalance_timeout", entity.session_timeout)
    return JoinGroupRequest(
        group=entity.group_id,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=milliseconds(rebalance),
        member=entity.member_id,
        instance=getattr(entity, "group_instance_id", None),
        protocol_type=entity.protocol_type,
        protocols=tuple(
            JoinProtocol(name=each.name, metadata=each.metadata) for each in entity.protocols
        ),
        needs_known_id=entity.__version__ >= _FIRST_WITH_KNOWN_MEMBERS,
        may_lead=entity.__version__ >= _FIRST_WITHOUT_SHARING,
    )


def _write_join_group_request(message: JoinGroupRequest, kio: SimpleNamespace) -> Any:
    return kio.JoinGroupRequest(
        group_id=message.group,
        session_timeout=timedelta(milliseconds=message.session_timeout_ms),
        rebalance_timeout=timedelta(milliseconds=message.rebalance_timeout_ms),
        member_id=message.member,
        group_instance_id=message.instance,
        protocol_type=message.protocol_type,
        protocols=tuple(
            kio.JoinGroupRequestProtocol(name=each.name, metadata=each.metadata)
            for each in message.protocols
        ),
        reason=None,
    )


def _read_join_group_response(entity: Any) -> JoinGroupResponse:
    return JoinGroupResponse(
        error=our_error(entity.error_code),
        generation=entity.generation_id,
        protocol_type=getattr(entity, "protocol_type", None),
        protocol=entity.protocol_name,
        leader=entity.leader,
        member=entity.member_id,
        members=tuple(
            JoinedMember(
                id=each.member_id,
                instance=getattr(each, "group_instance_id", None),
                metadata=each.metadata,
            )
            for each in entity.members
        ),
        is_shared_out=getattr(entity, "skip_assignment", False),
    )


def _write_join_group_response(message: JoinGroupResponse, kio: SimpleNamespace) -> Any:
    may_lack = kio.version >= _FIRST_WITHOUT_PROTOCOL
    return kio.JoinGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        generation_id=message.generation,
        protocol_type=message.protocol_type,
        protocol_name=message.protocol if may_lack else message.protocol or "",
        leader=message.leader,
        skip_assignment=message.is_shared_out,
        member_id=message.member,
        members=tuple(
            kio.JoinGroupResponseMember(
                member_id=each.id, group_instance_id=each.instance, metadata=each.metadata
            )
            for each in message.members
        ),
    )


JOIN_GROUP = Api(
    key=11,
    name="JoinGroup",
    package="join_group",
    min_version=0,
    max_version=9,
    request=JoinGroupRequest,
    read_request=_read_join_group_request,
    write_request=_write_join_group_request,
    read_response=_read_join_group_response,
    write_response=_write_join_group_response,
)


# SyncGroup 0-5: the group leader sends the assignment, and each member gets its part.


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The assignment of one member."""

    member: str
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """`shares`: from the leader alone."""

    group: str
    generation: int
    member: str
    instance: str | None = None
    protocol_type: str | None = None
    protocol: str | None = None
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


def _read_sync_group_request(entity: Any) -> SyncGroupRequest:
    return SyncGroupRequest(
        group=entity.group_id,
        generation=entity.generation_id,
        member=entity.member_id,
        instance=getattr(entity, "group_instance_id", None),
        protocol_type=getattr(entity, "protocol_type", None),
        protocol=getattr(entity, "protocol_name", None),
        shares=tuple(
            Share(member=each.member_id, assignment=each.assignment) for each in entity.assignments
        ),
    )


def _write_sync_group_request(message: SyncGroupRequest, kio: SimpleNamespace) -> Any:
    return kio.SyncGroupRequest(
        group_id=message.group,
        generation_id=message.generation,
        member_id=message.member,
        group_instance_id=message.instance,
        protocol_type=message.protocol_type,
        protocol_name=message.protocol,
        assignments=tuple(
            kio.SyncGroupRequestAssignment(member_id=each.member, assignment=each.assignment)
            for each in message.shares
        ),
    )


def _read_sync_group_response(entity: Any) -> SyncGroupResponse:
    return SyncGroupResponse(
        error=our_error(entity.error_code),
        protocol_type=getattr(entity, "protocol_type", None),
        protocol=getattr(entity, "protocol_name", None),
        assignment=entity.assignment,
    )


def _write_sync_group_response(message: SyncGroupResponse, kio: SimpleNamespace) -> Any:
    return kio.SyncGroupResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        protocol_type=message.protocol_type,
        protocol_name=message.protocol,
        assignment=message.assignment,
    )


SYNC_GROUP = Api(
    key=14,
    name="SyncGroup",
    package="sync_group",
    min_version=0,
    max_version=5,
    request=SyncGroupRequest,
    read_request=_read_sync_group_request,
    write_request=_write_sync_group_request,
    read_response=_read_sync_group_response,
    write_response=_write_sync_group_response,
)
