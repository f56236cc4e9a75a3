"""V-REFORMAT: a voter is known by its id alone, and a new disk votes as the lost one (KIP-856,
motivation).
"""

from chaos.mutations.planted import Planted
from node.ids import ReplicaKey
from node.raft.voter_set import VoterSet


def by_id(self: VoterSet, key: object) -> bool:
    """Two disks that were wiped elect a leader that lacks what all had acknowledged."""
    assert isinstance(key, ReplicaKey), key
    return key.id in self.by_id


PLANTED = Planted(owner=VoterSet, decision="__contains__", wrong=by_id)
