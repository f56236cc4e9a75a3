"""Q-CRASH-REMOVED: the active controller dies when its own removal is committed (KAFKA-17608)."""

from chaos.mutations.planted import Planted
from node.raft.roles import Leader
from node.raft.voter_changes import VoterChanges

_as_it_should = VoterChanges.is_removed


def not_expected(self: VoterChanges, leader: Leader) -> bool:
    """The client that asked for it never gets an answer."""
    is_removed = _as_it_should(self, leader)
    assert not is_removed, "a leader is a voter"
    return is_removed


PLANTED = Planted(owner=VoterChanges, decision="is_removed", wrong=not_expected)
