"""One rich request of every kind."""

from node.ids import Epoch, LogPosition, NodeId, Offset, ReplicaKey
from node.wire.alter_partition import (
    AlteredPartition,
    AlterPartitionRequest,
    AssignDirectoriesRequest,
    AssignedReplica,
    IsrMember,
)
from node.wire.api_versions import (
    SAFE_DOWNGRADE,
    ApiVersionsRequest,
    FeatureUpdate,
    UpdateFeaturesRequest,
)
from node.wire.apis import Request
from node.wire.configs import (
    AlterConfigsRequest,
    ConfigChange,
    DescribeConfigsRequest,
    ReplaceConfigsRequest,
    ResourceChange,
    ResourceQuery,
)
from node.wire.envelope import EnvelopeRequest
from node.wire.fetch import FetchRequest, FetchSnapshotRequest
from node.wire.produce import AllocateProducerIdsRequest
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
)
from node.wire.reassignments import (
    AlterReassignmentsRequest,
    ElectLeadersRequest,
    ListReassignmentsRequest,
    NamedPartition,
    Reassignment,
)
from node.wire.registration import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    FeatureRange,
    RegisteredListener,
    UnregisterBrokerRequest,
)
from node.wire.topic_changes import (
    Assignment,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeletedTopic,
    DeleteTopicsRequest,
    NewTopic,
    TopicSetting,
    WantedPartitions,
)
from node.wire.topic_metadata import DescribeClusterRequest
from node.wire.vote import BeginQuorumEpochRequest, EndQuorumEpochRequest, VoteRequest
from tests.node.wire.sample_ids import CLUSTER, DIRECTORY, EPOCH, INNER, LEADER, OTHER, OUTER

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
    ReplaceConfigsRequest(
        resources=(
            ResourceChange(
                type=2,
                name="orders",
                changes=(ConfigChange(name="retention.ms", operation=0, value="1234"),),
            ),
            ResourceChange(type=4, name="", changes=()),
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
    DescribeClusterRequest(endpoint_type=1, with_fenced=True),
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
    ElectLeadersRequest(
        kind=4,
        partitions=(NamedPartition(topic="a", index=0), NamedPartition(topic="b", index=7)),
        desired=(5, None),
        timeout_ms=1500,
        has_recovery=True,
    ),
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
