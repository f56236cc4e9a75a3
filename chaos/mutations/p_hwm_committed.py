"""P-HWM-COMMITTED: a lagging replica is not waited for, though it is still in the committed ISR:
the proposed ISR counts, not the maximal one (HS AsyncIsr)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Leading, Replica
from node.ids import NodeId


def only_who_has_caught_up(self: Replica, leading: Leading, broker: NodeId, now_ns: int) -> bool:
    return self._is_caught_up(leading, broker, now_ns)


PLANTED = Planted(owner=Replica, decision="_is_counted_on", wrong=only_who_has_caught_up)
