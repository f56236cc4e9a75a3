"""The power of everybody fails, again and again."""

import random

from chaos.nemesis.faults import AllVoters, PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.scenario import Scenario

_SLOT_S = 4.0
_CUT = PowerOff(target=AllVoters())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.1)


BLACKOUT = Scenario(
    name="blackout",
    story="the power of all voters fails at one moment, comes back, and fails again",
    description=(
        "As in a data centre whose power flickers: nobody survives to remember what was promised, "
        "so all of it must be on the disks, and who voted and led in which epoch as well. Each cut "
        "meets the disks in the middle of something else."
    ),
    faults=(_CUT,),
    draw=_draw,
)
