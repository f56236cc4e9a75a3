"""P-FENCED-ISR: all caught-up replicas that a leader proposes become the ISR, also fenced ones
(KAFKA-13916; KIP-841, Motivation)."""

from collections.abc import Sequence

from chaos.mutations.planted import Planted
from node.broker.broker import Broker
from node.controller import isr_proposals
from node.controller.image import Image
from node.wire.alter_partition import IsrMember


def anybody_registered(image: Image, isr: Sequence[IsrMember]) -> bool:
    return all(image.brokers.find(member.broker) is not None for member in isr)


def may_join(self: Broker, broker: int, epoch: int) -> bool:
    found = self.follower.image.brokers.find(broker)
    return found is not None and epoch in (-1, found.broker_epoch)


PLANTED = Planted(
    owner=isr_proposals,
    decision="_are_eligible",
    wrong=anybody_registered,
    other=Planted(owner=Broker, decision="may_join", wrong=may_join),
)
