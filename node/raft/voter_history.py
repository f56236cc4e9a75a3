"""Who votes, and from which offset of the log on: the log owns it, and nobody keeps a copy."""

from dataclasses import dataclass

from node.ids import Offset
from node.raft.voter_set import VoterSet


@dataclass(frozen=True, slots=True)
class VoterHistory:
    """The voter sets in the order of the offsets from which on they are in force.

    What a node does now goes by the newest one, committed or not (KIP-853, KIP-856). There is only
    the one that the disk was formatted with: no record that changes it is served.
    """

    sets: tuple[tuple[Offset, VoterSet], ...]  # the first one from offset 0
    newest: VoterSet

    @classmethod
    def of(cls, *sets: tuple[Offset, VoterSet]) -> "VoterHistory":
        return cls(sets, sets[-1][1])

    def at(self, offset: Offset) -> VoterSet:
        """The one in force for a record at `offset`."""
        return next(voters for since, voters in reversed(self.sets) if since <= offset)
