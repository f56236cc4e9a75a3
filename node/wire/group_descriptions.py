"""FindCoordinator, ListGroups, DescribeGroups, DeleteGroups and OffsetDelete: a group's coordinator
and state, and the deletion of groups and offsets.
"""

from typing import Annotated, Any

from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Functions, Kio, Message, OneBefore, our_error
from node.wire.entities import PartitionFields, TopicPartition, in_topics, of_topics
from node.wire.group_offsets import LIST_FLEXIBLE, pack_listed

# FindCoordinator 0-6: the broker that coordinates a group, or a transactional id.


GROUP, TRANSACTION = 0, 1  # types of keys


def _read_keys(entity: Any) -> tuple[str, ...]:
    several: tuple[str, ...] | None = getattr(entity, "coordinator_keys", None)
    return (entity.key,) if several is None else several


def _write_keys(keys: tuple[str, ...]) -> dict[str, Any]:
    return {"key": keys[0], "coordinator_keys": keys}


def _read_error(entity: Any) -> ErrorCode:
    return our_error(entity.error_code)


def _write_error(group: "DescribedGroup", version: int) -> dict[str, Any]:
    """For a missing group, older versions have the state alone (KIP-1043)."""
    is_unknown = group.error is ErrorCode.GROUP_ID_NOT_FOUND
    return {
        "error_code": ErrorCode.NONE
        if is_unknown and version < _FIRST_WITH_UNKNOWN
        else group.error
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """One key before version 4."""

    keys: Annotated[tuple[str, ...], Functions(_read_keys, value=_write_keys)]
    key_type: int = GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    key: Annotated[str, Kio("key", absent="")]
    error: Error = ErrorCode.NONE
    message: Message = None
    node: Annotated[NodeId, "node_id"] = NO_NODE
    host: str = ""
    port: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    """One for each key."""

    coordinators: Annotated[tuple[Coordinator, ...], OneBefore("coordinators")]


FIND_COORDINATOR = Api(10, "FindCoordinator", 0, 6, FindCoordinatorRequest, FindCoordinatorResponse)


CLASSIC = "classic"  # the type of all groups here
_FIRST_WITH_UNKNOWN = 6  # DescribeGroups


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest:
    """Asks for groups in these states and of these types; an empty filter matches any."""

    states: Annotated[tuple[str, ...], "states_filter"] = ()
    types: Annotated[tuple[str, ...], "types_filter"] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    id: Annotated[str, "group_id"]
    protocol_type: str
    state: Annotated[str, "group_state"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsResponse:
    error: Error = ErrorCode.NONE
    groups: tuple[ListedGroup, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsRequest:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedMember:
    id: Annotated[str, "member_id"]
    instance: Annotated[str | None, "group_instance_id"] = None
    client_id: str
    client_host: str
    metadata: Annotated[bytes, "member_metadata"]
    assignment: Annotated[bytes, "member_assignment"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    id: Annotated[str, "group_id"]
    error: Annotated[ErrorCode, Functions(_read_error, _write_error)] = ErrorCode.NONE
    message: Message = None
    state: Annotated[str, "group_state"] = ""
    protocol_type: str = ""
    protocol: Annotated[str, "protocol_data"] = ""
    members: tuple[DescribedMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeGroupsResponse:
    groups: tuple[DescribedGroup, ...]


def _pack_list(message: ListGroupsResponse, version: int) -> bytes | None:
    return pack_listed(message, version, CLASSIC)


LIST_GROUPS = Api(
    16,
    "ListGroups",
    0,
    5,
    ListGroupsRequest,
    ListGroupsResponse,
    always=(("group_type", CLASSIC),),
    pack_response=_pack_list,
    packed_flexible=LIST_FLEXIBLE,
)
DESCRIBE_GROUPS = Api(15, "DescribeGroups", 0, 6, DescribeGroupsRequest, DescribeGroupsResponse)


# DeleteGroups 0-2 (KIP-229) and OffsetDelete (KIP-496): for groups without members, and offsets of
# topics that the group does not read.


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    groups: Annotated[tuple[str, ...], "groups_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    id: Annotated[str, "group_id"]
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    results: tuple[DeletedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    group: Annotated[str, "group_id"]
    partitions: Annotated[tuple[TopicPartition, ...], of_topics("topics", "partitions")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffset:
    partition: PartitionFields
    error: Error = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """`error`: for all of it, and then there are no results."""

    error: Error = ErrorCode.NONE
    results: Annotated[tuple[DeletedOffset, ...], in_topics("topics", "partitions")] = ()


DELETE_GROUPS = Api(42, "DeleteGroups", 0, 2, DeleteGroupsRequest, DeleteGroupsResponse)
OFFSET_DELETE = Api(47, "OffsetDelete", 0, 0, OffsetDeleteRequest, OffsetDeleteResponse)
