"""The tables of served APIs: keys and version ranges, as in ApiVersions."""

from typing import get_args

from node.lazy_dataclass import dataclass
from node.wire import (
    alter_partition,
    api_versions,
    configs,
    envelope,
    fetch,
    group_descriptions,
    group_membership,
    group_offsets,
    offsets,
    partition_fetch,
    produce,
    raft_voters,
    reassignments,
    registration,
    topic_changes,
    topic_metadata,
    vote,
)
from node.wire.api import Api, ApiRange

APIS: tuple[Api, ...] = (
    fetch.FETCH,
    api_versions.API_VERSIONS,
    topic_changes.CREATE_TOPICS,
    topic_changes.DELETE_TOPICS,
    configs.DESCRIBE_CONFIGS,
    configs.ALTER_CONFIGS,
    topic_changes.CREATE_PARTITIONS,
    reassignments.ELECT_LEADERS,
    configs.INCREMENTAL_ALTER_CONFIGS,
    reassignments.ALTER_REASSIGNMENTS,
    reassignments.LIST_REASSIGNMENTS,
    vote.VOTE,
    vote.BEGIN_QUORUM_EPOCH,
    vote.END_QUORUM_EPOCH,
    raft_voters.DESCRIBE_QUORUM,
    alter_partition.ALTER_PARTITION,
    api_versions.UPDATE_FEATURES,
    envelope.ENVELOPE,
    fetch.FETCH_SNAPSHOT,
    topic_metadata.DESCRIBE_CLUSTER,
    registration.BROKER_REGISTRATION,
    registration.BROKER_HEARTBEAT,
    registration.UNREGISTER_BROKER,
    produce.ALLOCATE_PRODUCER_IDS,
    registration.CONTROLLER_REGISTRATION,
    alter_partition.ASSIGN_DIRECTORIES,
    raft_voters.ADD_RAFT_VOTER,
    raft_voters.REMOVE_RAFT_VOTER,
    raft_voters.UPDATE_RAFT_VOTER,
)
# Requests that a broker forwards for a client (Kafka's `ApiKeys.forwardable`).
ForwardedRequest = (
    configs.AlterConfigsRequest
    | configs.ReplaceConfigsRequest
    | topic_changes.CreateTopicsRequest
    | topic_changes.CreatePartitionsRequest
    | topic_changes.DeleteTopicsRequest
    | reassignments.AlterReassignmentsRequest
    | reassignments.ListReassignmentsRequest
    | reassignments.ElectLeadersRequest
    | api_versions.UpdateFeaturesRequest
    | registration.UnregisterBrokerRequest
    | raft_voters.DescribeQuorumRequest
    | raft_voters.AddVoterRequest
    | raft_voters.RemoveVoterRequest
)
# The APIs of brokers, for clients and other brokers.
BROKER_APIS: tuple[Api, ...] = (
    produce.PRODUCE,
    partition_fetch.PARTITIONS_FETCH,
    offsets.LIST_OFFSETS,
    offsets.DELETE_RECORDS,
    topic_metadata.METADATA,
    group_offsets.OFFSET_COMMIT,
    group_offsets.OFFSET_FETCH,
    group_descriptions.FIND_COORDINATOR,
    group_membership.JOIN_GROUP,
    group_membership.HEARTBEAT,
    group_membership.LEAVE_GROUP,
    group_membership.SYNC_GROUP,
    group_descriptions.DESCRIBE_GROUPS,
    group_descriptions.LIST_GROUPS,
    group_descriptions.DELETE_GROUPS,
    group_descriptions.OFFSET_DELETE,
    api_versions.API_VERSIONS,
    produce.INIT_PRODUCER_ID,
    offsets.OFFSET_FOR_LEADER_EPOCH,
    topic_metadata.DESCRIBE_TOPIC_PARTITIONS,
    topic_metadata.DESCRIBE_LOG_DIRS,
    configs.DESCRIBE_CONFIGS,
    topic_metadata.DESCRIBE_CLUSTER,
    offsets.GET_REPLICA_LOG_INFO,
    *(api for api in APIS if api.request in get_args(ForwardedRequest)),
)
BY_KEY = {api.key: api for api in APIS}
BROKER_BY_KEY = {api.key: api for api in BROKER_APIS}
BY_REQUEST = {api.request: api for api in (*APIS, *BROKER_APIS)}
API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in APIS)
BROKER_API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in BROKER_APIS)

PeerRequest = (
    vote.VoteRequest
    | vote.BeginQuorumEpochRequest
    | vote.EndQuorumEpochRequest
    | fetch.FetchRequest
    | fetch.FetchSnapshotRequest
    | raft_voters.UpdateVoterRequest
)
# Requests with which other nodes register, or report their state, at the active controller.
NodeRequest = (
    registration.ControllerRegistrationRequest
    | registration.BrokerRegistrationRequest
    | registration.BrokerHeartbeatRequest
    | alter_partition.AlterPartitionRequest
    | produce.AllocateProducerIdsRequest
    | alter_partition.AssignDirectoriesRequest
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOn:
    """A request that a broker forwards as it came: `frame` is all of it."""

    request: ForwardedRequest
    frame: bytes


# Requests to group coordinators.
GroupRequest = (
    group_descriptions.FindCoordinatorRequest
    | group_membership.JoinGroupRequest
    | group_membership.SyncGroupRequest
    | group_membership.HeartbeatRequest
    | group_membership.LeaveGroupRequest
    | group_offsets.OffsetCommitRequest
    | group_offsets.OffsetFetchRequest
    | group_descriptions.ListGroupsRequest
    | group_descriptions.DescribeGroupsRequest
    | group_descriptions.DeleteGroupsRequest
    | group_descriptions.OffsetDeleteRequest
)
# Requests that only brokers serve.
DataRequest = (
    produce.ProduceRequest
    | partition_fetch.PartitionsFetchRequest
    | offsets.ListOffsetsRequest
    | offsets.DeleteRecordsRequest
    | topic_metadata.MetadataRequest
    | produce.InitProducerIdRequest
    | offsets.OffsetForLeaderEpochRequest
    | topic_metadata.DescribeTopicPartitionsRequest
    | topic_metadata.DescribeLogDirsRequest
    | offsets.ReplicaLogsRequest
    | HandedOn
    | GroupRequest
)
# Requests that brokers serve.
BrokerRequest = DataRequest | configs.DescribeConfigsRequest | topic_metadata.DescribeClusterRequest
# Requests of brokers to the active controller, for themselves.
ControllerRequest = NodeRequest | topic_changes.CreateTopicsRequest
OutgoingRequest = (
    PeerRequest
    | api_versions.ApiVersionsRequest
    | ControllerRequest
    | partition_fetch.PartitionsFetchRequest
    | envelope.EnvelopeRequest
    | offsets.ReplicaLogsRequest
)
# Requests that become records, if the active controller accepts them.
WriteRequest = (
    NodeRequest
    | configs.AlterConfigsRequest
    | configs.ReplaceConfigsRequest
    | topic_changes.CreateTopicsRequest
    | topic_changes.CreatePartitionsRequest
    | topic_changes.DeleteTopicsRequest
    | reassignments.AlterReassignmentsRequest
    | reassignments.ElectLeadersRequest
    | api_versions.UpdateFeaturesRequest
    | registration.UnregisterBrokerRequest
)
# Requests that are answered from committed state, after a majority has confirmed the leader.
ReadRequest = configs.DescribeConfigsRequest | reassignments.ListReassignmentsRequest
Request = (
    PeerRequest
    | WriteRequest
    | ReadRequest
    | DataRequest
    | api_versions.ApiVersionsRequest
    | raft_voters.DescribeQuorumRequest
    | topic_metadata.DescribeClusterRequest
    | envelope.EnvelopeRequest
    | raft_voters.AddVoterRequest
    | raft_voters.RemoveVoterRequest
)
Response = (
    vote.VoteResponse
    | vote.QuorumEpochResponse
    | fetch.FetchResponse
    | fetch.FetchSnapshotResponse
    | api_versions.ApiVersionsResponse
    | raft_voters.DescribeQuorumResponse
    | configs.AlterConfigsResponse
    | configs.DescribeConfigsResponse
    | topic_metadata.DescribeClusterResponse
    | topic_changes.CreateTopicsResponse
    | raft_voters.VoterChangeResponse
    | raft_voters.UpdateVoterResponse
    | registration.ControllerRegistrationResponse
    | registration.BrokerRegistrationResponse
    | registration.BrokerHeartbeatResponse
    | registration.UnregisterBrokerResponse
    | alter_partition.AlterPartitionResponse
    | produce.AllocateProducerIdsResponse
    | topic_changes.DeleteTopicsResponse
    | topic_changes.CreatePartitionsResponse
    | reassignments.AlterReassignmentsResponse
    | reassignments.ListReassignmentsResponse
    | alter_partition.AssignDirectoriesResponse
    | reassignments.ElectLeadersResponse
    | api_versions.UpdateFeaturesResponse
    | envelope.EnvelopeResponse
    | produce.ProduceResponse
    | partition_fetch.PartitionsFetchResponse
    | offsets.ListOffsetsResponse
    | offsets.DeleteRecordsResponse
    | topic_metadata.MetadataResponse
    | produce.InitProducerIdResponse
    | offsets.OffsetForLeaderEpochResponse
    | topic_metadata.DescribeTopicPartitionsResponse
    | topic_metadata.DescribeLogDirsResponse
    | group_descriptions.FindCoordinatorResponse
    | group_membership.JoinGroupResponse
    | group_membership.SyncGroupResponse
    | group_membership.HeartbeatResponse
    | group_membership.LeaveGroupResponse
    | group_offsets.OffsetCommitResponse
    | group_offsets.OffsetFetchResponse
    | group_descriptions.ListGroupsResponse
    | group_descriptions.DescribeGroupsResponse
    | group_descriptions.DeleteGroupsResponse
    | group_descriptions.OffsetDeleteResponse
    | offsets.ReplicaLogsResponse
)
