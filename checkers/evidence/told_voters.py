"""Sets of voters in the nodes' traces (q.voters)."""

from dataclasses import dataclass

from checkers.evidence.lives import NodeEvent
from checkers.evidence.voter_history import ReplicaKey, VoterSet


@dataclass(frozen=True, slots=True)
class ToldVoters:
    """The voters from an offset of a node's log on, by a line of its trace."""

    line: NodeEvent
    voters: VoterSet

    @classmethod
    def of(cls, line: NodeEvent) -> "ToldVoters":
        rows = line.more.get("voters")
        assert isinstance(rows, list), line
        return cls(line, VoterSet(frozenset(ReplicaKey(row["id"], row["dir"]) for row in rows)))

    @property
    def offset(self) -> int:
        return self.line.offset

    @property
    def in_words(self) -> str:
        return ", ".join(f"node {key.node}" for key in sorted(self.voters.keys))
