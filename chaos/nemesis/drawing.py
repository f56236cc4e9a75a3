"""The victims of a swarm's faults, drawn from a seed."""

import random

from chaos.nemesis.victims import (
    AllVoters,
    ControllerLeader,
    RandomFollower,
    RandomNode,
    SomeNodes,
    Victim,
)


def one(rng: random.Random, nodes: int) -> Victim:
    """The leader is hit as often as all others together."""
    if nodes == 1:
        return RandomNode()
    return rng.choice((ControllerLeader(), ControllerLeader(), RandomFollower(), RandomNode()))


def some(rng: random.Random, nodes: int) -> Victim:
    """One as a rule, now and then several, and sometimes all of them."""
    dice = rng.random()
    if dice < 0.6:
        return one(rng, nodes)
    return SomeNodes(rng.randint(1, nodes)) if dice < 0.85 else AllVoters()


def one_side(rng: random.Random, nodes: int) -> Victim:
    """On one side of a partition."""
    return one(rng, nodes) if rng.random() < 0.6 else SomeNodes(rng.randint(1, nodes // 2))
