"""Shared rules: which requests are restricted to peers; epoch and leader in every response."""

from typing import Protocol

from node.errors import ErrorCode
from node.ids import NO_NODE, Endpoint, Epoch, NodeId
from node.raft.quorum import Quorum
from node.raft.roles import Follower, reachable
from node.raft.voter_set import VoterSet
from node.wire.apis import Response
from node.wire.fetch import FetchRequest, FetchResponse, FetchSnapshotRequest, FetchSnapshotResponse
from node.wire.raft_voters import (
    AddVoterRequest,
    DescribeQuorumRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    UpdateVoterResponse,
)
from node.wire.vote import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

# Requests restricted to peers: the sender takes part in elections, or vouches for what is durable.
#
# They are served on the listener by which voters reach each other (the first of
# `controller.listener.names`) and refused on all others, as Kafka refuses a client without
# ClusterAction. Any client of that listener is trusted: there is no authentication. Observers'
# Fetches decide nothing, and are served on all listeners.


_REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def refuse_to_others(
    request: VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | FetchRequest
    | FetchSnapshotRequest
    | DescribeQuorumRequest
    | AddVoterRequest
    | RemoveVoterRequest
    | UpdateVoterRequest,
    voters: VoterSet,
) -> Response | None:
    """The refusal of a request that came in by another listener; None: it is allowed there too."""
    match request:
        case VoteRequest():
            return VoteResponse(top_error=_REFUSED)
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            return QuorumEpochResponse(top_error=_REFUSED)
        case UpdateVoterRequest():
            return UpdateVoterResponse(error=_REFUSED)
        case FetchRequest(replica=replica) if voters.may_include(replica):
            return FetchResponse(top_error=_REFUSED)
        case FetchSnapshotRequest(replica=replica) if voters.may_include(replica):
            return FetchSnapshotResponse(top_error=_REFUSED)
        case _:
            return None


_LEADERSHIP_MOVED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)


class QuorumResponse(Protocol):
    """The fields that all responses of the quorum share."""

    @property
    def error(self) -> ErrorCode: ...

    @property
    def leader(self) -> NodeId: ...

    @property
    def epoch(self) -> Epoch: ...

    @property
    def leader_endpoint(self) -> Endpoint | None: ...


def top_refusal(
    request_cluster: str | None, *, partition_ok: bool, cluster_id: str
) -> ErrorCode | None:
    """The error that refuses a whole quorum request. Without a cluster id it is taken for ours."""
    if request_cluster is not None and request_cluster != cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    return None if partition_ok else ErrorCode.INVALID_REQUEST


def is_plausible(node: NodeId, epoch: Epoch, own: Epoch) -> bool:
    """May a request name this epoch and leader to a node of epoch `own`?"""
    return node >= 0 and 0 <= epoch <= reachable(own)


def heed(quorum: Quorum, told: QuorumResponse, mono_ns: int) -> bool:
    """Apply the epoch and leader that every response carries (`maybeHandleCommonResponse`).

    True: the response is of our epoch, and its own handler should process it. An older one is
    dropped silently; a newer one changes our epoch, and answers a request that is obsolete. To an
    epoch too far ahead we go by steps, for the others may have got there while we were away.
    """
    error, leader, epoch = told.error, told.leader, told.epoch
    role = quorum.role
    is_known = isinstance(role, Follower) and (leader, epoch) == (role.leader, role.epoch)
    if is_known and error == ErrorCode.NONE:
        return True
    if epoch < quorum.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return False
    if epoch > (step := reachable(quorum.epoch)):
        quorum.learn(step, NO_NODE, mono_ns)
        return False
    if quorum.contradicts(epoch, leader):
        return False
    if epoch > quorum.epoch or error in _LEADERSHIP_MOVED:
        quorum.learn(epoch, leader, mono_ns, told.leader_endpoint)
        return False
    if leader != NO_NODE:
        quorum.learn(epoch, leader, mono_ns, told.leader_endpoint)
    return True
