"""FindCoordinator, ListGroups, DescribeGroups, DeleteGroups and OffsetDelete: a group's coordinator
and state, and the deletion of groups and offsets.
"""

from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NO_NODE, NodeId
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import NO_THROTTLE, TopicPartition, by_topic, our_error, read_partition
from node.wire.group_offsets import LIST_FLEXIBLE, pack_listed

# FindCoordinator 0-6: the broker that coordinates a group, or a transactional id.


GROUP, TRANSACTION = 0, 1  # types of keys
_FIRST_WITH_SEVERAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorRequest:
    """One key before version 4."""

    keys: tuple[str, ...]
    key_type: int = GROUP


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    key: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    node: NodeId = NO_NODE
    host: str = ""
    port: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    """One for each key."""

    coordinators: tuple[Coordinator, ...]


def _read_find_coordinator_request(entity: Any) -> FindCoordinatorRequest:
    several = hasattr(entity, "coordinator_keys")
    return FindCoordinatorRequest(
        keys=entity.coordinator_keys if several else (entity.key,),
        key_type=getattr(entity, "key_type", GROUP),
    )


def _write_find_coordinator_request(message: FindCoordinatorRequest, kio: SimpleNamespace) -> Any:
    return kio.FindCoordinatorRequest(
        key=message.keys[0], key_type=message.key_type, coordinator_keys=message.keys
    )


def _read_find_coordinator_response(entity: Any) -> FindCoordinatorResponse:
    """Before version 4 it does not name the group."""
    found = getattr(entity, "coordinators", (entity,))
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(
                key=getattr(each, "key", ""),
                error=our_error(each.error_code),
                message=getattr(each, "error_message", None),
                node=NodeId(each.node_id),
                host=each.host,
                port=each.port,
            )
            for each in found
        )
    )


def _write_find_coordinator_response(message: FindCoordinatorResponse, kio: SimpleNamespace) -> Any:
    if kio.version < _FIRST_WITH_SEVERAL:
        only = message.coordinators[0]
        return kio.FindCoordinatorResponse(throttle_time=NO_THROTTLE, **_fields(only))
    return kio.FindCoordinatorResponse(
        throttle_time=NO_THROTTLE,
        coordinators=tuple(
            kio.Coordinator(key=each.key, **_fields(each)) for each in message.coordinators
        ),
    )


def _fields(found: Coordinator) -> dict[str, Any]:
    return {
        "error_code": found.error,
        "error_message": found.message,
        "node_id": found.node,
        "host": found.host,
        "port": found.port,
    }


FIND_COORDINATOR = Api(
    key=10,
    name="FindCoordinator",
    package="find_coordinator",
    min_version=0,
    max_version=6,
    request=FindCoordinatorRequest,
    read_request=_read_find_coordinator_request,
    write_request=_write_find_coordinator_request,
    read_response=_read_find_coordinator_response,
    write_response=_write_find_coordinator_response,
)


CLASSIC = "classic"  # the type of all groups here
_FIRST_WITH_UNKNOWN = 6  # DescribeGroups
_NOT_ASKED = -(2**31)  # the client did not ask for its authorized operations


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroupsRequest:
    """Asks for groups in these states and of these types; an empty filter matches any."""

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
    """For a missing group, older versions have the state alone (KIP-1043)."""
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


# DeleteGroups 0-2 (KIP-229) and OffsetDelete (KIP-496): for groups without members, and offsets of
# topics that the group does not read.


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsRequest:
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedGroup:
    id: str
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    results: tuple[DeletedGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteRequest:
    group: str
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedOffset:
    partition: TopicPartition
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """`error`: for all of it, and then there are no results."""

    error: ErrorCode = ErrorCode.NONE
    results: tuple[DeletedOffset, ...] = ()


def _read_groups(entity: Any) -> DeleteGroupsRequest:
    return DeleteGroupsRequest(groups=tuple(entity.groups_names))


def _write_groups(message: DeleteGroupsRequest, kio: SimpleNamespace) -> Any:
    return kio.DeleteGroupsRequest(groups_names=message.groups)


def _read_groups_response(entity: Any) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletedGroup(id=each.group_id, error=our_error(each.error_code))
            for each in entity.results
        )
    )


def _write_groups_response(message: DeleteGroupsResponse, kio: SimpleNamespace) -> Any:
    return kio.DeleteGroupsResponse(
        throttle_time=NO_THROTTLE,
        results=tuple(
            kio.DeletableGroupResult(group_id=each.id, error_code=each.error)
            for each in message.results
        ),
    )


def _read_offsets(entity: Any) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group=entity.group_id,
        partitions=tuple(
            read_partition(topic, each.partition_index)
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offsets(message: OffsetDeleteRequest, kio: SimpleNamespace) -> Any:
    return kio.OffsetDeleteRequest(
        group_id=message.group,
        topics=tuple(
            kio.OffsetDeleteRequestTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetDeleteRequestPartition(partition_index=each.index)
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.partitions, lambda each: each)
        ),
    )


def _read_offsets_response(entity: Any) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(
        error=our_error(entity.error_code),
        results=tuple(
            DeletedOffset(
                partition=read_partition(topic, each.partition_index),
                error=our_error(each.error_code),
            )
            for topic in entity.topics
            for each in topic.partitions
        ),
    )


def _write_offsets_response(message: OffsetDeleteResponse, kio: SimpleNamespace) -> Any:
    return kio.OffsetDeleteResponse(
        error_code=message.error,
        throttle_time=NO_THROTTLE,
        topics=tuple(
            kio.OffsetDeleteResponseTopic(
                name=at.name,
                partitions=tuple(
                    kio.OffsetDeleteResponsePartition(
                        partition_index=each.partition.index, error_code=each.error
                    )
                    for each in partitions
                ),
            )
            for at, partitions in by_topic(message.results, lambda each: each.partition)
        ),
    )


DELETE_GROUPS = Api(
    key=42,
    name="DeleteGroups",
    package="delete_groups",
    min_version=0,
    max_version=2,
    request=DeleteGroupsRequest,
    read_request=_read_groups,
    write_request=_write_groups,
    read_response=_read_groups_response,
    write_response=_write_groups_response,
)
OFFSET_DELETE = Api(
    key=47,
    name="OffsetDelete",
    package="offset_delete",
    min_version=0,
    max_version=0,
    request=OffsetDeleteRequest,
    read_request=_read_offsets,
    write_request=_write_offsets,
    read_response=_read_offsets_response,
    write_response=_write_offsets_response,
)
