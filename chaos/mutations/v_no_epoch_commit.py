"""V-NO-EPOCH-COMMIT: a change of the voters is accepted before anything of the epoch is committed
(KIP-856, Raft's bug of single-server changes).
"""

from chaos.mutations.planted import Planted
from node.raft.roles import Leader
from node.raft.voter_changes import VoterChanges


def not_asked_for(self: VoterChanges, leader: Leader) -> bool:
    """Two leaders may each append a change that the other does not know; majorities of the two sets
    need not overlap."""
    del self, leader
    return True


PLANTED = Planted(owner=VoterChanges, decision="has_committed_epoch", wrong=not_asked_for)
