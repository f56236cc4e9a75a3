"""The tables of served APIs: keys and version ranges, as in ApiVersions."""

from typing import get_args

from node.lazy_dataclass import dataclass
from node.wire.alter_partition import (
    ALTER_PARTITION,
    ASSIGN_DIRECTORIES,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
)
from node.wire.api import Api, ApiRange
from node.wire.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse
from node.wire.configs import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ReplaceConfigsRequest,
)
from node.wire.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from node.wire.envelope import ENVELOPE, EnvelopeRequest, EnvelopeResponse
from node.wire.fetch import FETCH, FetchRequest, FetchResponse
from node.wire.fetch_snapshot import FETCH_SNAPSHOT, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.group_descriptions import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    LIST_GROUPS,
    OFFSET_DELETE,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from node.wire.group_membership import (
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from node.wire.group_offsets import (
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from node.wire.offsets import (
    DELETE_RECORDS,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from node.wire.partition_fetch import (
    PARTITIONS_FETCH,
    PartitionsFetchRequest,
    PartitionsFetchResponse,
)
from node.wire.produce import (
    ALLOCATE_PRODUCER_IDS,
    INIT_PRODUCER_ID,
    PRODUCE,
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from node.wire.raft_voters import (
    ADD_RAFT_VOTER,
    DESCRIBE_QUORUM,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    AddVoterRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.reassignments import (
    ALTER_REASSIGNMENTS,
    ELECT_LEADERS,
    LIST_REASSIGNMENTS,
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListReassignmentsRequest,
    ListReassignmentsResponse,
)
from node.wire.registration import (
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    CONTROLLER_REGISTRATION,
    UNREGISTER_BROKER,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from node.wire.topic_changes import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from node.wire.topic_metadata import (
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPIC_PARTITIONS,
    METADATA,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    MetadataResponse,
)
from node.wire.update_features import (
    UPDATE_FEATURES,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.vote import (
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    VOTE,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

APIS: tuple[Api, ...] = (
    FETCH,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    CREATE_PARTITIONS,
    ELECT_LEADERS,
    INCREMENTAL_ALTER_CONFIGS,
    ALTER_REASSIGNMENTS,
    LIST_REASSIGNMENTS,
    VOTE,
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    ALTER_PARTITION,
    UPDATE_FEATURES,
    ENVELOPE,
    FETCH_SNAPSHOT,
    DESCRIBE_CLUSTER,
    BROKER_REGISTRATION,
    BROKER_HEARTBEAT,
    UNREGISTER_BROKER,
    ALLOCATE_PRODUCER_IDS,
    CONTROLLER_REGISTRATION,
    ASSIGN_DIRECTORIES,
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
)
# Requests that a broker forwards for a client (Kafka's `ApiKeys.forwardable`).
ForwardedRequest = (
    AlterConfigsRequest
    | ReplaceConfigsRequest
    | CreateTopicsRequest
    | CreatePartitionsRequest
    | DeleteTopicsRequest
    | AlterReassignmentsRequest
    | ListReassignmentsRequest
    | ElectLeadersRequest
    | UpdateFeaturesRequest
    | UnregisterBrokerRequest
    | DescribeQuorumRequest
    | AddVoterRequest
    | RemoveVoterRequest
)
# The APIs of brokers, for clients and other brokers.
BROKER_APIS: tuple[Api, ...] = (
    PRODUCE,
    PARTITIONS_FETCH,
    LIST_OFFSETS,
    DELETE_RECORDS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    SYNC_GROUP,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    DELETE_GROUPS,
    OFFSET_DELETE,
    API_VERSIONS,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    DESCRIBE_TOPIC_PARTITIONS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_CONFIGS,
    DESCRIBE_CLUSTER,
    *(api for api in APIS if api.request in get_args(ForwardedRequest)),
)
BY_KEY = {api.key: api for api in APIS}
BROKER_BY_KEY = {api.key: api for api in BROKER_APIS}
BY_REQUEST = {api.request: api for api in (*APIS, *BROKER_APIS)}
API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in APIS)
BROKER_API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in BROKER_APIS)

PeerRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | UpdateVoterRequest
)
# Requests with which other nodes register, or report their state, at the active controller.
NodeRequest = (
    ControllerRegistrationRequest
    | BrokerRegistrationRequest
    | BrokerHeartbeatRequest
    | AlterPartitionRequest
    | AllocateProducerIdsRequest
    | AssignDirectoriesRequest
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOn:
    """A request that a broker forwards as it came: `frame` is all of it."""

    request: ForwardedRequest
    frame: bytes


# Requests to group coordinators.
GroupRequest = (
    FindCoordinatorRequest
    | JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | ListGroupsRequest
    | DescribeGroupsRequest
    | DeleteGroupsRequest
    | OffsetDeleteRequest
)
# Requests that only brokers serve.
DataRequest = (
    ProduceRequest
    | PartitionsFetchRequest
    | ListOffsetsRequest
    | DeleteRecordsRequest
    | MetadataRequest
    | InitProducerIdRequest
    | OffsetForLeaderEpochRequest
    | DescribeTopicPartitionsRequest
    | DescribeLogDirsRequest
    | HandedOn
    | GroupRequest
)
# Requests that brokers serve.
BrokerRequest = DataRequest | DescribeConfigsRequest | DescribeClusterRequest
# Requests of brokers to the active controller, for themselves.
ControllerRequest = NodeRequest | CreateTopicsRequest
OutgoingRequest = (
    PeerRequest | ApiVersionsRequest | ControllerRequest | PartitionsFetchRequest | EnvelopeRequest
)
# Requests that become records, if the active controller accepts them.
WriteRequest = (
    NodeRequest
    | AlterConfigsRequest
    | ReplaceConfigsRequest
    | CreateTopicsRequest
    | CreatePartitionsRequest
    | DeleteTopicsRequest
    | AlterReassignmentsRequest
    | ElectLeadersRequest
    | UpdateFeaturesRequest
    | UnregisterBrokerRequest
)
# Requests that are answered from committed state, after a majority has confirmed the leader.
ReadRequest = DescribeConfigsRequest | ListReassignmentsRequest
Request = (
    PeerRequest
    | WriteRequest
    | ReadRequest
    | DataRequest
    | ApiVersionsRequest
    | DescribeQuorumRequest
    | DescribeClusterRequest
    | EnvelopeRequest
    | AddVoterRequest
    | RemoveVoterRequest
)
Response = (
    VoteResponse
    | QuorumEpochResponse
    | FetchResponse
    | FetchSnapshotResponse
    | ApiVersionsResponse
    | DescribeQuorumResponse
    | AlterConfigsResponse
    | DescribeConfigsResponse
    | DescribeClusterResponse
    | CreateTopicsResponse
    | VoterChangeResponse
    | UpdateVoterResponse
    | ControllerRegistrationResponse
    | BrokerRegistrationResponse
    | BrokerHeartbeatResponse
    | UnregisterBrokerResponse
    | AlterPartitionResponse
    | AllocateProducerIdsResponse
    | DeleteTopicsResponse
    | CreatePartitionsResponse
    | AlterReassignmentsResponse
    | ListReassignmentsResponse
    | AssignDirectoriesResponse
    | ElectLeadersResponse
    | UpdateFeaturesResponse
    | EnvelopeResponse
    | ProduceResponse
    | PartitionsFetchResponse
    | ListOffsetsResponse
    | DeleteRecordsResponse
    | MetadataResponse
    | InitProducerIdResponse
    | OffsetForLeaderEpochResponse
    | DescribeTopicPartitionsResponse
    | DescribeLogDirsResponse
    | FindCoordinatorResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | ListGroupsResponse
    | DescribeGroupsResponse
    | DeleteGroupsResponse
    | OffsetDeleteResponse
)
