"""Clients remove, add and describe voters while leaders die or are cut off."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.grudges import Ways
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes
from workloads.membership import MembershipOptions

_SLOT_S = 10.0
_HELD_SHARE = 0.4
_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=ControllerLeader(), ways=Ways.BOTH),
    Kill(victim=ControllerLeader()),
    PowerOff(victim=ControllerLeader()),
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """All in turn, beginning with any."""
    del nodes
    rounds, first = max(1, round(duration_s / _SLOT_S)), rng.randrange(len(_FAULTS))
    faults = [_FAULTS[(first + number) % len(_FAULTS)] for number in range(rounds)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=_HELD_SHARE)


CHANGING_VOTERS = Scenario(
    name="changing-voters",
    summary="clients remove, add and describe voters while leaders die or are cut off",
    exists_for=("V5-acknowledged-changes-stay", "voters-as-told", "voters-as-asked-for"),
    description=(
        "What membership-churn has an operator do, clients do all the time: each asks a node for "
        "the voters, and then for a change. A leader that no voter hears any more is asked, and "
        "what it writes is undone; a new one is asked before it has committed anything. What was "
        "acknowledged is told by all later leaders, and of what one leader told another undoes one "
        "change at most."
    ),
    takes=Takes(voters=range(3, 8), settings={"quorum": ("dynamic",)}),
    faults=_FAULTS,
    draw=_draw,
    default_duration_s=30.0,
    load=MembershipOptions(),
    settings={"quorum": "dynamic", "bootstrap": "3"},
)
