"""Vote, BeginQuorumEpoch and EndQuorumEpoch (KIP-595), with pre-vote (KIP-996).

In these and the other requests of the quorum, errors that concern the whole request (wrong cluster,
wrong partition) are at the top, with no topics; all others are at the partition.
"""

from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId, ReplicaKey
from node.lazy_dataclass import dataclass
from node.wire.api import Api
from node.wire.declared import Error, Functions, Kio, Parts, some_uuid
from node.wire.entities import LeaderEndpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRequest:
    """KIP-595 Vote, KIP-996 pre-vote. `voter` is the node that the sender means to address."""

    cluster_id: str | None
    partition_ok: bool = True
    voter: Annotated[NodeId, Kio("voter_id", absent=NO_NODE)]
    voter_directory: Annotated[UUID | None, Kio("voter_directory_id", absent=None)]
    epoch: Annotated[Epoch, Kio("replica_epoch", absent=0)]
    candidate: Annotated[
        ReplicaKey, Parts(id=Kio("replica_id", absent=NO_NODE), directory="replica_directory_id")
    ]
    last_epoch: Annotated[int, Kio("last_offset_epoch", absent=0)]
    last_offset: Annotated[int, Kio("last_offset", absent=0)]
    pre_vote: Annotated[bool, Kio("pre_vote", absent=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteResponse:
    """`top_error` is for what concerns the whole request (104, 42), `error` for the partition."""

    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "leader_epoch"] = Epoch(0)
    granted: Annotated[bool, "vote_granted"] = False
    leader_endpoint: LeaderEndpoint = None


VOTE = Api(52, "Vote", 0, 2, VoteRequest, VoteResponse, of_quorum=True)


# BeginQuorumEpoch and EndQuorumEpoch (KIP-595): a leader announces that it leads, or resigns.


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginQuorumEpochRequest:
    cluster_id: str | None
    partition_ok: bool = True
    voter: Annotated[NodeId, Kio("voter_id", absent=NO_NODE)]
    voter_directory: Annotated[UUID | None, Kio("voter_directory_id", absent=None)]
    leader: Annotated[NodeId, Kio("leader_id", absent=NO_NODE)]
    epoch: Annotated[Epoch, Kio("leader_epoch", absent=0)]
    leader_endpoints: tuple[Endpoint, ...] = ()


def _read_preferred(_entity: Any, partition: Any) -> tuple[ReplicaKey, ...]:
    """Version 0 names the preferred successors by id only."""
    if hasattr(partition, "preferred_candidates"):
        return tuple(
            ReplicaKey(NodeId(each.candidate_id), some_uuid(each.candidate_directory_id))
            for each in partition.preferred_candidates
        )
    return tuple(
        ReplicaKey(NodeId(each)) for each in getattr(partition, "preferred_successors", ())
    )


def _write_preferred(preferred: tuple[ReplicaKey, ...]) -> dict[str, Any]:
    told = (
        SimpleNamespace(candidate_id=key.id, candidate_directory_id=key.directory)
        for key in preferred
    )
    return {
        "preferred_candidates": tuple(told),
        "preferred_successors": tuple(key.id for key in preferred),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuorumEpochRequest:
    """`preferred` is sorted by fetch offset, highest first; empty from a restarted ex-leader."""

    cluster_id: str | None
    partition_ok: bool = True
    leader: Annotated[NodeId, Kio("leader_id", absent=NO_NODE)]
    epoch: Annotated[Epoch, Kio("leader_epoch", absent=0)]
    preferred: Annotated[
        tuple[ReplicaKey, ...], Functions(_read_preferred, value=_write_preferred)
    ] = ()
    leader_endpoints: tuple[Endpoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumEpochResponse:
    """Answers both BeginQuorumEpoch and EndQuorumEpoch."""

    top_error: Annotated[ErrorCode, "/error_code"] = ErrorCode.NONE
    error: Error = ErrorCode.NONE
    leader: Annotated[NodeId, "leader_id"] = NO_NODE
    epoch: Annotated[Epoch, "leader_epoch"] = Epoch(0)
    leader_endpoint: LeaderEndpoint = None


BEGIN_QUORUM_EPOCH = Api(
    53, "BeginQuorumEpoch", 0, 1, BeginQuorumEpochRequest, QuorumEpochResponse, of_quorum=True
)
END_QUORUM_EPOCH = Api(
    54, "EndQuorumEpoch", 0, 1, EndQuorumEpochRequest, QuorumEpochResponse, of_quorum=True
)
