"""Which directed links a partition cuts. Pure."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import permutations

from chaos.cluster.interface import Link, NodeId


class Ways(StrEnum):
    """Which bytes a partition stops, seen from its victims."""

    BOTH = "both"
    OUT = "out"  # others do not hear them
    IN = "in"  # they do not hear others


def grudge(victims: Sequence[NodeId], nodes: Sequence[NodeId], ways: Ways) -> tuple[Link, ...]:
    """The links between the victims and all the others, in the ways asked for, in order."""
    others = [node for node in sorted(nodes) if node not in victims]
    out = [Link(victim, other) for victim in sorted(victims) for other in others]
    back = [Link(other, victim) for victim in sorted(victims) for other in others]
    match ways:
        case Ways.OUT:
            return tuple(out)
        case Ways.IN:
            return tuple(back)
        case Ways.BOTH:
            return tuple(out + back)


def among(victims: Sequence[NodeId]) -> tuple[Link, ...]:
    """The links between the victims themselves, in order."""
    return tuple(Link(one, other) for one, other in permutations(sorted(victims), 2))
