"""V-LAG: any replica that ever fetched counts as caught up, and becomes a voter (KIP-856,
"AddVoter"; Apache Kafka accepts one that had caught up within the last hour)."""

from chaos.mutations.planted import Planted
from node.raft.roles import Leader
from node.raft.voter_changes import VoterChanges
from node.wire.raft_voters import AddVoterRequest


def has_fetched(self: VoterChanges, leader: Leader, request: AddVoterRequest) -> bool:
    """Until it has caught up, nothing can be committed that one of the others lacks."""
    del self
    return request.voter in leader.replicas


PLANTED = Planted(owner=VoterChanges, decision="is_caught_up", wrong=has_fetched)
