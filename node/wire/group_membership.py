"""Heartbeat, LeaveGroup, JoinGroup and SyncGroup: the requests of group members.

This section is Heartbeat 0-4 and LeaveGroup 0-5.
"""

from typing import Annotated, Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Functions, Kio, OneBefore, our_error, since

_FIRST_OF_SEVERAL = 3  # LeaveGroup


def _read_left(entity: Any) -> ErrorCode:
    return our_error(entity.error_code)


def _write_left(message: "LeaveGroupResponse", version: int) -> dict[str, Any]:
    error = message.error
    if error is ErrorCode.NONE and version < _FIRST_OF_SEVERAL:
        error = next((each.error for each in message.members), ErrorCode.NONE)
    return {"error_code": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest:
    group: Annotated[str, "group_id"]
    generation: Annotated[int, "generation_id"]
    member: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    id: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupRequest:
    """One member before version 3."""

    group: Annotated[str, "group_id"]
    members: Annotated[tuple[LeavingMember, ...], OneBefore("members")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftMember:
    id: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """`error` is that of the only member before version 3."""

    error: Annotated[ErrorCode, Functions(_read_left, _write_left)] = ErrorCode.NONE
    members: tuple[LeftMember, ...] = ()


HEARTBEAT = Api(12, "Heartbeat", 0, 4, HeartbeatRequest, HeartbeatResponse)
LEAVE_GROUP = Api(13, "LeaveGroup", 0, 5, LeaveGroupRequest, LeaveGroupResponse)


# JoinGroup 0-9: a consumer joins the next generation of its group.


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

    group: Annotated[str, "group_id"]
    session_timeout_ms: Annotated[int, "session_timeout"]
    rebalance_timeout_ms: Annotated[int, Kio("rebalance_timeout", "session_timeout")]
    member: Annotated[str, "member_id"] = ""
    instance: Annotated[str | None, "group_instance_id"] = None
    protocol_type: str
    protocols: tuple[JoinProtocol, ...]
    needs_known_id: Annotated[bool, since(4)] = True
    may_lead: Annotated[bool, since(9)] = True
    client_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedMember:
    id: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    """`members`: for the leader alone, which assigns the partitions, unless `is_shared_out`."""

    error: Error = ErrorCode.NONE
    generation: Annotated[int, "generation_id"] = -1
    protocol_type: str | None = None
    protocol: Annotated[str | None, Kio("protocol_name", null="")] = None
    leader: str = ""
    member: Annotated[str, "member_id"] = ""
    members: tuple[JoinedMember, ...] = ()
    is_shared_out: Annotated[bool, "skip_assignment"] = False


JOIN_GROUP = Api(11, "JoinGroup", 0, 9, JoinGroupRequest, JoinGroupResponse)


# SyncGroup 0-5: the group leader sends the assignment, and each member gets its part.


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """The assignment of one member."""

    member: Annotated[str, "member_id"]
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """`shares`: from the leader alone."""

    group: Annotated[str, "group_id"]
    generation: Annotated[int, "generation_id"]
    member: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None
    protocol_type: str | None = None
    protocol: Annotated[str | None, "protocol_name"] = None
    shares: Annotated[tuple[Share, ...], "assignments"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    error: Error = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: Annotated[str | None, "protocol_name"] = None
    assignment: bytes = b""


SYNC_GROUP = Api(14, "SyncGroup", 0, 5, SyncGroupRequest, SyncGroupResponse)
