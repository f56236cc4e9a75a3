"""Whoever leads is removed from the voters, and another leads."""

import random

from chaos.nemesis.kinds.voters import RemoveVoter
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario

_SLOT_S = 10.0
_REMOVAL = RemoveVoter(victim=ControllerLeader())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    faults = [_REMOVAL] * max(1, round(duration_s / _SLOT_S))
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.4)


REMOVE_LEADER = Scenario(
    name="remove-leader",
    summary="whoever leads is removed from the voters, and is added again",
    description=(
        "An operator asks the leader to remove itself (KIP-853). It writes who votes from now on, "
        "does not count itself any more, leads on until a majority of the others has that record, "
        "and resigns; another is elected, and the one that was removed follows it as an observer. "
        "Then it is added again, and nobody has lost a write."
    ),
    faults=(_REMOVAL,),
    draw=_draw,
    settings={"quorum": "dynamic"},
)
