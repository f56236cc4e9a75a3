"""V-COMMIT-ONLY: new voters are in force once their record is committed, not once it is written
(KIP-856, "Voter Changes")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft.known_quorum import KnownQuorum
from node.raft.voter_set import VoterSet


def once_committed(self: KnownQuorum) -> VoterSet:
    """A majority of the old set may commit and elect without the new set knowing it. The first
    voters of a log are exempt: nothing can be committed without them."""
    known = self.committed or Offset(0)
    sets, is_logged = self._log.voters.sets, self._log.voters.is_logged
    first = sets[0] if is_logged or len(sets) == 1 else sets[1]
    in_force = [since.voters for since in sets if since.offset < known]
    return in_force[-1] if known > first.offset and in_force else first.voters


PLANTED = Planted(owner=KnownQuorum, decision="voters", wrong=property(once_committed))
