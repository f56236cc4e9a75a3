"""Q-DISRUPT: pre-vote is skipped; a voter that was cut off comes back with a higher epoch and
deposes a leader that all other voters hear (KIP-996)."""

from chaos.mutations.planted import Planted
from node.raft import deadlines
from node.raft.roles import Prospective
from node.raft.voter_set import VoterSet


def stand_at_once(_role: Prospective, _voters: VoterSet) -> bool:
    """Without asking whether any voter would vote for it."""
    return True


PLANTED = Planted(owner=deadlines, decision="may_stand", wrong=stand_at_once)
