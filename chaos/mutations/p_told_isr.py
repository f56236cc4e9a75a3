"""P-TOLD-ISR: the ISR in the controller's answer is used at once, with the min ISR that the leader
knew until then; the ELR was decided by another min ISR (KIP-966)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.broker.isr import Isr, Proposal
from node.broker.replica import Leading, Replica
from node.wire.alter_partition import PartitionResult


def as_it_comes(
    self: Replica, leading: Leading, _proposal: Proposal, result: PartitionResult
) -> None:
    assert self.state is not None
    leading.isr = Isr(committed=result.isr)
    self.state = replace(self.state, isr=result.isr, partition_epoch=result.partition_epoch)


PLANTED = Planted(owner=Replica, decision="_granted", wrong=as_it_comes)
