"""V-NO-UNDO: voters stay as a record said that is truncated (KIP-856, "Internal Listener")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft.voter_history import VoterHistory


def keep_all(self: VoterHistory, end: Offset) -> VoterHistory:
    """Who counts by a set that no log has may elect beside those who count by the one before."""
    del end
    return self


PLANTED = Planted(owner=VoterHistory, decision="truncated", wrong=keep_all)
