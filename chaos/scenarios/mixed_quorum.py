"""Our nodes and Apache Kafka's controllers are voters of one quorum: each side leads in turn."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import AllVoters, ControllerLeader, RandomFollower
from chaos.scenario import Scenario
from workloads.register_options import RegisterOptions

_SLOT_S = 10.0  # a JVM has to start again in it
_OF_LEADERS: tuple[Fault, ...] = (
    Kill(victim=ControllerLeader()),
    NetworkPartition(victim=ControllerLeader()),
    PowerOff(victim=ControllerLeader()),
)
_OTHERS: tuple[Fault, ...] = (PowerOff(victim=RandomFollower()), PowerOff(victim=AllVoters()))


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """Two leaders are hurt for each other node: leadership is to pass on as often as possible."""
    del nodes
    faults: list[Fault] = []
    while len(faults) < max(3, round(duration_s / _SLOT_S)):
        faults += [*rng.sample(_OF_LEADERS, 2), rng.choice(_OTHERS)]
    slots = max(3, round(duration_s / _SLOT_S))
    return spread(faults[:slots], duration_s=duration_s, rng=rng, held_share=0.4)


MIXED_QUORUM = Scenario(
    name="mixed-quorum",
    summary="one quorum of our nodes and Apache Kafka's: leaders are killed, cut off, lose power",
    description=(
        "Two of our nodes and a controller of Apache Kafka, or one and two (--set kafkas=2), were "
        "formatted as voters of one quorum (KIP-853). Whoever leads is killed, cut off or loses "
        "its power, so that leadership passes from one implementation to the other with writes in "
        "flight. Every log must be the same bytes, no acknowledged write may be gone, and nobody "
        "may end at what the other side wrote or answered. Kafka's controllers promise no "
        "linearizable reads, and print no traces: what both promise is judged."
    ),
    faults=(*_OF_LEADERS, *_OTHERS),
    draw=_draw,
    default_duration_s=60.0,
    load=RegisterOptions(rate=60.0),
    of_both=True,
)
