"""V-BAD-ENDPOINT: who becomes a voter is said to be where it is not (KAFKA-20661)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.raft.voter_forms import VoterChange, WholeSets
from node.raft.voter_set import VoterSet
from node.records.control import ControlRecord
from node.wire.raft_voters import AddVoterRequest

_PORT = 1  # where nobody listens
_as_it_should = WholeSets.change_record


def elsewhere(self: WholeSets, change: VoterChange, voters: VoterSet) -> ControlRecord:
    """It fetches from a leader that it knows. Once that is gone, nobody can ask it for its vote."""
    if isinstance(change, AddVoterRequest):
        moved = tuple(replace(at, port=_PORT) for at in change.endpoints)
        change = replace(change, endpoints=moved)
    return _as_it_should(self, change, voters)


PLANTED = Planted(owner=WholeSets, decision="change_record", wrong=elsewhere)
