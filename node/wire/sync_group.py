"""SyncGroup 0-5: the leader of a group says who gets what, and each member learns its share."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one member gets."""

    member: str
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupRequest:
    """`shares`: of the leader alone."""

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


def _read_request(entity: Any) -> SyncGroupRequest:
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


def _write_request(message: SyncGroupRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> SyncGroupResponse:
    return SyncGroupResponse(
        error=our_error(entity.error_code),
        protocol_type=getattr(entity, "protocol_type", None),
        protocol=getattr(entity, "protocol_name", None),
        assignment=entity.assignment,
    )


def _write_response(message: SyncGroupResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
