"""Q-PREVOTE-GREEDY: a follower that hears its leader grants pre-votes all the same; a voter that
comes back from a bad link, or has one to the leader only, deposes a healthy leader (KIP-996).

The candidate's log is ignored: an active controller writes twice a second, so a voter that was cut
off is behind, and would be refused for that alone.
"""

from chaos.mutations.planted import Planted
from node.raft import votes
from node.raft.roles import Follower, Role

_as_it_should = votes.grants_pre_vote


def grant_to_anybody(role: Role, *, up_to_date: bool) -> bool:
    """A follower grants any pre-vote."""
    return isinstance(role, Follower) or _as_it_should(role, up_to_date=up_to_date)


PLANTED = Planted(owner=votes, decision="grants_pre_vote", wrong=grant_to_anybody)
