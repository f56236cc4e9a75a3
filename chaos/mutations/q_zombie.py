"""Q-ZOMBIE: no check-quorum; a leader that is cut off from the others leads on (KAFKA-15489)."""

from chaos.mutations.planted import Planted
from node.raft.raft import Raft
from node.raft.roles import Leader


def never_lose_the_quorum(_self: Raft, _role: Leader, _mono_ns: int) -> bool:
    """However long nobody fetches from it."""
    return False


PLANTED = Planted(owner=Raft, decision="has_lost_quorum", wrong=never_lose_the_quorum)
