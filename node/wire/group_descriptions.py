"""ListGroups 0-5 and DescribeGroups 0-6: which groups a broker coordinates, and how they stand."""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, our_error
from node.wire.packed_groups import LIST_FLEXIBLE, pack_listed

CLASSIC = "classic"  # the type of all groups that there are
_FIRST_WITH_UNKNOWN = 6  # DescribeGroups
_NOT_ASKED = -(2**31)  # of what who asks may do


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest:
    """In one of these states, and of one of these types; none: in any, of any."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    id: str
    protocol_type: str
    state: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse:
    error: ErrorCode = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    id: str
    instance: str | None = None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    id: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    state: str = ""
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[DescribedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse:
    groups: tuple[DescribedGroup, ...]


def _read_list(entity: Any) -> ListGroupsRequest:
    return ListGroupsRequest(
        states=getattr(entity, "states_filter", ()), types=getattr(entity, "types_filter", ())
    )


def _write_list(message: ListGroupsRequest, kio: SimpleNamespace) -> Any:
    return kio.ListGroupsRequest(states_filter=message.states, types_filter=message.types)


def _read_list_response(entity: Any) -> ListGroupsResponse:
    return ListGroupsResponse(
        error=our_error(entity.error_code),
        groups=tuple(
            ListedGroup(
                id=each.group_id,
                protocol_type=each.protocol_type,
                state=getattr(each, "group_state", ""),
            )
            for each in entity.groups
        ),
    )


def _write_list_response(message: ListGroupsResponse, kio: SimpleNamespace) -> Any:
    return kio.ListGroupsResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        groups=tuple(
            kio.ListedGroup(
                group_id=each.id,
                protocol_type=each.protocol_type,
                group_state=each.state,
                group_type=CLASSIC,
            )
            for each in message.groups
        ),
    )


def _pack_list(message: ListGroupsResponse, version: int) -> bytes | None:
    return pack_listed(message, version, CLASSIC)


def _read_describe(entity: Any) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=entity.groups)


def _write_describe(message: DescribeGroupsRequest, kio: SimpleNamespace) -> Any:
    return kio.DescribeGroupsRequest(groups=message.groups, include_authorized_operations=False)


def _read_describe_response(entity: Any) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=tuple(
            DescribedGroup(
                id=each.group_id,
                error=our_error(each.error_code),
                message=getattr(each, "error_message", None),
                state=each.group_state,
                protocol_type=each.protocol_type,
                protocol=each.protocol_data,
                members=tuple(map(_read_member, each.members)),
            )
            for each in entity.groups
        )
    )


def _read_member(entity: Any) -> DescribedMember:
    return DescribedMember(
        id=entity.member_id,
        instance=getattr(entity, "group_instance_id", None),
        client_id=entity.client_id,
        client_host=entity.client_host,
        metadata=entity.member_metadata,
        assignment=entity.member_assignment,
    )


def _write_describe_response(message: DescribeGroupsResponse, kio: SimpleNamespace) -> Any:
    return kio.DescribeGroupsResponse(
        throttle_time=NO_THROTTLE,
        groups=tuple(
            kio.DescribedGroup(
                error_code=_error_of(each, kio.version),
                error_message=each.message,
                group_id=each.id,
                group_state=each.state,
                protocol_type=each.protocol_type,
                protocol_data=each.protocol,
                members=tuple(_write_member(member, kio) for member in each.members),
                authorized_operations=_NOT_ASKED,
            )
            for each in message.groups
        ),
    )


def _error_of(group: DescribedGroup, version: int) -> ErrorCode:
    """That there is no such group older versions tell by its state alone (KIP-1043)."""
    is_unknown = group.error is ErrorCode.GROUP_ID_NOT_FOUND
    return ErrorCode.NONE if is_unknown and version < _FIRST_WITH_UNKNOWN else group.error


def _write_member(member: DescribedMember, kio: SimpleNamespace) -> Any:
    return kio.DescribedGroupMember(
        member_id=member.id,
        group_instance_id=member.instance,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )


LIST_GROUPS = Api(
    key=16,
    name="ListGroups",
    package="list_groups",
    min_version=0,
    max_version=5,
    request=ListGroupsRequest,
    read_request=_read_list,
    write_request=_write_list,
    read_response=_read_list_response,
    write_response=_write_list_response,
    pack_response=_pack_list,
    packed_flexible=LIST_FLEXIBLE,
)
DESCRIBE_GROUPS = Api(
    key=15,
    name="DescribeGroups",
    package="describe_groups",
    min_version=0,
    max_version=6,
    request=DescribeGroupsRequest,
    read_request=_read_describe,
    write_request=_write_describe,
    read_response=_read_describe_response,
    write_response=_write_describe_response,
)
