"""DescribeQuorum, and AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter (KIP-853)."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import (
    NO_THROTTLE,
    endpoints,
    listeners,
    metadata_partition,
    metadata_topics,
    our_error,
    some_uuid,
    top_error,
)

# DescribeQuorum: the leader, and the progress of replicas as the leader sees it.


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


def _read_describe(entity: Any) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(partition_ok=metadata_partition(entity.topics) is not None)


def _write_describe(_message: DescribeQuorumRequest, kio: SimpleNamespace) -> Any:
    return kio.DescribeQuorumRequest(topics=metadata_topics(kio))


def _read_describe_response(entity: Any) -> DescribeQuorumResponse:
    partition = metadata_partition(entity.topics)
    if partition is None:
        return DescribeQuorumResponse(top_error=top_error(entity))
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


def _write_describe_response(message: DescribeQuorumResponse, kio: SimpleNamespace) -> Any:
    topics: tuple[Any, ...] = ()
    if not message.top_error:
        topics = metadata_topics(
            kio,
            error_code=message.error,
            error_message=None,
            leader_id=message.leader,
            leader_epoch=message.epoch,
            high_watermark=message.high_watermark,
            current_voters=tuple(_replica_state(status, kio) for status in message.voters),
            observers=tuple(_replica_state(status, kio) for status in message.observers),
        )
    return kio.DescribeQuorumResponse(
        error_code=message.top_error,
        error_message=None,
        topics=topics,
        nodes=_nodes(message, kio),
    )


def _replica_state(status: ReplicaStatus, kio: SimpleNamespace) -> Any:
    return kio.ReplicaState(
        replica_id=status.key.id,
        replica_directory_id=status.key.directory,
        log_end_offset=status.log_end,
        last_fetch_timestamp=status.last_fetch_ms,
        last_caught_up_timestamp=status.last_caught_up_ms,
    )


def _nodes(message: DescribeQuorumResponse, kio: SimpleNamespace) -> tuple[Any, ...]:
    return tuple(
        kio.Node(node_id=node, listeners=listeners(found, kio.Listener))
        for node, found in message.nodes
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


_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRequest:
    """`ack_when_committed=False`: answer once the leader has written it (version 1)."""

    cluster_id: str | None
    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    timeout_ms: int
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRequest:
    cluster_id: str | None
    voter: ReplicaKey


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeResponse:
    """Answers both AddRaftVoter and RemoveRaftVoter."""

    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterRequest:
    """A voter's listeners, and the kraft.versions that it supports."""

    cluster_id: str | None
    epoch: Epoch
    voter: ReplicaKey
    endpoints: tuple[Endpoint, ...]
    min_kraft_version: int = 0
    max_kraft_version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterResponse:
    error: ErrorCode = ErrorCode.NONE
    leader: NodeId = NO_NODE
    epoch: Epoch = Epoch(-1)
    leader_endpoint: Endpoint | None = None


def _key(entity: Any) -> ReplicaKey:
    return ReplicaKey(NodeId(entity.voter_id), some_uuid(entity.voter_directory_id))


def _read_add(entity: Any) -> AddVoterRequest:
    return AddVoterRequest(
        cluster_id=entity.cluster_id,
        voter=_key(entity),
        endpoints=endpoints(entity, "listeners"),
        timeout_ms=entity.timeout // _MILLISECOND,
        ack_when_committed=getattr(entity, "ack_when_committed", True),
    )


def _write_add(message: AddVoterRequest, kio: SimpleNamespace) -> Any:
    return kio.AddRaftVoterRequest(
        cluster_id=message.cluster_id,
        timeout=timedelta(milliseconds=message.timeout_ms),
        voter_id=message.voter.id,
        voter_directory_id=message.voter.directory,
        listeners=listeners(message.endpoints, kio.Listener),
        ack_when_committed=message.ack_when_committed,
    )


def _read_remove(entity: Any) -> RemoveVoterRequest:
    return RemoveVoterRequest(cluster_id=entity.cluster_id, voter=_key(entity))


def _write_remove(message: RemoveVoterRequest, kio: SimpleNamespace) -> Any:
    return kio.RemoveRaftVoterRequest(
        cluster_id=message.cluster_id,
        voter_id=message.voter.id,
        voter_directory_id=message.voter.directory,
    )


def _read_change_response(entity: Any) -> VoterChangeResponse:
    return VoterChangeResponse(error=our_error(entity.error_code), message=entity.error_message)


def _change_response_writer(name: str) -> Callable[[VoterChangeResponse, SimpleNamespace], Any]:
    def write(message: VoterChangeResponse, kio: SimpleNamespace) -> Any:
        return getattr(kio, name)(
            throttle_time=NO_THROTTLE, error_code=message.error, error_message=message.message
        )

    return write


def _read_update(entity: Any) -> UpdateVoterRequest:
    return UpdateVoterRequest(
        cluster_id=entity.cluster_id,
        epoch=Epoch(entity.current_leader_epoch),
        voter=_key(entity),
        endpoints=endpoints(entity, "listeners"),
        min_kraft_version=entity.k_raft_version_feature.min_supported_version,
        max_kraft_version=entity.k_raft_version_feature.max_supported_version,
    )


def _write_update(message: UpdateVoterRequest, kio: SimpleNamespace) -> Any:
    return kio.UpdateRaftVoterRequest(
        cluster_id=message.cluster_id,
        current_leader_epoch=message.epoch,
        voter_id=message.voter.id,
        voter_directory_id=message.voter.directory,
        listeners=listeners(message.endpoints, kio.Listener),
        k_raft_version_feature=kio.KRaftVersionFeature(
            min_supported_version=message.min_kraft_version,
            max_supported_version=message.max_kraft_version,
        ),
    )


def _read_update_response(entity: Any) -> UpdateVoterResponse:
    told = entity.current_leader
    at = Endpoint(name="", host=told.host, port=told.port) if told.host else None
    return UpdateVoterResponse(
        error=our_error(entity.error_code),
        leader=NodeId(told.leader_id),
        epoch=Epoch(told.leader_epoch),
        leader_endpoint=at,
    )


def _write_update_response(message: UpdateVoterResponse, kio: SimpleNamespace) -> Any:
    at = message.leader_endpoint
    return kio.UpdateRaftVoterResponse(
        throttle_time=NO_THROTTLE,
        error_code=message.error,
        current_leader=kio.CurrentLeader(
            leader_id=message.leader,
            leader_epoch=message.epoch,
            host="" if at is None else at.host,
            port=0 if at is None else at.port,
        ),
    )


ADD_RAFT_VOTER = Api(
    key=80,
    name="AddRaftVoter",
    package="add_raft_voter",
    min_version=0,
    max_version=1,
    request=AddVoterRequest,
    read_request=_read_add,
    write_request=_write_add,
    read_response=_read_change_response,
    write_response=_change_response_writer("AddRaftVoterResponse"),
)
REMOVE_RAFT_VOTER = Api(
    key=81,
    name="RemoveRaftVoter",
    package="remove_raft_voter",
    min_version=0,
    max_version=0,
    request=RemoveVoterRequest,
    read_request=_read_remove,
    write_request=_write_remove,
    read_response=_read_change_response,
    write_response=_change_response_writer("RemoveRaftVoterResponse"),
)
UPDATE_RAFT_VOTER = Api(
    key=82,
    name="UpdateRaftVoter",
    package="update_raft_voter",
    min_version=0,
    max_version=0,
    request=UpdateVoterRequest,
    read_request=_read_update,
    write_request=_write_update,
    read_response=_read_update_response,
    write_response=_write_update_response,
)
