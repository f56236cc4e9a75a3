"""V-LAG: whoever ever fetched is taken for caught up, and made a voter (KIP-856, "AddVoter"; Apache
Kafka takes who had caught up within the last hour)."""

from chaos.mutations.planted import Planted
from node.raft.roles import Leader
from node.raft.voter_changes import VoterChanges
from node.wire.raft_voters import AddVoterRequest


def has_fetched(self: VoterChanges, leader: Leader, request: AddVoterRequest) -> bool:
    """Until it has caught up, nothing may be committed that one of the others does not have."""
    del self
    return request.voter in leader.replicas


PLANTED = Planted(owner=VoterChanges, decision="is_caught_up", wrong=has_fetched)
