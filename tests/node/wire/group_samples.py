"""Rich requests to coordinators of groups, and answers of theirs by API key."""

from node.errors import ErrorCode
from node.ids import NodeId
from node.wire.apis import GroupRequest, Response
from node.wire.entities import TopicPartition
from node.wire.group_descriptions import (
    Coordinator,
    DeletedGroup,
    DeletedOffset,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedMember,
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
    JoinedMember,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    LeftMember,
    Share,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    CommitResult,
    CommittedOffset,
    FetchedOffset,
    FetchedOffsets,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SoughtOffsets,
)

ONE, TWO = TopicPartition(name="orders", index=0), TopicPartition(name="bills", index=9)

GROUP_SAMPLES: tuple[GroupRequest, ...] = (
    FindCoordinatorRequest(keys=("g",), key_type=0),
    JoinGroupRequest(
        group="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=300_000,
        member="c-1",
        instance="i",
        protocol_type="consumer",
        protocols=(
            JoinProtocol(name="range", metadata=b"r"),
            JoinProtocol(name="sticky", metadata=b""),
        ),
        client_id="c",
    ),
    SyncGroupRequest(
        group="g",
        generation=7,
        member="c-1",
        instance="i",
        protocol_type="consumer",
        protocol="range",
        shares=(Share(member="c-1", assignment=b"a"), Share(member="c-2", assignment=b"")),
    ),
    DeleteGroupsRequest(groups=("g", "h")),
    OffsetDeleteRequest(group="g", partitions=(ONE, TWO)),
    HeartbeatRequest(group="g", generation=7, member="c-1", instance="i"),
    LeaveGroupRequest(group="g", members=(LeavingMember(id="c-1", instance="i"),)),
    OffsetCommitRequest(
        group="g",
        generation=7,
        member="c-1",
        instance="i",
        offsets=(
            CommittedOffset(partition=ONE, offset=2**40, epoch=3, metadata="m"),
            CommittedOffset(partition=TWO, offset=0),
        ),
    ),
    OffsetFetchRequest(groups=(SoughtOffsets(group="g", partitions=(ONE, TWO)),)),
    ListGroupsRequest(states=("Stable",), types=("classic",)),
    DescribeGroupsRequest(groups=("g", "h")),
)
GROUP_ANSWERS: dict[int, Response] = {
    8: OffsetCommitResponse(
        results=(
            CommitResult(partition=ONE),
            CommitResult(partition=TWO, error=ErrorCode.REBALANCE_IN_PROGRESS),
        )
    ),
    9: OffsetFetchResponse(
        groups=(
            FetchedOffsets(
                group="g",
                offsets=(
                    FetchedOffset(partition=ONE, offset=2**40, epoch=3, metadata="m"),
                    FetchedOffset(partition=TWO),
                ),
            ),
        )
    ),
    10: FindCoordinatorResponse(
        coordinators=(Coordinator(key="g", node=NodeId(4), host="node-4", port=9104),)
    ),
    11: JoinGroupResponse(
        generation=7,
        protocol_type="consumer",
        protocol="range",
        leader="c-1",
        member="c-1",
        members=(
            JoinedMember(id="c-1", instance="i", metadata=b"r"),
            JoinedMember(id="c-2", metadata=b""),
        ),
        is_shared_out=True,
    ),
    12: HeartbeatResponse(error=ErrorCode.ILLEGAL_GENERATION),
    13: LeaveGroupResponse(
        members=(LeftMember(id="c-1", instance="i", error=ErrorCode.UNKNOWN_MEMBER_ID),)
    ),
    14: SyncGroupResponse(protocol_type="consumer", protocol="range", assignment=b"a"),
    15: DescribeGroupsResponse(
        groups=(
            DescribedGroup(
                id="g",
                state="Stable",
                protocol_type="consumer",
                protocol="range",
                members=(
                    DescribedMember(
                        id="c-1",
                        instance="i",
                        client_id="c",
                        client_host="",
                        metadata=b"r",
                        assignment=b"a",
                    ),
                ),
            ),
            DescribedGroup(
                id="h", error=ErrorCode.GROUP_ID_NOT_FOUND, message="not here", state="Dead"
            ),
        )
    ),
    42: DeleteGroupsResponse(
        results=(DeletedGroup(id="g"), DeletedGroup(id="h", error=ErrorCode.NON_EMPTY_GROUP))
    ),
    47: OffsetDeleteResponse(
        results=(
            DeletedOffset(partition=ONE),
            DeletedOffset(partition=TWO, error=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
        )
    ),
    16: ListGroupsResponse(groups=(ListedGroup(id="g", protocol_type="consumer", state="Stable"),)),
}
