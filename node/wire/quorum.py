"""The quorum's RPCs: Vote, BeginQuorumEpoch, EndQuorumEpoch (KIP-595, KIP-996), DescribeQuorum.

Errors that concern the whole request (wrong cluster, wrong partition) stand at the top, with no
topics; all others stand at the partition.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from node.errors import ErrorCode
from node.ids import METADATA_TOPIC, NO_NODE, Epoch, NodeId, ReplicaKey
from node.messages import (
    BeginQuorumEpochRequest,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    ReplicaStatus,
    VoteRequest,
    VoteResponse,
)
from node.wire.api import Api
from node.wire.entities import (
    build,
    endpoints,
    kio_error,
    leader_endpoint,
    listeners,
    metadata_partition,
    node_endpoints,
    our_error,
    some_uuid,
)


def _topics(kio: ModuleType, **partition: Any) -> tuple[Any, ...]:
    data = build(kio.PartitionData, partition_index=0, **partition)
    return (kio.TopicData(topic_name=METADATA_TOPIC, partitions=(data,)),)


# --- Vote ---


def _read_vote(entity: Any) -> VoteRequest:
    partition = metadata_partition(entity.topics)
    voter = NodeId(getattr(entity, "voter_id", NO_NODE))
    if partition is None:
        return VoteRequest(
            cluster_id=entity.cluster_id,
            partition_ok=False,
            voter=voter,
            voter_directory=None,
            epoch=Epoch(0),
            candidate=ReplicaKey(NO_NODE),
            last_epoch=0,
            last_offset=0,
            pre_vote=False,
        )
    directory = some_uuid(getattr(partition, "replica_directory_id", None))
    return VoteRequest(
        cluster_id=entity.cluster_id,
        voter=voter,
        voter_directory=getattr(partition, "voter_directory_id", None),
        epoch=Epoch(partition.replica_epoch),
        candidate=ReplicaKey(NodeId(partition.replica_id), directory),
        last_epoch=partition.last_offset_epoch,
        last_offset=partition.last_offset,
        pre_vote=getattr(partition, "pre_vote", False),
    )


def _write_vote(message: VoteRequest, kio: ModuleType) -> Any:
    topics = _topics(
        kio,
        replica_epoch=message.epoch,
        replica_id=message.candidate.id,
        replica_directory_id=message.candidate.directory,
        voter_directory_id=message.voter_directory,
        last_offset_epoch=message.last_epoch,
        last_offset=message.last_offset,
        pre_vote=message.pre_vote,
    )
    return build(
        kio.VoteRequest, cluster_id=message.cluster_id, voter_id=message.voter, topics=topics
    )


def _read_vote_response(entity: Any) -> VoteResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return VoteResponse(top_error=_top_error(entity))
    leader = NodeId(partition.leader_id)
    return VoteResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=leader,
        epoch=Epoch(partition.leader_epoch),
        granted=partition.vote_granted,
        leader_endpoint=leader_endpoint(entity, leader),
    )


def _write_vote_response(message: VoteResponse, kio: ModuleType) -> Any:
    if message.top_error:
        return kio.VoteResponse(error_code=kio_error(message.top_error), topics=())
    topics = _topics(
        kio,
        error_code=kio_error(message.error),
        leader_id=message.leader,
        leader_epoch=message.epoch,
        vote_granted=message.granted,
    )
    return kio.VoteResponse(
        error_code=kio_error(ErrorCode.NONE),
        topics=topics,
        **node_endpoints(message.leader, message.leader_endpoint, kio),
    )


def _top_error(entity: Any) -> ErrorCode:
    """An answer without our partition is an error, whether it says so or not."""
    return our_error(entity.error_code) or ErrorCode.UNKNOWN_SERVER_ERROR


# --- BeginQuorumEpoch, EndQuorumEpoch ---


def _read_begin(entity: Any) -> BeginQuorumEpochRequest:
    partition = metadata_partition(entity.topics)
    return BeginQuorumEpochRequest(
        cluster_id=entity.cluster_id,
        partition_ok=partition is not None,
        voter=NodeId(getattr(entity, "voter_id", NO_NODE)),
        voter_directory=getattr(partition, "voter_directory_id", None),
        leader=NodeId(partition.leader_id) if partition else NO_NODE,
        epoch=Epoch(partition.leader_epoch if partition else 0),
        leader_endpoints=endpoints(entity, "leader_endpoints"),
    )


def _write_begin(message: BeginQuorumEpochRequest, kio: ModuleType) -> Any:
    topics = _topics(
        kio,
        voter_directory_id=message.voter_directory,
        leader_id=message.leader,
        leader_epoch=message.epoch,
    )
    return build(
        kio.BeginQuorumEpochRequest,
        cluster_id=message.cluster_id,
        voter_id=message.voter,
        topics=topics,
        leader_endpoints=_leader_endpoints(message, kio),
    )


def _leader_endpoints(
    message: BeginQuorumEpochRequest | EndQuorumEpochRequest, kio: ModuleType
) -> tuple[Any, ...]:
    struct = getattr(kio, "LeaderEndpoint", None)
    return listeners(message.leader_endpoints, struct) if struct else ()


def _read_end(entity: Any) -> EndQuorumEpochRequest:
    """Version 0 names the preferred successors by id only."""
    partition = metadata_partition(entity.topics)
    preferred: tuple[ReplicaKey, ...] = ()
    if partition and hasattr(partition, "preferred_candidates"):
        preferred = tuple(
            ReplicaKey(NodeId(c.candidate_id), some_uuid(c.candidate_directory_id))
            for c in partition.preferred_candidates
        )
    elif partition:
        preferred = tuple(ReplicaKey(NodeId(i)) for i in partition.preferred_successors)
    return EndQuorumEpochRequest(
        cluster_id=entity.cluster_id,
        partition_ok=partition is not None,
        leader=NodeId(partition.leader_id) if partition else NO_NODE,
        epoch=Epoch(partition.leader_epoch if partition else 0),
        preferred=preferred,
        leader_endpoints=endpoints(entity, "leader_endpoints"),
    )


def _write_end(message: EndQuorumEpochRequest, kio: ModuleType) -> Any:
    candidates: tuple[Any, ...] = ()
    if hasattr(kio, "ReplicaInfo"):
        candidates = tuple(
            kio.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory)
            for key in message.preferred
        )
    topics = _topics(
        kio,
        leader_id=message.leader,
        leader_epoch=message.epoch,
        preferred_candidates=candidates,
        preferred_successors=tuple(key.id for key in message.preferred),
    )
    return build(
        kio.EndQuorumEpochRequest,
        cluster_id=message.cluster_id,
        topics=topics,
        leader_endpoints=_leader_endpoints(message, kio),
    )


def _read_epoch_response(entity: Any) -> QuorumEpochResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return QuorumEpochResponse(top_error=_top_error(entity))
    leader = NodeId(partition.leader_id)
    return QuorumEpochResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=leader,
        epoch=Epoch(partition.leader_epoch),
        leader_endpoint=leader_endpoint(entity, leader),
    )


def _epoch_response_writer(name: str) -> Callable[[QuorumEpochResponse, ModuleType], Any]:
    def write(message: QuorumEpochResponse, kio: ModuleType) -> Any:
        response = getattr(kio, name)
        if message.top_error:
            return response(error_code=kio_error(message.top_error), topics=())
        topics = _topics(
            kio,
            error_code=kio_error(message.error),
            leader_id=message.leader,
            leader_epoch=message.epoch,
        )
        return response(
            error_code=kio_error(ErrorCode.NONE),
            topics=topics,
            **node_endpoints(message.leader, message.leader_endpoint, kio),
        )

    return write


# --- DescribeQuorum ---


def _read_describe(entity: Any) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(partition_ok=metadata_partition(entity.topics) is not None)


def _write_describe(_message: DescribeQuorumRequest, kio: ModuleType) -> Any:
    return kio.DescribeQuorumRequest(topics=_topics(kio))


def _read_describe_response(entity: Any) -> DescribeQuorumResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return DescribeQuorumResponse(top_error=_top_error(entity))
    return DescribeQuorumResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=NodeId(partition.leader_id),
        epoch=Epoch(partition.leader_epoch),
        high_watermark=partition.high_watermark,
        voters=tuple(_replica(state) for state in partition.current_voters),
        observers=tuple(_replica(state) for state in partition.observers),
        nodes=tuple(
            (NodeId(node.node_id), endpoints(node, "listeners"))
            for node in getattr(entity, "nodes", ())
        ),
    )


def _replica(state: Any) -> ReplicaStatus:
    directory = some_uuid(getattr(state, "replica_directory_id", None))
    return ReplicaStatus(
        key=ReplicaKey(NodeId(state.replica_id), directory),
        log_end=state.log_end_offset,
        last_fetch_ms=getattr(state, "last_fetch_timestamp", -1),
        last_caught_up_ms=getattr(state, "last_caught_up_timestamp", -1),
    )


def _write_describe_response(message: DescribeQuorumResponse, kio: ModuleType) -> Any:
    topics: tuple[Any, ...] = ()
    if not message.top_error:
        topics = _topics(
            kio,
            error_code=kio_error(message.error),
            error_message=None,
            leader_id=message.leader,
            leader_epoch=message.epoch,
            high_watermark=message.high_watermark,
            current_voters=tuple(_replica_state(status, kio) for status in message.voters),
            observers=tuple(_replica_state(status, kio) for status in message.observers),
        )
    return build(
        kio.DescribeQuorumResponse,
        error_code=kio_error(message.top_error),
        error_message=None,
        topics=topics,
        nodes=_nodes(message, kio) if hasattr(kio, "Node") else (),
    )


def _replica_state(status: ReplicaStatus, kio: ModuleType) -> Any:
    return build(
        kio.ReplicaState,
        replica_id=status.key.id,
        replica_directory_id=status.key.directory,
        log_end_offset=status.log_end,
        last_fetch_timestamp=status.last_fetch_ms,
        last_caught_up_timestamp=status.last_caught_up_ms,
    )


def _nodes(message: DescribeQuorumResponse, kio: ModuleType) -> tuple[Any, ...]:
    return tuple(
        kio.Node(node_id=node, listeners=listeners(found, kio.Listener))
        for node, found in message.nodes
    )


VOTE = Api(
    key=52,
    name="Vote",
    package="vote",
    min_version=0,
    max_version=2,
    request=VoteRequest,
    read_request=_read_vote,
    write_request=_write_vote,
    read_response=_read_vote_response,
    write_response=_write_vote_response,
)
BEGIN_QUORUM_EPOCH = Api(
    key=53,
    name="BeginQuorumEpoch",
    package="begin_quorum_epoch",
    min_version=0,
    max_version=1,
    request=BeginQuorumEpochRequest,
    read_request=_read_begin,
    write_request=_write_begin,
    read_response=_read_epoch_response,
    write_response=_epoch_response_writer("BeginQuorumEpochResponse"),
)
END_QUORUM_EPOCH = Api(
    key=54,
    name="EndQuorumEpoch",
    package="end_quorum_epoch",
    min_version=0,
    max_version=1,
    request=EndQuorumEpochRequest,
    read_request=_read_end,
    write_request=_write_end,
    read_response=_read_epoch_response,
    write_response=_epoch_response_writer("EndQuorumEpochResponse"),
)
DESCRIBE_QUORUM = Api(
    key=55,
    name="DescribeQuorum",
    package="describe_quorum",
    min_version=0,
    max_version=2,
    request=DescribeQuorumRequest,
    read_request=_read_describe,
    write_request=_write_describe,
    read_response=_read_describe_response,
    write_response=_write_describe_response,
)
