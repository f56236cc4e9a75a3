"""Power fails: of one broker after another, and of all of them at one moment."""

import random

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.schedule import Schedule, spread
from chaos.nemesis.victims import AllBrokers, PartitionLeader, RandomBroker
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import LOSES_AS_ALLOWED, MIXED, SOME_BROKERS, TWO_IN_SYNC

_SLOT_S = 15.0  # an election, a recovery, and time to be in sync again
_FAULTS: tuple[Fault, ...] = (PowerOff(victim=PartitionLeader()), PowerOff(victim=RandomBroker()))
_ALL = PowerOff(victim=AllBrokers())


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(2, round(duration_s / _SLOT_S))
    faults = [_FAULTS[number % len(_FAULTS)] for number in range(slots)]
    rng.shuffle(faults)
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.25)


POWER_OFF_BROKERS = Scenario(
    name="power-off-brokers",
    summary="one broker after another loses its power, with what it had not synced",
    exists_for=("log-durability", "E6-lost-bytes-are-not-clean"),
    description=(
        "Brokers answer before their disks do: a record is as durable as the replicas that hold it "
        "are many. With min ISR 2 and one power cut between two full recoveries, nothing that was "
        "acknowledged may be lost, whichever broker led."
    ),
    takes=SOME_BROKERS,
    faults=_FAULTS,
    draw=_draw,
    default_duration_s=45.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)


def _draw_all(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    return spread([_ALL], duration_s=duration_s, rng=rng, held_share=0.1)


BLACKOUT_BROKERS = Scenario(
    name="blackout-brokers",
    summary="all brokers lose their power at one moment: allowed loss, counted",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "More disks forget at once than min ISR - 1: what was not yet written out may go, whatever "
        "was promised. What is left must still be one log: no gaps among what survived, replicas "
        "alike, nothing twice."
    ),
    takes=SOME_BROKERS,
    faults=(_ALL,),
    draw=_draw_all,
    default_duration_s=20.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="allowed",
            settings={},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as they may be",
        ),
    ),
)
