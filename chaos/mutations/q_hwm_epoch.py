"""Q-HWM-EPOCH: off by one, the high watermark is published before LeaderChange is replicated
(KAFKA-12619; Raft, figure 8)."""

from chaos.mutations.planted import Planted
from node.ids import Offset
from node.raft import high_watermark


def commit_at_epoch_start(candidate: Offset, epoch_start: Offset) -> bool:
    """Records of older epochs are committed while another leader may still truncate them."""
    return candidate >= epoch_start


PLANTED = Planted(
    owner=high_watermark, decision="covers_leader_change", wrong=commit_at_epoch_start
)
