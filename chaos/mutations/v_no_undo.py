"""V-NO-UNDO: the voters of a truncated record stay in force (KIP-856, "Internal Listener")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft.voter_history import VoterHistory


def keep_all(self: VoterHistory, end: Offset) -> VoterHistory:
    """Nodes that count by a set in no log may elect beside those that count by the one before."""
    del end
    return self


PLANTED = Planted(owner=VoterHistory, decision="truncated", wrong=keep_all)
