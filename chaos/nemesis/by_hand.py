"""Faults by name, for people who inject by hand: `partition-leader`, `power-off-all`."""

from collections.abc import Iterator
from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.fault import Aspect, Fault
from chaos.nemesis.kinds import KINDS
from chaos.nemesis.parameters import with_parameters
from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    OneNode,
    RandomFollower,
    RandomNode,
    Victim,
)

_VICTIMS: tuple[Victim, ...] = (ControllerLeader(), RandomFollower(), RandomNode(), AllVoters())


def _catalogue() -> Iterator[tuple[str, Fault]]:
    for kind in KINDS:
        for name, words in kind.by_hand.items():
            for victim in _VICTIMS:
                if (
                    kind.aspect is not Aspect.CUTS or victim != AllVoters()
                ):  # no node would be left to be cut off from
                    yield f"{name}-{victim}", with_parameters(kind, victim, words)


FAULTS = dict(sorted(_catalogue()))


def aimed_at(fault: Fault, node: NodeId) -> Fault:
    """The same fault of one certain node."""
    return replace(fault, victim=OneNode(node))
