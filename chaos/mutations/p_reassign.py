"""P-REASSIGN: a reassignment is done as soon as one of its targets is in the ISR; the others are
not in sync, and the old replicas are removed (KAFKA-15665)."""

from dataclasses import replace

from chaos.mutations.planted import Planted
from node.controller import partition_changes
from node.controller.image import Partition
from node.controller.partition_changes import without


def with_any_target(proposed: Partition, _: int) -> Partition:
    targets = without(proposed.replicas, *proposed.removing)
    isr = without(proposed.isr, *proposed.removing)
    if not proposed.is_reassigning or not isr:
        return proposed
    elr = without(proposed.elr, *proposed.removing)
    moved = proposed.moved(targets, proposed.directory)
    return replace(moved, isr=isr, removing=(), adding=(), elr=elr)


PLANTED = Planted(owner=partition_changes, decision="_complete_reassignment", wrong=with_any_target)
