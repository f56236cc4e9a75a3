"""Leadership passes from node to node and back, with writes in flight each time."""

import random

from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes
from workloads.register_options import RegisterOptions

_SLOT_S = 5.0
_CUT = NetworkPartition(victim=ControllerLeader())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    return spread([_CUT] * rounds, duration_s=duration_s, rng=rng, held_share=0.7)


LEADER_RELAY = Scenario(
    name="leader-relay",
    summary="each leader is cut off in turn, so that former leaders lead again",
    exists_for=("durability", "Q2-one-leader-per-epoch", "Q17-no-leader-again"),
    description=(
        "Each leader is deposed with writes in flight, and lives on. When it leads again it must "
        "have forgotten what it had decided and was never committed. Many keys and few writes, so "
        "that nothing newer has covered a stale value by then."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_CUT,),
    draw=_draw,
    # Faster, each key is written anew before a deposed leader leads again.
    load=RegisterOptions(live_keys=300, rate=60.0),
)
