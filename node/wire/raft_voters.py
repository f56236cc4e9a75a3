"""DescribeQuorum, and AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter (KIP-853)."""

from types import SimpleNamespace
from typing import Annotated, Any

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Functions, Kio, Message, Parts, Tagged

# DescribeQuorum: the leader, and the progress of replicas as the leader sees it.


_Nodes = tuple[tuple[NodeId, tuple[Endpoint, ...]], ...]


def _read_nodes(entity: Any, _partition: Any) -> _Nodes:
    return tuple(
        (
            NodeId(node.node_id),
            tuple(Endpoint(name=at.name, host=at.host, port=at.port) for at in node.listeners),
        )
        for node in getattr(entity, "nodes", ())
    )


def _write_nodes(nodes: _Nodes) -> dict[str, Any]:
    return {"nodes": tuple(SimpleNamespace(node_id=node, listeners=at) for node, at in nodes)}


def _read_address(entity: Any) -> Endpoint | None:
    told = entity.current_leader
    return Endpoint(name="", host=told.host, port=told.port) if told.host else None


def _write_address(message: "UpdateVoterResponse", _version: int) -> dict[str, Any]:
    at = message.leader_endpoint
    return {
        "current_leader": Tagged(
            leader_id=message.leader,
            leader_epoch=message.epoch,
            host="" if at is None else at.host,
            port=0 if at is None else at.port,
        )
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumRequest:
    partition_ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """One replica as the leader sees it. Timestamps in wall-clock ms, -1 when unknown."""

    key: Annotated[ReplicaKey, Parts(id="replica_id", directory="replica_directory_id")]
    log_end: Annotated[int, "log_end_offset"]
    last_fetch_ms: Annotated[int, Kio("last_fetch_timestamp", absent=-1)]
    last_caught_up_ms: Annotated[int, Kio("last_caught_up_timestamp", absent=-1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuorumResponse:
    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "leader_epoch"] = Epoch(0)
    high_watermark: int = -1
    voters: Annotated[tuple[ReplicaStatus, ...], "current_voters"] = ()
    observers: tuple[ReplicaStatus, ...] = ()
    nodes: Annotated[_Nodes, Functions(_read_nodes, value=_write_nodes)] = ()


DESCRIBE_QUORUM = Api(
    55, "DescribeQuorum", 0, 2, DescribeQuorumRequest, DescribeQuorumResponse, of_quorum=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddVoterRequest:
    """`ack_when_committed=False`: answer once the leader has written it (version 1)."""

    cluster_id: str | None
    voter: Annotated[ReplicaKey, Parts(id="voter_id", directory="voter_directory_id")]
    endpoints: Annotated[tuple[Endpoint, ...], "listeners"]
    timeout_ms: Annotated[int, "timeout"]
    ack_when_committed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveVoterRequest:
    cluster_id: str | None
    voter: Annotated[ReplicaKey, Parts(id="voter_id", directory="voter_directory_id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoterChangeResponse:
    """Answers both AddRaftVoter and RemoveRaftVoter."""

    error: Error = ErrorCode.NONE
    message: Message = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterRequest:
    """A voter's listeners, and the kraft.versions that it supports."""

    cluster_id: str | None
    epoch: Annotated[Epoch, "current_leader_epoch"]
    voter: Annotated[ReplicaKey, Parts(id="voter_id", directory="voter_directory_id")]
    endpoints: Annotated[tuple[Endpoint, ...], "listeners"]
    min_kraft_version: Annotated[int, "k_raft_version_feature.min_supported_version"] = 0
    max_kraft_version: Annotated[int, "k_raft_version_feature.max_supported_version"] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateVoterResponse:
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "current_leader.leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "current_leader.leader_epoch"] = Epoch(-1)
    leader_endpoint: Annotated[Endpoint | None, Functions(_read_address, _write_address)] = None


ADD_RAFT_VOTER = Api(80, "AddRaftVoter", 0, 1, AddVoterRequest, VoterChangeResponse)
REMOVE_RAFT_VOTER = Api(81, "RemoveRaftVoter", 0, 0, RemoveVoterRequest, VoterChangeResponse)
UPDATE_RAFT_VOTER = Api(82, "UpdateRaftVoter", 0, 0, UpdateVoterRequest, UpdateVoterResponse)
