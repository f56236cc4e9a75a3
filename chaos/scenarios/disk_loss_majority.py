"""Two of three voters lose their disks, one after the other: the quorum stops, and forgets nothing.

Nothing else is like that: it never becomes whole again, and must not.
"""

import random

from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import CONTROLLERS_ALONE, OnKafka, Scenario, Takes

_LEADERS, _FOLLOWERS = Wipe(victim=ControllerLeader()), Wipe(victim=RandomFollower())
_FIRST_AT, _SECOND_AT = (0.1, 0.2), (0.55, 0.65)  # of all the time
_HELD = 0.1


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """A follower's disk or the leader's; then the disk of the current leader, which is a voter."""
    del nodes

    def window(fault: Wipe, bounds: tuple[float, float]) -> Window:
        at_s = round(duration_s * rng.uniform(*bounds), 3)
        return Window(at_s=at_s, hold_s=round(_HELD * duration_s, 3), fault=fault)

    first = rng.choice((_LEADERS, _FOLLOWERS))
    windows = (window(first, _FIRST_AT), window(_LEADERS, _SECOND_AT))
    return Schedule(duration_s=duration_s, windows=windows)


DISK_LOSS_MAJORITY = Scenario(
    name="disk-loss-majority",
    summary="two of three voters lose their disks one after the other: the quorum stops",
    exists_for=("stops-without-a-majority",),
    description=(
        "A disk dies while clients write, and is replaced by a new one that is formatted without "
        "voters; no operator makes it a voter. The two voters that are left go on. Then the leader "
        "loses its disk as well. One voter is left, which holds all that was acknowledged, and two "
        "empty disks, which are voters of nothing: no node may be elected any more, and nothing be "
        "acknowledged (KIP-856). The run is valid if the quorum stops, and the verdict says since "
        "when."
    ),
    takes=Takes(voters=range(3, 4)),
    faults=(_LEADERS, _FOLLOWERS),
    draw=_draw,
    settings={"bootstrap": "3"},
    on_kafka=OnKafka(settings=CONTROLLERS_ALONE),
)
