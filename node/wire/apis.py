"""The table of what is served: API keys and version ranges, as ApiVersions tells them."""

from node.wire.api import Api, ApiRange
from node.wire.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse
from node.wire.configs import (
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from node.wire.controller_registration import (
    CONTROLLER_REGISTRATION,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from node.wire.create_topics import CREATE_TOPICS, CreateTopicsRequest, CreateTopicsResponse
from node.wire.describe_cluster import (
    DESCRIBE_CLUSTER,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from node.wire.describe_quorum import (
    DESCRIBE_QUORUM,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from node.wire.fetch import FETCH, FetchRequest, FetchResponse
from node.wire.fetch_snapshot import FETCH_SNAPSHOT, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.quorum_epoch import (
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
)
from node.wire.raft_voters import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.vote import VOTE, VoteRequest, VoteResponse

APIS: tuple[Api, ...] = (
    FETCH,
    API_VERSIONS,
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
    VOTE,
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    FETCH_SNAPSHOT,
    DESCRIBE_CLUSTER,
    CONTROLLER_REGISTRATION,
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
)
BY_KEY = {api.key: api for api in APIS}
BY_REQUEST = {api.request: api for api in APIS}
API_RANGES: tuple[ApiRange, ...] = tuple(api.range for api in APIS)

PeerRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
)
OutgoingRequest = PeerRequest | ControllerRegistrationRequest
Request = (
    OutgoingRequest
    | ApiVersionsRequest
    | DescribeQuorumRequest
    | AlterConfigsRequest
    | DescribeConfigsRequest
    | DescribeClusterRequest
    | CreateTopicsRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest
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
)
