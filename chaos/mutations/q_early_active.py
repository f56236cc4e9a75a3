"""Q-EARLY-ACTIVE: the controller becomes active before it has replayed the log to its end
(KAFKA-17333)."""

from chaos.mutations.planted import Planted
from node.raft.client import RaftClient
from node.raft.roles import Leader


def whatever_is_missing(_self: RaftClient, _leader: Leader) -> bool:
    """It decides from an image that lacks records of its log."""
    return True


PLANTED = Planted(owner=RaftClient, decision="has_all_committed", wrong=whatever_is_missing)
