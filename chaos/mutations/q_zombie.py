"""Q-ZOMBIE: no check-quorum; a leader that is cut off from the others never resigns
(KAFKA-15489)."""

from chaos.mutations.planted import Planted
from node.raft import deadlines
from node.raft.roles import Leader
from node.raft.voter_set import VoterSet


def never_lose_the_quorum(_role: Leader, _voters: VoterSet, _elapsed_ns: int) -> bool:
    """However long no voter fetches from it."""
    return False


PLANTED = Planted(owner=deadlines, decision="has_lost_quorum", wrong=never_lose_the_quorum)
