"""A broker is cut off from its peers, from the controllers, and from clients, each alone."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.entrances import ShutOut
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import PartitionLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import MIXED, SOME_BROKERS, TWO_IN_SYNC

_SLOT_S = 12.0
_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.BROKERS),
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
    ShutOut(victim=PartitionLeader()),
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(len(_FAULTS), round(duration_s / _SLOT_S))
    faults = [_FAULTS[number % len(_FAULTS)] for number in range(slots)]
    rng.shuffle(faults)
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.6)


PARTITION_BROKERS = Scenario(
    name="partition-brokers",
    summary="the leader of a partition is cut off: from its peers, the controllers, or its clients",
    exists_for=("log-durability", "P11-replicas-agree"),
    description=(
        "Cut off from its peers, a leader must shrink the ISR before it acknowledges anything; cut "
        "off from the controllers, it is replaced and must not go on; cut off from clients, none "
        "hears its answers, and what they were is unknown until the end."
    ),
    takes=SOME_BROKERS,
    faults=_FAULTS,
    draw=_draw,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)
