"""Q-HWM-DOWN: the high watermark is what the voters' log ends say now, be it lower than before
(KIP-856, "High Watermark")."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft import high_watermark


def as_computed(candidate: Offset, _known: Offset | None) -> Offset:
    """As others vote, a majority may lack what the majority before it had."""
    return candidate


PLANTED = Planted(owner=high_watermark, decision="never_lower", wrong=as_computed)
