"""One follower does not hear the leader, though all others hear both."""

import random

from chaos.nemesis.kinds.cuts import PartialPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import LeaderAnd
from chaos.scenario import Scenario, Takes

_SLOT_S = 12.0  # after it, the others have heard their leader for long enough to refuse a pre-vote
_CUT = PartialPartition(victim=LeaderAnd(1))


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.4)


ESTRANGED_FOLLOWER = Scenario(
    name="estranged-follower",
    summary="the link between the leader and one follower is cut; all others hear both",
    exists_for=("durability", "asked-before-standing", "heard-leader-is-kept"),
    description=(
        "The follower misses its leader and asks the others for their votes. They hear the leader "
        "and must refuse, else each of the two deposes the other for as long as the link is cut "
        "(KIP-996, pre-vote)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_CUT,),
    draw=_draw,
)
