"""Q-HWM-SELF: a leader counts its own log whether it is a voter or not (KAFKA-16530)."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft.replicas import Replicas
from node.raft.roles import Leader

_as_it_should = Replicas.voter_ends


def with_its_own(self: Replicas, leader: Leader) -> list[Offset]:
    """A removed leader commits what no majority of the remaining voters has."""
    ends = _as_it_should(self, leader)
    return ends if self._quorum.is_voter else [self._log.durable, *ends]


PLANTED = Planted(owner=Replicas, decision="voter_ends", wrong=with_its_own)
