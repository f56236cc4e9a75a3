"""P-ISR-HASTY: a leader takes the ISR that it proposes for committed (KIP-497, Motivation)."""

from chaos.mutations.planted import Planted
from node.broker.isr import Isr, Proposal


def as_good_as_committed(self: Isr, proposal: Proposal) -> Isr:
    del self
    return Isr(committed=proposal.brokers, pending=proposal)


PLANTED = Planted(owner=Isr, decision="proposing", wrong=as_good_as_committed)
