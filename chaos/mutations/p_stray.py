"""P-STRAY: replicas of topics that were deleted while a broker was off stay on its disk for ever
(KAFKA-14616)."""

from chaos.mutations.planted import Planted
from node.broker.held_replicas import HeldReplicas


def keep_them(self: HeldReplicas) -> None:
    del self


PLANTED = Planted(owner=HeldReplicas, decision="_remove_strays", wrong=keep_them)
