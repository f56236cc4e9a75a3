"""A follower is cut off and comes back, again and again, while the leader is well."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.grudges import Ways
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import RandomFollower
from chaos.scenario import Scenario, Takes

_SLOT_S = 6.0  # longer than a fetch time-out: it despairs of its leader each time
_CUTS: tuple[Fault, ...] = tuple(
    NetworkPartition(victim=RandomFollower(), ways=ways) for ways in (Ways.BOTH, Ways.IN)
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    cuts = [_CUTS[number % len(_CUTS)] for number in range(rounds)]
    rng.shuffle(cuts)
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=0.65)


FLAPPING_FOLLOWER = Scenario(
    name="flapping-follower",
    summary="a follower with a bad link is cut off and comes back, while the leader is well",
    exists_for=("durability", "Q23-return-without-disturbance"),
    description=(
        "A voter that hears no other stands for election for ever. When it is back it must fall in "
        "behind the leader that all others hear: one bad link must not cost the cluster its "
        "leader (KIP-996, pre-vote)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_CUTS,
    draw=_draw,
)
