"""P-ISR-SHORT: a replica is proposed for the ISR with its first Fetch, whatever it lacks."""

from chaos.mutations.planted import Planted
from node.broker.isr import Proposal
from node.broker.replica import Leading, Replica
from node.ids import NodeId


def whatever_it_has(self: Replica, leading: Leading, broker: NodeId) -> Proposal | None:
    epoch = leading.followers[broker].broker_epoch
    is_in = broker in leading.isr.maximal
    if is_in or leading.isr.pending is not None or not self._may_join(broker, epoch):
        return None
    return self._propose(leading, (*leading.isr.committed, broker))


PLANTED = Planted(owner=Replica, decision="_expansion", wrong=whatever_it_has)
