"""A voter's disk is lost and replaced, and two commands make its node a voter again (KIP-856)."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.voters import LoseDisk
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import CONTROLLERS_ALONE, OnKafka, Scenario, Takes

_SLOT_S = 10.0
_LOSSES: tuple[Fault, ...] = (
    LoseDisk(victim=RandomFollower()),
    LoseDisk(victim=ControllerLeader()),
)
_DEATH = Kill(victim=ControllerLeader())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """A follower's disk and the leader's, beginning with either; after each the leader dies."""
    del nodes
    order = rng.sample(_LOSSES, len(_LOSSES))
    rounds = max(1, round(duration_s / (2 * _SLOT_S)))
    faults = [fault for number in range(rounds) for fault in (order[number % 2], _DEATH)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.4)


DISK_LOSS = Scenario(
    name="disk-loss",
    summary="a voter's disk is lost, its node comes back as an observer and is made a voter again",
    exists_for=("durability", "V5-acknowledged-changes-stay", "V8-new-disk-is-no-voter"),
    description=(
        "A disk dies while clients write, a follower's or the leader's. It is replaced, and "
        "formatted without voters: what comes back has another directory id, and is another "
        "replica. It follows as an observer until it holds all that is committed; then the "
        "operator makes it a voter, and the lost disk's replica none, in the order that the "
        "quorum has (KIP-853: first the old one goes; KIP-856: first the new one comes). "
        "Afterwards the leader dies: of three voters, no node is elected and nothing committed "
        "without the one that is new. Nothing that was committed is lost, and the lost disks are "
        "kept for the judge."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(*_LOSSES, _DEATH),
    draw=_draw,
    default_duration_s=40.0,
    settings={"bootstrap": "3"},
    on_kafka=OnKafka(settings=CONTROLLERS_ALONE),
)
