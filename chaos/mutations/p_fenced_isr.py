"""P-FENCED-ISR: whoever a leader proposes is in the ISR, also who is fenced (KAFKA-13916)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.controller import isr_proposals
from node.controller.image import Image
from node.wire.alter_partition import IsrMember


def anybody_registered(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.find(member.broker) is not None for member in isr)


PLANTED = Planted(owner=isr_proposals, decision="_are_eligible", wrong=anybody_registered)
