"""Vote, BeginQuorumEpoch and EndQuorumEpoch (KIP-595), with pre-vote (KIP-996).

In these and the other requests of the quorum, errors that concern the whole request (wrong cluster,
wrong partition) are at the top, with no topics; all others are at the partition.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import (
    endpoints,
    leader_endpoint,
    listeners,
    metadata_partition,
    metadata_topics,
    node_endpoints,
    our_error,
    some_uuid,
    top_error,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    """KIP-595 Vote, KIP-996 pre-vote. `voter` is the node that the sender means to address."""

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


def _write_vote(message: VoteRequest, kio: SimpleNamespace) -> Any:
    topics = metadata_topics(
        kio,
        replica_epoch=message.epoch,
        replica_id=message.candidate.id,
        replica_directory_id=message.candidate.directory,
        voter_directory_id=message.voter_directory,
        last_offset_epoch=message.last_epoch,
        last_offset=message.last_offset,
        pre_vote=message.pre_vote,
    )
    return kio.VoteRequest(cluster_id=message.cluster_id, voter_id=message.voter, topics=topics)


def _read_vote_response(entity: Any) -> VoteResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return VoteResponse(top_error=top_error(entity))
    return VoteResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=NodeId(partition.leader_id),
        epoch=Epoch(partition.leader_epoch),
        granted=partition.vote_granted,
        leader_endpoint=leader_endpoint(entity, NodeId(partition.leader_id)),
    )


def _write_vote_response(message: VoteResponse, kio: SimpleNamespace) -> Any:
    if message.top_error:
        return kio.VoteResponse(error_code=message.top_error, topics=())
    topics = metadata_topics(
        kio,
        error_code=message.error,
        leader_id=message.leader,
        leader_epoch=message.epoch,
        vote_granted=message.granted,
    )
    return kio.VoteResponse(
        error_code=ErrorCode.NONE,
        topics=topics,
        node_endpoints=node_endpoints(message.leader, message.leader_endpoint, kio),
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


# BeginQuorumEpoch and EndQuorumEpoch (KIP-595): a leader announces that it leads, or resigns.


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


def _write_begin(message: BeginQuorumEpochRequest, kio: SimpleNamespace) -> Any:
    topics = metadata_topics(
        kio,
        voter_directory_id=message.voter_directory,
        leader_id=message.leader,
        leader_epoch=message.epoch,
    )
    return kio.BeginQuorumEpochRequest(
        cluster_id=message.cluster_id,
        voter_id=message.voter,
        topics=topics,
        leader_endpoints=listeners(message.leader_endpoints, kio.LeaderEndpoint),
    )


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


def _write_end(message: EndQuorumEpochRequest, kio: SimpleNamespace) -> Any:
    topics = metadata_topics(
        kio,
        leader_id=message.leader,
        leader_epoch=message.epoch,
        preferred_candidates=tuple(
            kio.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory)
            for key in message.preferred
        ),
        preferred_successors=tuple(key.id for key in message.preferred),
    )
    return kio.EndQuorumEpochRequest(
        cluster_id=message.cluster_id,
        topics=topics,
        leader_endpoints=listeners(message.leader_endpoints, kio.LeaderEndpoint),
    )


def _read_epoch_response(entity: Any) -> QuorumEpochResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return QuorumEpochResponse(top_error=top_error(entity))
    return QuorumEpochResponse(
        top_error=our_error(entity.error_code),
        error=our_error(partition.error_code),
        leader=NodeId(partition.leader_id),
        epoch=Epoch(partition.leader_epoch),
        leader_endpoint=leader_endpoint(entity, NodeId(partition.leader_id)),
    )


def _epoch_response_writer(name: str) -> Callable[[QuorumEpochResponse, SimpleNamespace], Any]:
    def write(message: QuorumEpochResponse, kio: SimpleNamespace) -> Any:
        response = getattr(kio, name)
        if message.top_error:
            return response(error_code=message.top_error, topics=())
        topics = metadata_topics(
            kio,
            error_code=message.error,
            leader_id=message.leader,
            leader_epoch=message.epoch,
        )
        return response(
            error_code=ErrorCode.NONE,
            topics=topics,
            node_endpoints=node_endpoints(message.leader, message.leader_endpoint, kio),
        )

    return write


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
