"""Leaders take their leave one after the other, while the disks of all take their time."""

import random

from chaos.conditions import Conditions
from chaos.nemesis.kinds.processes import Terminate
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes

_SLOT_S = 3.0
_STOP = Terminate(victim=ControllerLeader())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_STOP] * rounds, duration_s=duration_s, rng=rng, held_share=0.4)


HAND_OVER = Scenario(
    name="hand-over",
    summary="the leader is stopped in good order, and hands over to a node whose disk is behind",
    exists_for=("durability", "Q11-leader-completeness", "heard-leader-is-kept"),
    description=(
        "A leader that stops names its successors (EndQuorumEpoch), and the first of them stands "
        "for election at once: with records that it has just been sent, and may not have on its "
        "disk yet. In virtual time most flushes are late, and nodes go on meanwhile: votes may be "
        "asked for with what is durable only."
    ),
    takes=Takes(voters=range(3, 8)),  # of fewer, no node is left that could be elected
    faults=(_STOP,),
    draw=_draw,
    conditions=Conditions(late_flushes=0.7, late_most_us=200_000),
)
