"""JoinGroup 0-9: a consumer wants to be a member of its group, in the next generation of it."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, milliseconds, our_error

_FIRST_WITH_KNOWN_MEMBERS = 4  # KIP-394
_FIRST_WITHOUT_PROTOCOL = 7
_FIRST_WITHOUT_SHARING = 9  # KIP-814


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinProtocol:
    """A way to share partitions (`range`), and what the member says of itself for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupRequest:
    """`member` is empty for one that has no id yet; `needs_known_id` says that it then is to be
    given one and to come again. `instance` is that of a static member (KIP-345), and `may_lead`
    that it may be told that it leads what is shared out already. `client_id` stands in the
    header."""

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
    """`members`: to the leader alone, which shares the partitions out; unless `is_shared_out`."""

    error: ErrorCode = ErrorCode.NONE
    generation: int = -1
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    member: str = ""
    members: tuple[JoinedMember, ...] = ()
    is_shared_out: bool = False


def _read_request(entity: Any) -> JoinGroupRequest:
    """Version 0 knows one time-out for both."""
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


def _write_request(message: JoinGroupRequest, kio: SimpleNamespace) -> Any:
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


def _read_response(entity: Any) -> JoinGroupResponse:
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


def _write_response(message: JoinGroupResponse, kio: SimpleNamespace) -> Any:
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
    read_request=_read_request,
    write_request=_write_request,
    read_response=_read_response,
    write_response=_write_response,
)
