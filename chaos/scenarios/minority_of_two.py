"""The leader is cut off with one of its four followers, for longer than it may lead so."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import LeaderAnd
from chaos.scenario import Scenario, Takes

_SLOT_S = 14.0
# Check-quorum takes 1.5 fetch time-outs of 2 s, and twice that where its count begins anew just
# before the cut, as with five voters it may; the check allows 2 s more, and judges what is longer.
_HELD_S = 9.0


def _cut(others: int) -> Fault:
    return NetworkPartition(victim=LeaderAnd(others))


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """With fewer than five nodes, the leader has to be cut off alone: two would be a majority."""
    rounds = max(1, round(duration_s / _SLOT_S))
    cuts = [_cut(1 if nodes >= 5 else 0)] * rounds
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=_HELD_S * rounds / duration_s)


MINORITY_OF_TWO = Scenario(
    name="minority-of-two",
    summary="the leader is cut off with one follower, for more than 1.5 fetch time-outs",
    exists_for=("linearizable", "Q22-cut-off-leader-resigns"),
    description=(
        "One follower goes on fetching from the leader, which is no majority of five: the leader "
        "must resign (KIP-595, check-quorum), and must not take the one that it hears for all of "
        "them. The other three elect a leader meanwhile. Takes 5 nodes; of fewer, the leader is "
        "cut off alone."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_cut(0), _cut(1)),
    draw=_draw,
)
