"""V-REFORMAT: a voter is identified by its id alone, and a new disk has the lost one's vote
(KIP-856, motivation).
"""

from chaos.mutations.planted import Planted
from node.ids import ReplicaKey
from node.raft.voter_set import VoterSet


def by_id(self: VoterSet, key: object) -> bool:
    """Two wiped disks elect a leader that lacks acknowledged records."""
    assert isinstance(key, ReplicaKey), key
    return key.id in self.by_id


PLANTED = Planted(owner=VoterSet, decision="__contains__", wrong=by_id)
