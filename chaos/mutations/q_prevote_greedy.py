"""Q-PREVOTE-GREEDY: a follower that hears its leader grants pre-votes all the same; who comes back
from a bad link, or has one to the leader only, deposes a leader that is well (KIP-996).

Whatever the candidate's log: an active controller writes twice a second, so who was cut off is
behind, and would be refused for that alone.
"""

from chaos.mutations.planted import Planted
from node.raft import votes
from node.raft.roles import Follower, Role

_as_it_should = votes.grants_pre_vote


def grant_to_anybody(role: Role, *, up_to_date: bool) -> bool:
    """A follower has nothing against an election."""
    return isinstance(role, Follower) or _as_it_should(role, up_to_date=up_to_date)


PLANTED = Planted(owner=votes, decision="grants_pre_vote", wrong=grant_to_anybody)
