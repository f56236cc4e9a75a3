"""Replicas fall out of the ISR and come back, over and over, while leaders change."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.processes import Pause
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import PartitionLeader, RandomBroker
from chaos.scenario import Scenario
from chaos.scenarios.loads import MIXED, SOME_BROKERS, TWO_IN_SYNC

_SLOT_S = 8.0
_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=RandomBroker(), peers=OtherSide.BROKERS),
    Pause(victim=RandomBroker()),
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
    Pause(victim=PartitionLeader()),
)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(1, round(duration_s / _SLOT_S))
    faults = [rng.choice(_FAULTS) for _ in range(slots)]
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.6)


ISR_SHRINK_STORM = Scenario(
    name="isr-shrink-storm",
    summary="brokers fall out of the ISR and come back, over and over",
    exists_for=("P8-shown-with-min-isr", "P17-acknowledged-with-min-isr"),
    description=(
        "Each fault lasts longer than a replica may lag: paused, cut off from its peers or from "
        "the controllers, a broker leaves the ISR, and is back a moment later. Leader and "
        "controller decide about the ISR on their own clocks; whatever they agree on, an "
        "acknowledged record must stay where it is (KIP-966, KIP-497)."
    ),
    takes=SOME_BROKERS,
    faults=_FAULTS,
    draw=_draw,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)
