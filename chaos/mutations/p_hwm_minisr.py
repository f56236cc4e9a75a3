"""P-HWM-MINISR: the high watermark moves however few replicas are in the ISR (KAFKA-15583)."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica

_advance = Replica._advance


def whoever_is_in_the_isr(self: Replica, now_ns: int) -> None:
    asked, self._min_isr = self._min_isr, 0
    _advance(self, now_ns)
    self._min_isr = asked


PLANTED = Planted(owner=Replica, decision="_advance", wrong=whoever_is_in_the_isr)
