"""One follower lags behind by a second, and then all nodes die at once."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.victims import AllVoters, RandomFollower
from chaos.scenario import Scenario, Takes

_SLOT_S = 10.0  # all nodes are up again and follow a leader before the next follower is cut off
_LEAST_SLOT_S = 7.0
_BEFORE_S = (2.0, 4.0)
_LAGS_S = (0.8, 1.5)  # less than a fetch time-out: the follower does not ask for votes meanwhile
_DEAD_S = 0.5
# The cut outlasts the death, so that the follower cannot catch up before it, and so that there are
# nodes that send what is not to arrive; it ends before any node stands for election.
_AFTERWARDS_S = 0.5
_CUT = NetworkPartition(victim=RandomFollower())
_DEATHS: tuple[Fault, ...] = (PowerOff(victim=AllVoters()), Kill(victim=AllVoters()))


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    slot_s = duration_s / rounds
    windows = [
        window
        for number in range(rounds)
        for window in _round(rng, number * slot_s, slot_s, _DEATHS[number % len(_DEATHS)])
    ]
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _round(
    rng: random.Random, began_s: float, slot_s: float, death: Fault
) -> tuple[Window, Window]:
    """Shorter, all of it, where there is less time than it takes."""
    scale = min(1.0, slot_s / _LEAST_SLOT_S)
    cut_s = began_s + scale * rng.uniform(*_BEFORE_S)
    death_s = cut_s + scale * rng.uniform(*_LAGS_S)
    back_s = death_s + scale * _DEAD_S
    return (
        _window(cut_s, back_s + scale * _AFTERWARDS_S, _CUT),
        _window(death_s, back_s, death),
    )


def _window(from_s: float, to_s: float, fault: Fault) -> Window:
    return Window(at_s=round(from_s, 3), hold_s=round(to_s - from_s, 3), fault=fault)


LAGGARD = Scenario(
    name="laggard",
    summary="a follower is cut off for about a second, then all nodes die at the same moment",
    exists_for=("durability", "Q11-leader-completeness"),
    description=(
        "While one follower hears nothing, the others go on and acknowledge writes. Then all lose "
        "their power, or are killed, and start together. The one that lags may stand for election "
        "first; nodes that have the acknowledged writes must not vote for it (Raft, election "
        "restriction), and what the majority had was durable before it was acknowledged."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_CUT, *_DEATHS),
    draw=_draw,
)
