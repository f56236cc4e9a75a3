"""What is left of a message in a version that lacks some fields."""

from dataclasses import replace

from node.errors import ErrorCode
from node.ids import ZERO_UUID, NodeId, ReplicaKey
from node.wire.alter_partition import AlterPartitionRequest
from node.wire.api_versions import (
    ApiVersionsResponse,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.apis import Request, Response
from node.wire.configs import ConfigType, DescribeConfigsResponse
from node.wire.fetch import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.partition_fetch import PartitionsFetchRequest
from node.wire.raft_voters import AddVoterRequest, DescribeQuorumResponse, ReplicaStatus
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from node.wire.registration import BrokerHeartbeatRequest, BrokerRegistrationRequest
from node.wire.topic_changes import CreateTopicsResponse, DeleteTopicsResponse
from node.wire.topic_metadata import DescribeClusterRequest, DescribeClusterResponse
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)


def request_in_version(message: Request, version: int) -> Request:
    """What a node reads of it in this version, which may lack some."""
    if isinstance(message, BeginQuorumEpochRequest | EndQuorumEpochRequest) and version == 0:
        message = replace(message, leader_endpoints=())
    match message:
        case VoteRequest() if version == 0:
            candidate = ReplicaKey(message.candidate.id)
            no_voter = replace(message, voter=NodeId(-1), voter_directory=None)
            return replace(no_voter, candidate=candidate, pre_vote=False)
        case VoteRequest() if version == 1:
            return replace(message, pre_vote=False)
        case BeginQuorumEpochRequest() if version == 0:
            return replace(message, voter=NodeId(-1), voter_directory=None)
        case EndQuorumEpochRequest() if version == 0:
            ids = tuple(ReplicaKey(key.id) for key in message.preferred)
            return replace(message, preferred=ids)
        case FetchRequest() if version < 17:
            no_directory = ReplicaKey(message.replica.id)
            return replace(message, replica=no_directory, high_watermark=2**63 - 1)
        case FetchSnapshotRequest() if version == 0:
            return replace(message, replica=ReplicaKey(message.replica.id))
        case FetchRequest() if version == 17:
            return replace(message, high_watermark=2**63 - 1)
        case AddVoterRequest() if version == 0:
            return replace(message, ack_when_committed=True)
        case DescribeClusterRequest() if version < 2:
            without = replace(message, with_fenced=False)
            return replace(without, endpoint_type=None) if version == 0 else without
        case _:
            return _older_broker_request(message, version)


def _older_broker_request(message: Request, version: int) -> Request:
    match message:
        case BrokerRegistrationRequest() if version < 3:
            without = replace(message, previous_epoch=-1)
            return replace(without, directories=()) if version < 2 else without
        case BrokerHeartbeatRequest() if version < 2:
            without_cordoned = replace(message, cordoned=None)
            return replace(without_cordoned, offline=()) if version < 1 else without_cordoned
        case AlterPartitionRequest() if version < 3:
            (partition,) = message.partitions
            isr = tuple(replace(member, epoch=-1) for member in partition.isr)
            return replace(message, partitions=(replace(partition, isr=isr),))
        case ElectLeadersRequest():
            kind = 0 if version == 0 else message.kind
            return replace(
                message,
                kind=kind,
                desired=message.desired if version >= 3 else (),
                has_recovery=version >= 3,
            )
        case AlterReassignmentsRequest() if version == 0:
            return replace(message, may_resize=True)
        case UpdateFeaturesRequest() if version == 0:
            return replace(message, validate_only=False)
        case PartitionsFetchRequest() if version < 11:
            return replace(message, may_be_from_follower=False)
        case _:
            return message


def response_in_version(message: Response, version: int) -> Response:
    """What a node reads of it in this version, which may lack some."""
    match message:
        case FetchResponse() if version < 16:
            return replace(message, leader_endpoint=None)
        case VoteResponse() | QuorumEpochResponse() | FetchSnapshotResponse() if version == 0:
            return replace(message, leader_endpoint=None)
        case AlterReassignmentsResponse() if version == 0:
            return replace(message, may_resize=True)
        case ApiVersionsResponse() if version < 3:
            return replace(message, supported=(), finalized=(), features_at=-1)
        case ApiVersionsResponse(supported=supported) if version < 4:
            return replace(message, supported=tuple(each for each in supported if each[1]))
        case DescribeQuorumResponse() if version < 2:
            return _older_description(message, version)
        case DescribeClusterResponse() if version < 2:
            members = tuple(replace(each, is_fenced=False) for each in message.members)
            without = replace(message, members=members)
            return replace(without, endpoint_type=2) if version == 0 else without
        case _:
            return _older_topics_response(message, version)


def _older_topics_response(message: Response, version: int) -> Response:
    match message:
        case CreateTopicsResponse() if version < 7:
            made = (replace(each, id=ZERO_UUID) for each in message.results)
            if version < 5:
                made = (replace(each, partitions=-1, replication=-1, configs=()) for each in made)
            return CreateTopicsResponse(results=tuple(made))
        case DeleteTopicsResponse() if version < 6:
            gone = (replace(each, id=ZERO_UUID) for each in message.results)
            if version < 5:
                gone = (replace(each, message=None) for each in gone)
            return DeleteTopicsResponse(results=tuple(gone))
        case ElectLeadersResponse() if version == 0:
            return replace(message, error=ErrorCode.NONE)
        case DescribeConfigsResponse() if version < 3:
            return _without_types(message)
        case UpdateFeaturesResponse() if version >= 2:
            return replace(message, features=())
        case _:
            return message


def _without_types(message: DescribeConfigsResponse) -> DescribeConfigsResponse:
    results = (
        replace(each, entries=tuple(replace(e, type=ConfigType.UNKNOWN) for e in each.entries))
        for each in message.results
    )
    return DescribeConfigsResponse(results=tuple(results))


def _older_description(message: DescribeQuorumResponse, version: int) -> DescribeQuorumResponse:
    def older(status: ReplicaStatus) -> ReplicaStatus:
        status = replace(status, key=ReplicaKey(status.key.id, ZERO_UUID))
        if version == 0:
            status = replace(status, last_fetch_ms=-1, last_caught_up_ms=-1)
        return status

    return replace(
        message,
        voters=tuple(older(status) for status in message.voters),
        observers=tuple(older(status) for status in message.observers),
        nodes=(),
    )
