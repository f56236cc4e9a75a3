"""V-TWO-PENDING: voters are changed while another change is not committed (KAFKA-20661)."""

from chaos.mutations.planted import Planted
from node.raft.voter_changes import VoterChanges


def none_is(self: VoterChanges) -> bool:
    """A majority of the newest set need not overlap one of the set before the last."""
    del self
    return False


PLANTED = Planted(owner=VoterChanges, decision="is_pending", wrong=none_is)
