"""The leader is cut off from the other voters, cleanly and one way at a time."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.grudges import Ways
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes

_SLOT_S = 10.0  # long enough for a fetch time-out, an election and some life after it
_CUTS: tuple[Fault, ...] = tuple(
    NetworkPartition(victim=ControllerLeader(), ways=ways)
    for ways in (Ways.BOTH, Ways.OUT, Ways.IN)
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    cuts = [_CUTS[number % len(_CUTS)] for number in range(rounds)]
    rng.shuffle(cuts)
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=0.6)


PARTITION_LEADER = Scenario(
    name="partition-leader",
    summary="the leader is cut off, both ways and one way at a time, and comes back",
    exists_for=("linearizable", "durability", "Q2-one-leader-per-epoch"),
    description=(
        "The leader is cut off from all other voters while clients still reach it: nothing from "
        "it arrives, nothing reaches it, or both. The others must elect a new leader; the old one "
        "must not acknowledge a write or answer a stale read, must resign, and must give up what "
        "was never committed when it is back (KIP-595: check-quorum, truncation)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_CUTS,
    draw=_draw,
)
