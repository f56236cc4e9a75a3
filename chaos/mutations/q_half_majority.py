"""Q-HALF-MAJORITY: half of the voters, rounded down, count as a majority; two of five elect a
leader and commit, while the other three do the same (Raft thesis 3.4: any two majorities
overlap)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft import high_watermark, voter_set


def half_of(size: int) -> int:
    """As if any two halves had a voter in common. A single voter still needs itself."""
    return max(1, size // 2)


def replicated_to_half(ends: Sequence[Offset]) -> Offset:
    """Records on so many voters are committed."""
    return sorted(ends, reverse=True)[half_of(len(ends)) - 1]


PLANTED = Planted(
    owner=voter_set,
    decision="majority_of",
    wrong=half_of,
    other=Planted(
        owner=high_watermark, decision="replicated_to_majority", wrong=replicated_to_half
    ),
)
