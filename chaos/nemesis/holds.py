"""What the faults that go on at one time have in their hands, so that none undoes another. Pure."""

from chaos.cluster.interface import Link, NodeId
from chaos.nemesis.fault import Aspect, Fault, Hit

_BY_LINK = (Aspect.CUTS, Aspect.FLAKINESS)
_ALL_AT_ONCE = (Aspect.LATENCY, Aspect.VOTERS)


class Held:
    """All faults between their start and the end of their cure."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []

    def add(self, hit: Hit) -> None:
        self.hits.append(hit)

    def replace(self, hit: Hit, by: Hit) -> None:
        self.hits = [by if each is hit else each for each in self.hits]

    def remove(self, hit: Hit) -> None:
        """This one, and no other that happens to be like it."""
        self.hits = [each for each in self.hits if each is not hit]

    def nodes(self, fault: Fault) -> frozenset[NodeId]:
        """Those that it cannot hit as well."""
        if fault.aspect in _BY_LINK or fault.aspect is Aspect.LATENCY:
            return frozenset()
        return frozenset(node for hit in self._alike(fault) for node in hit.nodes)

    def free(self, fault: Fault, links: tuple[Link, ...]) -> tuple[Link, ...]:
        """Of these links, those that no fault of its kind holds."""
        taken = {link for hit in self._alike(fault) for link in hit.links}
        return tuple(link for link in links if link not in taken)

    def is_impossible(self, fault: Fault) -> bool:
        """Whether it takes what there is only one of, or might leave no majority of the voters:
        a node that is removed, or has a new disk, does not vote until the cure is done."""
        if fault.aspect in _ALL_AT_ONCE and self._alike(fault):
            return True
        return _takes_voters(fault) and any(_takes_voters(hit.fault) for hit in self.hits)

    def _alike(self, fault: Fault) -> list[Hit]:
        return [hit for hit in self.hits if hit.fault.aspect is fault.aspect]


def _takes_voters(fault: Fault) -> bool:
    return fault.harm.wipes or fault.aspect is Aspect.VOTERS
