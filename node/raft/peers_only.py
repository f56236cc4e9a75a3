"""What only peers may ask: who sends it takes part in elections, or vouches for what is durable.

It is served on the listener by which voters reach each other (the first of
`controller.listener.names`), and refused on all others, as Kafka refuses who lacks ClusterAction.
Who reaches that listener is trusted: there is no authentication. Observers' Fetches decide nothing,
and are served on all.
"""

from node.errors import ErrorCode
from node.raft.voter_set import VoterSet
from node.wire.apis import Response
from node.wire.describe_quorum import DescribeQuorumRequest
from node.wire.fetch import FetchRequest, FetchResponse
from node.wire.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
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
)
from node.wire.vote import VoteRequest, VoteResponse

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
    """The answer to whoever came in by another listener; None: they may ask this too."""
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
