"""V-BAD-ENDPOINT: an added voter is recorded with a wrong address (KAFKA-20661)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.endpoint import Endpoint
from node.ids import NodeId
from node.raft.addresses import Addresses
from node.raft.own_address import OwnAddress
from node.raft.roles import Role
from node.raft.voter_forms import KRaftVersions, VoterChange
from node.raft.voter_set import VoterSet
from node.raft.whole_sets import WholeSets
from node.records.control import ControlRecord, Voter
from node.wire.raft_voters import AddVoterRequest

_PORT = 1  # where nothing listens
_as_it_should = WholeSets.change_record
_as_told = Addresses.of


def elsewhere(
    self: WholeSets, change: VoterChange, voters: VoterSet, supported: KRaftVersions
) -> ControlRecord:
    """It fetches from a known leader. Once that is gone, no node can ask it for its vote."""
    if isinstance(change, AddVoterRequest):
        moved = tuple(replace(at, port=_PORT) for at in change.endpoints)
        change = replace(change, endpoints=moved)
    return _as_it_should(self, change, voters, supported)


def believes_so(_self: OwnAddress, _voters: VoterSet) -> Voter | None:
    """It advertises that address itself, and so has no update for its leader."""
    return None


def by_the_set(self: Addresses, node: NodeId, role: Role) -> Endpoint | None:
    """A leader has the same wrong address."""
    return self.by_set(node) or _as_told(self, node, role)


PLANTED = Planted(
    owner=WholeSets,
    decision="change_record",
    wrong=elsewhere,
    other=Planted(
        owner=OwnAddress,
        decision="_moved",
        wrong=believes_so,
        other=Planted(owner=Addresses, decision="of", wrong=by_the_set),
    ),
)
