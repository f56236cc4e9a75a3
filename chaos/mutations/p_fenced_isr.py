"""P-FENCED-ISR: whoever has caught up is proposed, and whoever a leader proposes is in the ISR,
fenced or not (KAFKA-13916)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.broker.image_follower import ImageFollower
from node.controller import isr_proposals
from node.controller.image import Image
from node.wire.alter_partition import IsrMember


def anybody_registered(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.find(member.broker) is not None for member in isr)


def whoever_is_registered(self: ImageFollower, broker: int, _epoch: int) -> bool:
    return self.image.brokers.find(broker) is not None


PLANTED = Planted(
    owner=isr_proposals,
    decision="_are_eligible",
    wrong=anybody_registered,
    other=Planted(owner=ImageFollower, decision="may_join", wrong=whoever_is_registered),
)
