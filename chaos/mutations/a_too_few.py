"""A-TOO-FEW: a leader with exactly min ISR members in its ISR refuses acks=all: off by one."""

from chaos.mutations.planted import Planted
from node.broker.replica import Replica


def with_one_to_spare(self: Replica) -> bool:
    assert self.leading is not None
    return len(self.leading.isr.committed) > self._min_isr


PLANTED = Planted(owner=Replica, decision="may_append_for_all", wrong=with_one_to_spare)
