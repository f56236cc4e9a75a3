"""The leader is cut off together with a few followers; it comes back first, and they later."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import LeaderAnd
from chaos.scenario import Scenario, Takes

_SLOT_S = 8.0
# Held for about as long as a fetch time-out, less the probing before the cure: the leader is back
# when the others have just elected another, and has not missed its majority yet.
_HELD_S = 1.5
_STAGGER_MS = 2000


def _cut(others: int) -> Fault:
    return NetworkPartition(victim=LeaderAnd(others), stagger_ms=_STAGGER_MS)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """With fewer than five nodes, the leader has to be cut off alone: two would be a majority."""
    rounds = max(1, round(duration_s / _SLOT_S))
    share = _HELD_S * rounds / duration_s
    cuts = [_cut(1 if nodes >= 5 else 0)] * rounds
    return spread(cuts, duration_s=duration_s, rng=rng, held_share=share)


RETURNING_MINORITY = Scenario(
    name="returning-minority",
    summary="the leader is cut off with one follower, and is back some seconds before that one",
    exists_for=("durability", "asked-before-standing", "heard-leader-is-kept"),
    description=(
        "The follower hears only the leader, and goes on fetching what will never be "
        "committed. The leader comes back, learns of another and cuts its log, while that Fetch "
        "still waits in it: it must be answered by what the node is now, or not at all "
        "(KAFKA-15100, KAFKA-18723). Takes 5 nodes; of fewer, the leader is cut off alone."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_cut(0), _cut(1)),
    draw=_draw,
)
