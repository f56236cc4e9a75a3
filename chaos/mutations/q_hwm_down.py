"""Q-HWM-DOWN: the high watermark follows the voters' current log ends, even if they are lower than
before (KIP-856, "High Watermark")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft import high_watermark


def as_computed(candidate: Offset, _known: Offset | None) -> Offset:
    """After a change of voters a majority may lack what the majority before it had."""
    return candidate


PLANTED = Planted(owner=high_watermark, decision="never_lower", wrong=as_computed)
