"""When faults of a seed's trial fire, one upon another as they fall."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chaos.nemesis.fault import Menace
from chaos.nemesis.schedule import Window
from chaos.nemesis.victims import ControllerLeader, RandomFollower, RandomNode

# After another fault: a new leader takes a fetch time-out and an election, an old one leads longer.
_ECHO_S = (0.1, 4.0)
_ECHO_SHARE = 0.5


def at_random(
    rng: random.Random, menace: Menace, mean_s: float, nodes: int, last_s: float
) -> Iterator[Window]:
    """At random moments; most are short, for short ones fit into more places."""
    at_s = rng.uniform(0.5, min(mean_s, last_s / 2))
    while at_s < last_s:
        yield one_window(rng, menace, at_s, nodes, last_s)
        at_s += rng.expovariate(1 / mean_s) + 0.05


def echoes(
    rng: random.Random,
    menaces: Sequence[Menace],
    drawn: Sequence[Window],
    nodes: int,
    last_s: float,
) -> Iterator[Window]:
    """In half of all seeds: faults soon after others, while those still have their effect.

    Most of the time a node leads, and a majority follows. Hitting an election, or a leader that is
    cut off and does not know it yet, must not wait for chance. The victim may be any node: while
    none leads, a leader cannot be hit.
    """
    if rng.random() < 0.5:
        return
    for window in drawn:
        at_s = window.at_s + rng.uniform(*_ECHO_S)
        if rng.random() < _ECHO_SHARE and at_s < last_s:
            yield one_window(rng, rng.choice(menaces), at_s, nodes, last_s, whoever=True)


def one_window(
    rng: random.Random,
    menace: Menace,
    at_s: float,
    nodes: int,
    last_s: float,
    *,
    whoever: bool = False,
) -> Window:
    """`whoever`: of one node, any will do."""
    span = menace.longest_s - menace.shortest_s
    hold_s = min(menace.shortest_s + span * rng.random() ** 2, last_s - at_s)
    fault = menace.make(rng, nodes)
    if whoever and isinstance(fault.victim, ControllerLeader | RandomFollower):
        fault = replace(fault, victim=RandomNode())
    return Window(at_s=round(at_s, 3), hold_s=round(hold_s, 3), fault=fault)
