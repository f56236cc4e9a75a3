"""One rich message of every kind, and what is left of it in a version that lacks some fields."""

from dataclasses import replace
from uuid import UUID

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import ZERO_UUID, Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
    PartitionResult,
)
from node.wire.api import ApiRange
from node.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from node.wire.apis import Request, Response
from node.wire.assign_directories import (
    AssignDirectoriesRequest,
    AssignDirectoriesResponse,
    AssignedReplica,
    AssignmentResult,
)
from node.wire.broker_lifecycle import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from node.wire.configs import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    ConfigChange,
    ConfigEntry,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ResourceChange,
    ResourceDescription,
    ResourceQuery,
    ResourceResult,
)
from node.wire.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    FeatureRange,
    RegisteredListener,
)
from node.wire.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    NewPartitionsResult,
    WantedPartitions,
)
from node.wire.create_topics import (
    Assignment,
    CreateTopicsRequest,
    CreateTopicsResponse,
    NewTopic,
    TopicResult,
    TopicSetting,
)
from node.wire.delete_topics import (
    DeletedTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeletionResult,
)
from node.wire.describe_cluster import (
    ClusterMember,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from node.wire.describe_quorum import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaStatus
from node.wire.elect_leaders import (
    ElectionResult,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NamedPartition,
)
from node.wire.envelope import EnvelopeRequest, EnvelopeResponse
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from node.wire.quorum_epoch import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
)
from node.wire.raft_voters import (
    AddVoterRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    AlterReassignmentsResponse,
    ListReassignmentsRequest,
    ListReassignmentsResponse,
    OngoingReassignment,
    Reassignment,
    ReassignmentResult,
)
from node.wire.update_features import (
    SAFE_DOWNGRADE,
    FeatureUpdate,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from node.wire.vote import VoteRequest, VoteResponse

CLUSTER = "kraft-chaos-cluster-01"
DIRECTORY = UUID(int=2**101 + 17)
OTHER = UUID(int=2**99 + 3)
LEADER = NodeId(2)
EPOCH = Epoch(7)
ADDRESS = Endpoint(name="", host="node-2", port=9102)
INNER = Endpoint(name="CONTROLLER", host="node-2", port=9102)
OUTER = Endpoint(name="EXTERNAL", host="127.0.0.1", port=40000)

REQUESTS: tuple[Request, ...] = (
    ApiVersionsRequest(),
    VoteRequest(
        cluster_id=CLUSTER,
        voter=NodeId(3),
        voter_directory=OTHER,
        epoch=EPOCH,
        candidate=ReplicaKey(NodeId(1), DIRECTORY),
        last_epoch=6,
        last_offset=123456789012,
        pre_vote=True,
    ),
    BeginQuorumEpochRequest(
        cluster_id=CLUSTER,
        voter=NodeId(3),
        voter_directory=OTHER,
        leader=LEADER,
        epoch=EPOCH,
        leader_endpoints=(INNER, OUTER),
    ),
    EndQuorumEpochRequest(
        cluster_id=CLUSTER,
        leader=LEADER,
        epoch=EPOCH,
        preferred=(ReplicaKey(NodeId(1), DIRECTORY), ReplicaKey(NodeId(3), OTHER)),
        leader_endpoints=(INNER,),
    ),
    FetchRequest(
        cluster_id=CLUSTER,
        replica=ReplicaKey(NodeId(1), DIRECTORY),
        epoch=EPOCH,
        fetch_offset=2**40,
        last_epoch=6,
        max_wait_ms=500,
        max_bytes=1 << 20,
        high_watermark=99,
    ),
    FetchSnapshotRequest(
        cluster_id=CLUSTER,
        replica=ReplicaKey(NodeId(1), DIRECTORY),
        epoch=EPOCH,
        snapshot=LogPosition(Epoch(6), Offset(2**40)),
        position=2**33,
        max_bytes=1 << 20,
    ),
    DescribeQuorumRequest(),
    AlterConfigsRequest(
        resources=(
            ResourceChange(
                type=16,
                name="r-1",
                changes=(
                    ConfigChange(name="interval.ms", operation=0, value="1234"),
                    ConfigChange(name="metrics", operation=1, value=None),
                ),
            ),
            ResourceChange(type=16, name="grün", changes=()),
        ),
        validate_only=True,
    ),
    DescribeConfigsRequest(
        resources=(
            ResourceQuery(type=16, name="r-1", keys=("interval.ms", "metrics")),
            ResourceQuery(type=16, name="r-2", keys=None),
            ResourceQuery(type=16, name="r-3", keys=()),
        )
    ),
    DescribeClusterRequest(endpoint_type=1),
    CreateTopicsRequest(
        topics=(
            NewTopic(name="a", partitions=3, replication=2),
            NewTopic(
                name="b",
                partitions=-1,
                replication=-1,
                assignments=(Assignment(index=1, brokers=(NodeId(2), NodeId(1))),),
                configs=(
                    TopicSetting(name="retention.ms", value="7"),
                    TopicSetting(name="x", value=None),
                ),
            ),
        ),
        validate_only=True,
    ),
    DeleteTopicsRequest(topics=(DeletedTopic(name="a"), DeletedTopic(name="b"))),
    ElectLeadersRequest(
        kind=1,
        partitions=(NamedPartition(topic="a", index=0), NamedPartition(topic="b", index=7)),
    ),
    ElectLeadersRequest(kind=0, partitions=None),
    CreatePartitionsRequest(
        topics=(
            WantedPartitions(topic="a", count=4),
            WantedPartitions(
                topic="b", count=2, assignments=((NodeId(3), NodeId(1)), (NodeId(2),))
            ),
        ),
        validate_only=True,
    ),
    AlterReassignmentsRequest(
        reassignments=(
            Reassignment(
                partition=NamedPartition(topic="a", index=0), replicas=(NodeId(2), NodeId(1))
            ),
            Reassignment(partition=NamedPartition(topic="b", index=7), replicas=None),
        ),
        may_resize=False,
    ),
    AlterReassignmentsRequest(reassignments=(), may_resize=True),
    ListReassignmentsRequest(partitions=None),
    ListReassignmentsRequest(partitions=(NamedPartition(topic="a", index=0),)),
    AssignDirectoriesRequest(
        broker=NodeId(3),
        epoch=2**40,
        replicas=(
            AssignedReplica(directory=DIRECTORY, topic=OTHER, index=0),
            AssignedReplica(directory=OTHER, topic=DIRECTORY, index=7),
        ),
    ),
    UpdateFeaturesRequest(
        updates=(
            FeatureUpdate(name="metadata.version", level=30),
            FeatureUpdate(name="f", level=0, kind=SAFE_DOWNGRADE),
        ),
        validate_only=True,
    ),
    EnvelopeRequest(frame=b"a request"),
    BrokerRegistrationRequest(
        broker=NodeId(3),
        cluster_id=CLUSTER,
        incarnation=DIRECTORY,
        listeners=(RegisteredListener(endpoint=INNER),),
        features=(FeatureRange(name="metadata.version", lowest=7, highest=30),),
        rack="r",
        directories=(OTHER, DIRECTORY),
        previous_epoch=2**40,
    ),
    BrokerHeartbeatRequest(
        broker=NodeId(3),
        epoch=2**40,
        metadata_offset=2**41,
        want_fence=True,
        want_shutdown=True,
        offline=(OTHER,),
        cordoned=(DIRECTORY,),
    ),
    UnregisterBrokerRequest(broker=NodeId(3)),
    AllocateProducerIdsRequest(broker=NodeId(3), epoch=2**40),
    AlterPartitionRequest(
        broker=NodeId(3),
        epoch=2**40,
        partitions=(
            AlteredPartition(
                topic=OTHER,
                index=1,
                leader_epoch=4,
                partition_epoch=9,
                isr=(
                    IsrMember(broker=NodeId(3), epoch=2**40),
                    IsrMember(broker=NodeId(1), epoch=5),
                ),
                recovery=1,
            ),
        ),
    ),
    AddVoterRequest(
        cluster_id=CLUSTER,
        voter=ReplicaKey(NodeId(3), OTHER),
        endpoints=(INNER, OUTER),
        timeout_ms=30_000,
        ack_when_committed=False,
    ),
    AddVoterRequest(
        cluster_id=None, voter=ReplicaKey(NodeId(4), OTHER), endpoints=(INNER,), timeout_ms=1
    ),
    RemoveVoterRequest(cluster_id=CLUSTER, voter=ReplicaKey(NodeId(3), OTHER)),
    UpdateVoterRequest(
        cluster_id=CLUSTER,
        epoch=EPOCH,
        voter=ReplicaKey(NodeId(3), OTHER),
        endpoints=(OUTER,),
        min_kraft_version=1,
        max_kraft_version=2,
    ),
    ControllerRegistrationRequest(
        controller=NodeId(3),
        incarnation=DIRECTORY,
        listeners=(
            RegisteredListener(endpoint=INNER),
            RegisteredListener(endpoint=OUTER, security_protocol=3),
        ),
        features=(FeatureRange(name="metadata.version", lowest=7, highest=30),),
    ),
)

_STATUS = ReplicaStatus(
    key=ReplicaKey(NodeId(1), DIRECTORY), log_end=17, last_fetch_ms=1_000, last_caught_up_ms=900
)
# By API key.
RESPONSES: dict[int, tuple[Response, ...]] = {
    1: (
        FetchResponse(
            leader=LEADER,
            epoch=EPOCH,
            high_watermark=41,
            records=b"\0batch" * 40,
            leader_endpoint=ADDRESS,
        ),
        FetchResponse(
            error=ErrorCode.FENCED_LEADER_EPOCH, leader=LEADER, epoch=EPOCH, leader_endpoint=ADDRESS
        ),
        FetchResponse(
            leader=LEADER,
            epoch=EPOCH,
            diverging=LogPosition(Epoch(0), Offset(12)),
            log_start=Offset(3),
        ),
        FetchResponse(leader=LEADER, epoch=EPOCH, diverging=LogPosition(Epoch(6), Offset(12))),
        FetchResponse(leader=LEADER, epoch=EPOCH, snapshot=LogPosition(Epoch(6), Offset(12))),
        FetchResponse(top_error=ErrorCode.INCONSISTENT_CLUSTER_ID),
    ),
    59: (
        FetchSnapshotResponse(
            leader=LEADER,
            epoch=EPOCH,
            snapshot=LogPosition(Epoch(6), Offset(12)),
            size=2**33 + 240,
            position=2**33,
            data=b"\0batch" * 40,
            leader_endpoint=ADDRESS,
        ),
        FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND, leader=LEADER, epoch=EPOCH),
        FetchSnapshotResponse(leader=NodeId(0), epoch=Epoch(0)),
        FetchSnapshotResponse(top_error=ErrorCode.INCONSISTENT_CLUSTER_ID),
    ),
    18: (
        ApiVersionsResponse(
            error=ErrorCode.NONE,
            apis=(ApiRange(api_key=18, min_version=0, max_version=4),),
            finalized=(("kraft.version", 1), ("metadata.version", 30)),
            features_at=2**40,
        ),
        ApiVersionsResponse(
            error=ErrorCode.UNSUPPORTED_VERSION,
            apis=(ApiRange(api_key=1, min_version=12, max_version=18),),
        ),
    ),
    20: (
        DeleteTopicsResponse(
            results=(
                DeletionResult(name="a", id=OTHER),
                DeletionResult(
                    name="b", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message="not here"
                ),
            )
        ),
    ),
    37: (
        CreatePartitionsResponse(
            results=(
                NewPartitionsResult(topic="a"),
                NewPartitionsResult(
                    topic="b", error=ErrorCode.INVALID_PARTITIONS, message="no increase"
                ),
            )
        ),
    ),
    45: (
        AlterReassignmentsResponse(
            results=(
                ReassignmentResult(partition=NamedPartition(topic="a", index=0)),
                ReassignmentResult(
                    partition=NamedPartition(topic="a", index=1),
                    error=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
                    message="nothing is",
                ),
            ),
            may_resize=False,
        ),
        AlterReassignmentsResponse(error=ErrorCode.NOT_CONTROLLER, message="not here"),
    ),
    46: (
        ListReassignmentsResponse(
            ongoing=(
                OngoingReassignment(
                    partition=NamedPartition(topic="a", index=1),
                    replicas=(4, 2, 1),
                    adding=(4,),
                    removing=(1,),
                ),
            )
        ),
        ListReassignmentsResponse(error=ErrorCode.NOT_CONTROLLER, message="not here"),
    ),
    73: (
        AssignDirectoriesResponse(
            results=(
                AssignmentResult(
                    replica=AssignedReplica(directory=DIRECTORY, topic=OTHER, index=0)
                ),
                AssignmentResult(
                    replica=AssignedReplica(directory=DIRECTORY, topic=OTHER, index=9),
                    error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                ),
            )
        ),
        AssignDirectoriesResponse(error=ErrorCode.STALE_BROKER_EPOCH),
    ),
    43: (
        ElectLeadersResponse(
            results=(
                ElectionResult(partition=NamedPartition(topic="a", index=0)),
                ElectionResult(
                    partition=NamedPartition(topic="a", index=1),
                    error=ErrorCode.ELECTION_NOT_NEEDED,
                    message="it leads",
                ),
            )
        ),
        ElectLeadersResponse(error=ErrorCode.NOT_CONTROLLER),
    ),
    56: (
        AlterPartitionResponse(
            results=(
                PartitionResult(
                    topic=OTHER,
                    index=1,
                    leader=LEADER,
                    leader_epoch=4,
                    partition_epoch=9,
                    isr=(2, 1),
                    recovery=1,
                ),
                PartitionResult(topic=OTHER, index=2, error=ErrorCode.INELIGIBLE_REPLICA),
            )
        ),
        AlterPartitionResponse(error=ErrorCode.STALE_BROKER_EPOCH),
    ),
    57: (
        UpdateFeaturesResponse(features=("metadata.version",)),
        UpdateFeaturesResponse(error=ErrorCode.INVALID_UPDATE_VERSION, message="no"),
    ),
    58: (
        EnvelopeResponse(frame=b"an answer"),
        EnvelopeResponse(error=ErrorCode.NOT_CONTROLLER),
    ),
    62: (
        BrokerRegistrationResponse(epoch=2**40),
        BrokerRegistrationResponse(error=ErrorCode.DUPLICATE_BROKER_REGISTRATION),
    ),
    63: (
        BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, should_shut_down=True),
        BrokerHeartbeatResponse(error=ErrorCode.STALE_BROKER_EPOCH),
    ),
    64: (
        UnregisterBrokerResponse(),
        UnregisterBrokerResponse(error=ErrorCode.BROKER_ID_NOT_REGISTERED, message="who?"),
    ),
    67: (
        AllocateProducerIdsResponse(first=2**40, count=1000),
        AllocateProducerIdsResponse(error=ErrorCode.BROKER_ID_NOT_REGISTERED),
    ),
    19: (
        CreateTopicsResponse(
            results=(
                TopicResult(name="b", id=OTHER, partitions=3, replication=2),
                TopicResult(
                    name="a", error=ErrorCode.INVALID_REPLICATION_FACTOR, message="no brokers"
                ),
            )
        ),
    ),
    32: (
        DescribeConfigsResponse(
            results=(
                ResourceDescription(
                    type=16,
                    name="r-1",
                    entries=(
                        ConfigEntry(name="interval.ms", value="1234", is_default=False),
                        ConfigEntry(name="metrics", value=None, is_default=True),
                    ),
                ),
                ResourceDescription(
                    type=2, name="t", error=ErrorCode.INVALID_REQUEST, message="not here"
                ),
            )
        ),
    ),
    44: (
        AlterConfigsResponse(
            results=(
                ResourceResult(type=16, name="r-1"),
                ResourceResult(
                    type=16, name="r-2", error=ErrorCode.NOT_CONTROLLER, message="ask node 2"
                ),
            )
        ),
    ),
    52: (
        VoteResponse(leader=LEADER, epoch=EPOCH, granted=True, leader_endpoint=ADDRESS),
        VoteResponse(error=ErrorCode.INVALID_VOTER_KEY, epoch=EPOCH),
        VoteResponse(top_error=ErrorCode.INVALID_REQUEST),
    ),
    53: (QuorumEpochResponse(leader=LEADER, epoch=EPOCH, leader_endpoint=ADDRESS),),
    54: (
        QuorumEpochResponse(error=ErrorCode.UNKNOWN_LEADER_EPOCH, leader=LEADER, epoch=EPOCH),
        QuorumEpochResponse(top_error=ErrorCode.INCONSISTENT_CLUSTER_ID),
    ),
    55: (
        DescribeQuorumResponse(
            leader=LEADER,
            epoch=EPOCH,
            high_watermark=17,
            voters=(_STATUS, replace(_STATUS, key=ReplicaKey(LEADER, OTHER), log_end=20)),
            observers=(replace(_STATUS, key=ReplicaKey(NodeId(9), OTHER)),),
            nodes=((NodeId(1), (INNER, OUTER)), (NodeId(2), ())),
        ),
        DescribeQuorumResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER, leader=LEADER, epoch=EPOCH),
        DescribeQuorumResponse(top_error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ),
    60: (
        DescribeClusterResponse(
            cluster_id=CLUSTER,
            controller=LEADER,
            members=(ClusterMember(id=LEADER, host="node-2", port=9102),),
        ),
        DescribeClusterResponse(
            error=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, message="a controller", endpoint_type=1
        ),
    ),
    70: (
        ControllerRegistrationResponse(),
        ControllerRegistrationResponse(error=ErrorCode.NOT_CONTROLLER, message="not here"),
    ),
    80: (
        VoterChangeResponse(),
        VoterChangeResponse(error=ErrorCode.DUPLICATE_VOTER, message="it is a voter already"),
    ),
    81: (VoterChangeResponse(error=ErrorCode.VOTER_NOT_FOUND, message="it is no voter"),),
    82: (
        UpdateVoterResponse(leader=LEADER, epoch=EPOCH, leader_endpoint=ADDRESS),
        UpdateVoterResponse(error=ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ),
}


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
        case DescribeClusterRequest() if version == 0:
            return replace(message, endpoint_type=2)
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
        case ElectLeadersRequest() if version == 0:
            return replace(message, kind=0)
        case AlterReassignmentsRequest() if version == 0:
            return replace(message, may_resize=True)
        case UpdateFeaturesRequest() if version == 0:
            return replace(message, validate_only=False)
        case _:
            return message


def response_in_version(key: int, message: Response, version: int) -> Response:
    """What a node reads of it in this version, which may lack some."""
    match message:
        case FetchResponse() if version < 16:
            return replace(message, leader_endpoint=None)
        case VoteResponse() | QuorumEpochResponse() | FetchSnapshotResponse() if version == 0:
            return replace(message, leader_endpoint=None)
        case AlterReassignmentsResponse() if version == 0:
            return replace(message, may_resize=True)
        case ApiVersionsResponse() if version < 3:
            return replace(message, finalized=(), features_at=-1)
        case DescribeQuorumResponse() if version < 2:
            return _older_description(message, version)
        case DescribeClusterResponse() if version == 0:
            return replace(message, endpoint_type=2)
        case _:
            assert key in RESPONSES
            return _older_topics_response(message, version)


def _older_topics_response(message: Response, version: int) -> Response:
    match message:
        case CreateTopicsResponse() if version < 7:
            made = (replace(each, id=ZERO_UUID) for each in message.results)
            if version < 5:
                made = (replace(each, partitions=-1, replication=-1) for each in made)
            return CreateTopicsResponse(results=tuple(made))
        case DeleteTopicsResponse() if version < 6:
            gone = (replace(each, id=ZERO_UUID) for each in message.results)
            if version < 5:
                gone = (replace(each, message=None) for each in gone)
            return DeleteTopicsResponse(results=tuple(gone))
        case ElectLeadersResponse() if version == 0:
            return replace(message, error=ErrorCode.NONE)
        case UpdateFeaturesResponse() if version >= 2:
            return replace(message, features=())
        case _:
            return message


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
