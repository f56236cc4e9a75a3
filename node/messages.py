"""Requests and answers as the core sees them: flat, without versions, one partition.

`node.wire` translates between these and Kafka's frames (kio's classes, one per version). The quorum
RPCs carry exactly one topic-partition, `__cluster_metadata`-0; a frame that names another one or
several is still decoded, with `partition_ok=False`, so that the core can refuse it the way Kafka
does. An absent uuid is `None` where the protocol allows its absence to mean "any".
"""

from dataclasses import dataclass
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, Epoch, LogPosition, NodeId, Offset, ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a node can be reached, by listener name."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeader:
    """What an answer must repeat or be encoded after."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


# --- ApiVersions (18) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    """`supported=False`: asked in a version we do not know; answered with 35 in version 0."""

    supported: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRange:
    api_key: int
    min_version: int
    max_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse:
    error: ErrorCode
    apis: tuple[ApiRange, ...]


# --- Vote (52) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    """KIP-595 Vote, KIP-996 pre-vote. `voter` is whom the sender believes to address."""

    cluster_id: str | None
    partition_ok: bool = True
    voter: NodeId
    voter_directory: UUID | None
    epoch: Epoch
    candidate: ReplicaKey
    last_epoch: int
    last_offset: int
    pre_vote: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse:
    """`top_error` is for what concerns the whole request (104, 42), `error` for the partition."""

    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    granted: bool = False
    leader_endpoint: Endpoint | None = None


# --- BeginQuorumEpoch (53), EndQuorumEpoch (54) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    cluster_id: str | None
    partition_ok: bool = True
    voter: NodeId
    voter_directory: UUID | None
    leader: NodeId
    epoch: Epoch
    leader_endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """`preferred` is sorted by fetch offset, highest first; empty from a restarted ex-leader."""

    cluster_id: str | None
    partition_ok: bool = True
    leader: NodeId
    epoch: Epoch
    preferred: tuple[ReplicaKey, ...] = ()
    leader_endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumEpochResponse:
    """Answers both BeginQuorumEpoch and EndQuorumEpoch."""

    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    leader_endpoint: Endpoint | None = None


# --- Fetch (1) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """A replica asks for what follows its log; its fetch offset tells what is durable there.

    `high_watermark`: 2**63-1 = not supported by the sender, -1 = unknown (Fetch v18).
    """

    cluster_id: str | None
    partition_ok: bool = True
    replica: ReplicaKey
    epoch: Epoch
    fetch_offset: int
    last_epoch: int
    max_wait_ms: int
    max_bytes: int
    high_watermark: int = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    high_watermark: int = -1
    log_start: Offset = Offset(0)
    diverging: LogPosition | None = None
    records: bytes = b""
    leader_endpoint: Endpoint | None = None


# --- DescribeQuorum (55) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumRequest:
    partition_ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """One replica as the leader sees it. Timestamps in wall-clock ms, -1 when unknown."""

    key: ReplicaKey
    log_end: int
    last_fetch_ms: int
    last_caught_up_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumResponse:
    top_error: ErrorCode = ErrorCode.NONE
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(0)
    high_watermark: int = -1
    voters: tuple[ReplicaStatus, ...] = ()
    observers: tuple[ReplicaStatus, ...] = ()
    nodes: tuple[tuple[NodeId, tuple[Endpoint, ...]], ...] = ()


# --- The controller's own: configs (32, 44), cluster (60), topics (19) ---


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChange:
    """One operation of IncrementalAlterConfigs. 0 SET, 1 DELETE, 2 APPEND, 3 SUBTRACT."""

    name: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceChange:
    type: int
    name: str
    changes: tuple[ConfigChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsRequest:
    resources: tuple[ResourceChange, ...]
    validate_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceResult:
    type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterConfigsResponse:
    results: tuple[ResourceResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceQuery:
    """`keys=None` asks for every key."""

    type: int
    name: str
    keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest:
    resources: tuple[ResourceQuery, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry:
    """`is_default`: nobody set it; the value is what the schema says."""

    name: str
    value: str | None
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescription:
    type: int
    name: str
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    entries: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsResponse:
    results: tuple[ResourceDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterRequest:
    """`endpoint_type`: 1 brokers, 2 controllers."""

    endpoint_type: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMember:
    id: NodeId
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeClusterResponse:
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None
    endpoint_type: int = 2
    cluster_id: str = ""
    controller: NodeId = NO_NODE
    members: tuple[ClusterMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest:
    topics: tuple[NewTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    name: str
    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse:
    results: tuple[TopicResult, ...]


PeerRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest
Request = (
    PeerRequest
    | ApiVersionsRequest
    | DescribeQuorumRequest
    | AlterConfigsRequest
    | DescribeConfigsRequest
    | DescribeClusterRequest
    | CreateTopicsRequest
)
Response = (
    VoteResponse
    | QuorumEpochResponse
    | FetchResponse
    | ApiVersionsResponse
    | DescribeQuorumResponse
    | AlterConfigsResponse
    | DescribeConfigsResponse
    | DescribeClusterResponse
    | CreateTopicsResponse
)
