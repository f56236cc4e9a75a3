"""Counting the votes of one election or pre-election (`EpochElection`)."""

from dataclasses import replace

from node.ids import ReplicaKey
from node.lazy_dataclass import dataclass
from node.raft.voter_set import VoterSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """Who has answered, and how. One answer counts a voter."""

    granted: frozenset[ReplicaKey] = frozenset()
    rejected: frozenset[ReplicaKey] = frozenset()

    def with_vote(self, voter: ReplicaKey, *, granted: bool) -> "Ballot":
        if voter in self.granted or voter in self.rejected:
            return self
        if granted:
            return replace(self, granted=self.granted | {voter})
        return replace(self, rejected=self.rejected | {voter})

    def unanswered(self, voters: VoterSet) -> list[ReplicaKey]:
        return [key for key in voters.keys if key not in self.granted | self.rejected]


def is_won(ballot: Ballot, voters: VoterSet) -> bool:
    return _count(ballot.granted, voters) >= voters.majority


def is_lost(ballot: Ballot, voters: VoterSet) -> bool:
    """No majority is possible any more."""
    return len(voters) - _count(ballot.rejected, voters) < voters.majority


def _count(responded: frozenset[ReplicaKey], voters: VoterSet) -> int:
    return sum(key in voters for key in responded)
