"""P-SHUT-HWM: a broker that has shut down is waited for until its lag time is over, though the
controller has removed it from the ISR: produces stall meanwhile (KAFKA-15021)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Leading, Replica
from node.ids import NodeId


def as_if_it_were_there(self: Replica, leading: Leading, broker: NodeId, now_ns: int) -> bool:
    return broker in leading.isr.maximal or self._is_caught_up(leading, broker, now_ns)


PLANTED = Planted(owner=Replica, decision="_is_counted_on", wrong=as_if_it_were_there)
