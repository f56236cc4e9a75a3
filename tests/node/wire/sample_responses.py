"""One rich response of every kind, and those that tell of an error."""

from dataclasses import replace

from node.errors import ErrorCode
from node.ids import Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.wire.alter_partition import (
    AlterPartitionResponse,
    AssignDirectoriesResponse,
    AssignedReplica,
    AssignmentResult,
    PartitionResult,
)
from node.wire.api import ApiRange
from node.wire.api_versions import ApiVersionsResponse, UpdateFeaturesResponse
from node.wire.apis import Response
from node.wire.configs import (
    AlterConfigsResponse,
    ConfigEntry,
    ConfigSource,
    ConfigType,
    DescribeConfigsResponse,
    ResourceDescription,
    ResourceResult,
)
from node.wire.envelope import EnvelopeResponse
from node.wire.fetch import FetchResponse, FetchSnapshotResponse
from node.wire.produce import AllocateProducerIdsResponse
from node.wire.raft_voters import (
    DescribeQuorumResponse,
    ReplicaStatus,
    UpdateVoterResponse,
    VoterChangeResponse,
)
from node.wire.reassignments import (
    AlterReassignmentsResponse,
    ElectionResult,
    ElectLeadersResponse,
    ListReassignmentsResponse,
    NamedPartition,
    OngoingReassignment,
    ReassignmentResult,
)
from node.wire.registration import (
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    ControllerRegistrationResponse,
    UnregisterBrokerResponse,
)
from node.wire.topic_changes import (
    CreatePartitionsResponse,
    CreateTopicsResponse,
    DeleteTopicsResponse,
    DeletionResult,
    NewPartitionsResult,
    TopicResult,
)
from node.wire.topic_metadata import ClusterMember, DescribeClusterResponse
from node.wire.vote import QuorumEpochResponse, VoteResponse
from tests.node.wire.sample_ids import (
    ADDRESS,
    CLUSTER,
    DIRECTORY,
    EPOCH,
    INNER,
    LEADER,
    OTHER,
    OUTER,
)

_STATUS = ReplicaStatus(
    key=ReplicaKey(NodeId(1), DIRECTORY), log_end=17, last_fetch_ms=1_000, last_caught_up_ms=900
)
# By API key.
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
            supported=(("kraft.version", 0, 1), ("metadata.version", 7, 30)),
            finalized=(("kraft.version", 1), ("metadata.version", 30)),
            features_at=2**40,
        ),
        ApiVersionsResponse(
            error=ErrorCode.INVALID_REQUEST,
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
                TopicResult(
                    name="b",
                    id=OTHER,
                    partitions=3,
                    replication=2,
                    configs=(ConfigEntry(name="segment.ms", value="7", source=ConfigSource.TOPIC),),
                ),
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
                        ConfigEntry(
                            name="interval.ms",
                            value="1234",
                            source=ConfigSource.METRICS,
                            type=ConfigType.INT,
                        ),
                        ConfigEntry(name="metrics", value=None, source=ConfigSource.DEFAULT),
                    ),
                ),
                ResourceDescription(
                    type=2, name="t", error=ErrorCode.INVALID_REQUEST, message="not here"
                ),
            )
        ),
    ),
    33: (
        AlterConfigsResponse(
            results=(
                ResourceResult(type=2, name="orders"),
                ResourceResult(type=4, name="", error=ErrorCode.INVALID_CONFIG, message="not so"),
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
            members=(
                ClusterMember(id=LEADER, host="node-2", port=9102),
                ClusterMember(id=NodeId(3), host="node-3", port=9103, is_fenced=True),
            ),
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
