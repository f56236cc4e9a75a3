"""DescribeQuorum: who leads, and how far the replicas are as the leader sees it."""

from types import SimpleNamespace
from typing import Any

from node.endpoint import Endpoint
from node.errors import ErrorCode
from node.ids import NO_NODE, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.entities import (
    endpoints,
    listeners,
    metadata_partition,
    metadata_topics,
    our_error,
    some_uuid,
    top_error,
)


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
