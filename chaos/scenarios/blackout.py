"""The power of all voters fails, again and again, while their disks are busy."""

import random

from chaos.cluster.interface import DiskTrouble
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import AllVoters
from chaos.scenario import Scenario

_SLOT_S = 7.0
_CUT = PowerOff(victim=AllVoters(), disks=DiskTrouble.SLOW)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.1)


BLACKOUT = Scenario(
    name="blackout",
    summary="the power of all voters fails at one moment, while their disks are slow; and again",
    exists_for=("durability", "Q3-one-vote-per-epoch", "Q18-durable-before-counted"),
    description=(
        "As in a data centre whose power flickers: no node survives to remember what was promised, "
        "so all of it must be on the disks, and the votes and leaders of each epoch as well. "
        "Overloaded disks take their time, so a cut finds much under way that is not yet durable."
    ),
    faults=(_CUT,),
    draw=_draw,
)
