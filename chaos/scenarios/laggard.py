"""One follower lags behind by a second, and then everybody dies at once."""

import random

from chaos.nemesis.faults import Fault, Kill, Partition, PowerOff
from chaos.nemesis.schedule import Schedule, Window
from chaos.nemesis.targets import AllVoters, Follower
from chaos.scenario import Scenario

_SLOT_S = 10.0  # everybody is up again and follows a leader before the next follower is cut off
_LAGS_S = (0.8, 1.5)  # less than a fetch time-out: the follower does not ask for votes meanwhile
_DEAD_S = 0.5
# The cut outlasts the death, so that the follower cannot catch up before it, and so that there are
# nodes that send what is not to arrive; it ends before anybody stands for election.
_AFTERWARDS_S = 0.5
_CUT = Partition(target=Follower())
_DEATHS: tuple[Fault, ...] = (PowerOff(target=AllVoters()), Kill(target=AllVoters()))


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    rounds = max(1, round(duration_s / _SLOT_S))
    windows = [
        window
        for number in range(rounds)
        for window in _round(rng, number * duration_s / rounds, _DEATHS[number % len(_DEATHS)])
    ]
    return Schedule(duration_s=duration_s, windows=tuple(windows), side_by_side=True)


def _round(rng: random.Random, began_s: float, death: Fault) -> tuple[Window, Window]:
    at_s = round(began_s + rng.uniform(2.0, 4.0), 3)
    lags_s = round(rng.uniform(*_LAGS_S), 3)
    return (
        Window(at_s=at_s, hold_s=round(lags_s + _DEAD_S + _AFTERWARDS_S, 3), fault=_CUT),
        Window(at_s=round(at_s + lags_s, 3), hold_s=_DEAD_S, fault=death),
    )


LAGGARD = Scenario(
    name="laggard",
    story="a follower is cut off for about a second, then everybody dies at the same moment",
    description=(
        "While one follower hears nothing, the others go on and acknowledge writes. Then all lose "
        "their power, or are killed, and start together. The one that lags may stand for election "
        "first; whoever has the acknowledged writes must not vote for it (Raft, election "
        "restriction), and what the majority had was durable before it was acknowledged."
    ),
    faults=(_CUT, *_DEATHS),
    draw=_draw,
)
