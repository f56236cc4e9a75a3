"""Q-DISRUPT: pre-vote is skipped; a voter that was cut off comes back with a higher epoch and
deposes a leader that everybody else hears (KIP-996)."""

from chaos.mutations.planted import Planted
from node.raft.roles import Prospective
from node.raft.vote import Votes


def stand_at_once(_self: Votes, _role: Prospective) -> bool:
    """Without asking whether anybody would vote for it."""
    return True


PLANTED = Planted(owner=Votes, decision="may_stand", wrong=stand_at_once)
