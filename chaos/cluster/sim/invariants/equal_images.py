"""Controllers' images at each offset: the same on all nodes, from log and snapshot alike."""

from chaos.cluster.sim.invariants.broken import Broken
from node.ids import NodeId, Offset


class EqualImages:
    def __init__(self) -> None:
        self._first: dict[Offset, tuple[NodeId, int]] = {}

    def compare(self, node: NodeId, applied: Offset, digest: int) -> None:
        """All below `applied` is in that node's image, with this digest. Raises Broken."""
        first, known = self._first.setdefault(applied, (node, digest))
        if known != digest:
            what = f"at offset {applied} n{node} has another image than n{first} had"
            raise Broken("M2-equal-images", what)
