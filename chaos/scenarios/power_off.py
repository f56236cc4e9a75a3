"""The power of the leader fails, of a follower, of all voters at one moment."""

import random

from chaos.conditions import Conditions
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import AllVoters, ControllerLeader, RandomFollower
from chaos.scenario import Scenario, Takes

_SLOT_S = 7.5
_FAULTS: tuple[Fault, ...] = (
    PowerOff(victim=ControllerLeader()),
    PowerOff(victim=RandomFollower()),
    PowerOff(victim=AllVoters()),
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """Single cuts first, in any order, and all voters at once to end a round."""
    del nodes
    slots = max(len(_FAULTS), round(duration_s / _SLOT_S))
    singles, all_at_once = list(_FAULTS[:2]), _FAULTS[2]
    faults: list[Fault] = []
    while len(faults) < slots:
        rng.shuffle(singles)
        faults += [*singles, all_at_once]
    return spread(faults[:slots], duration_s=duration_s, rng=rng, held_share=0.35)


POWER_OFF = Scenario(
    name="power-off",
    summary="power fails while writes are in flight: the leader, a follower, all voters at once",
    exists_for=("durability", "Q18-durable-before-counted", "durable-before-asked"),
    description=(
        "What was not fsynced is gone, as on a real disk; a canary on the disk proves it. A write "
        "that was acknowledged must survive even when every voter loses power at one moment: that "
        "is what fsync before visible is for. Never run as a mere kill: without disks whose power "
        "can be cut, the scenario is refused."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=_FAULTS,
    draw=_draw,
    conditions=Conditions(late_flushes=0.3, late_most_us=100_000),
)
