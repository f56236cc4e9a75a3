"""The leader dies while the network is slow: candidates hear of each other too late."""

import random

from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes
from workloads.register_options import RegisterOptions

_SLOT_S = 20.0  # long enough to tell an election that is slow from one that never ends
_KILL = Kill(victim=ControllerLeader(), latency_ms=200)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_KILL] * rounds, duration_s=duration_s, rng=rng, held_share=0.9)


SLOW_ELECTION = Scenario(
    name="slow-election",
    summary="the leader is killed while the links between the others are slow",
    exists_for=("durability", "Q3-one-vote-per-epoch", "Q4-elected-by-a-majority"),
    description=(
        "Its followers miss it at the same moment, stand at the same moment, and each has voted "
        "for itself before it hears of the others. Waits drawn at random part them within a few "
        "rounds; without that they would collide for ever (Raft 3.4). Best seen with 5 nodes."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_KILL,),
    draw=_draw,
    # So that nothing is in flight: of two logs, only the longer one's owner is elected.
    load=RegisterOptions(rate=30.0),
)
