"""Our nodes and Apache Kafka's controllers are voters of one quorum: each side leads in turn.

With clients of the quorum itself, in both forms of one, and with clients of a broker of Apache
Kafka beside it, which follows whichever side leads.
"""

import random
from collections.abc import Sequence
from dataclasses import replace

from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.kinds.switches import SwitchProgram, SwitchVoter
from chaos.nemesis.script import Schedule, spread
from chaos.nemesis.victims import AllVoters, ControllerLeader, RandomFollower
from chaos.scenario import Scenario
from chaos.scenarios.loads import ONE_BROKER, PROMISED
from checkers.run.sides_led import EACH_SIDE_CREATES, EACH_SIDE_LEADS
from workloads.workload import RegisterOptions

_SLOT_S = 10.0  # a JVM has to start again in it
_OF_LEADERS: tuple[Fault, ...] = (
    Kill(victim=ControllerLeader()),
    NetworkPartition(victim=ControllerLeader()),
    PowerOff(victim=ControllerLeader()),
)
_OTHERS: tuple[Fault, ...] = (PowerOff(victim=RandomFollower()), PowerOff(victim=AllVoters()))
_SWITCHED_DISKS: tuple[Fault, ...] = (
    SwitchProgram(victim=ControllerLeader()),
    SwitchProgram(victim=RandomFollower()),
)
_SWITCHES: tuple[Fault, ...] = (
    SwitchVoter(victim=ControllerLeader()),
    SwitchProgram(victim=ControllerLeader()),
    SwitchVoter(victim=RandomFollower()),
    SwitchProgram(victim=RandomFollower()),
)


def _slots(duration_s: float, least: int) -> int:
    return max(least, round(duration_s / _SLOT_S))


def _drawn(rng: random.Random, faults: Sequence[Fault], duration_s: float) -> Schedule:
    return spread(faults, duration_s=duration_s, rng=rng, held_share=0.4)


def _draw(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """One switch for every three other faults, two of which hit leaders: leadership, and the
    program of each node, should change as often as possible. The first two switches differ in kind
    and victim."""
    del nodes
    slots = _slots(duration_s, 4)
    first = rng.choice(((0, 3), (1, 2), (2, 1), (3, 0)))
    switches = [_SWITCHES[number] for number in first]
    faults: list[Fault] = []
    while len(faults) < slots:
        switch = switches.pop(0) if switches else rng.choice(_SWITCHES)
        faults += [*rng.sample(_OF_LEADERS, 2), switch, rng.choice(_OTHERS)]
    return _drawn(rng, faults[:slots], duration_s)


def _draw_same_voters(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    """For each node that goes on as the other program (the first of them a leader) and each fault
    of another kind, two leaders are hurt."""
    del nodes
    slots = _slots(duration_s, 4)
    switches = list(_SWITCHED_DISKS)
    faults: list[Fault] = []
    while len(faults) < slots:
        switch = switches.pop(0) if switches else rng.choice(_SWITCHED_DISKS)
        faults += [*rng.sample(_OF_LEADERS, 2), switch, rng.choice(_OTHERS)]
    return _drawn(rng, faults[:slots], duration_s)


MIXED_QUORUM = Scenario(
    name="mixed-quorum",
    summary="one quorum of our nodes and Apache Kafka's: leaders die, voters change sides",
    exists_for=("durability", "no-complaint-in-logs"),
    description=(
        "Two of our nodes and a controller of Apache Kafka, or one and two (--set kafkas=2), were "
        "formatted as voters of one quorum (KIP-853). The leader is killed, cut off or loses "
        "its power, so that leadership passes from one implementation to the other with writes in "
        "flight. Meanwhile nodes change sides: a voter is removed, and one of the other "
        "implementation is added in its place; or the other implementation goes on as the same "
        "replica, on the disk that the first has written. Every log must be the same bytes, no "
        "acknowledged write may be gone, and no node may end at what the other side wrote or "
        "answered. Kafka's controllers promise no linearizable reads, and print no traces: what "
        "both promise is judged."
    ),
    faults=(*_OF_LEADERS, *_OTHERS, *_SWITCHES),
    draw=_draw,
    default_duration_s=80.0,
    load=RegisterOptions(rate=60.0),
    of_both=True,
    to_show=(EACH_SIDE_LEADS,),
)

MIXED_STATIC = Scenario(
    name="mixed-static",
    summary="a static quorum of our nodes and Apache Kafka's: leaders die, disks change sides",
    exists_for=("durability", "no-complaint-in-logs"),
    description=(
        "As mixed-quorum, in the older form of a quorum (kraft.version 0): every configuration "
        "lists the same voters, which are known by their ids alone. The leader is killed, cut "
        "off or loses its power, and nodes go on as the other implementation, on the disk that the "
        "first has written. The voters cannot be changed."
    ),
    faults=(*_OF_LEADERS, *_OTHERS, *_SWITCHED_DISKS),
    draw=_draw_same_voters,
    default_duration_s=60.0,
    load=RegisterOptions(rate=60.0),
    settings={"quorum": "static"},
    of_both=True,
    to_show=(EACH_SIDE_LEADS,),
)

MIXED_BROKER = Scenario(
    name="mixed-broker",
    summary="a broker of Apache Kafka, beside a quorum of our nodes and its own: leaders die",
    exists_for=("log-durability", "no-complaint-in-logs"),
    description=(
        "A broker of Apache Kafka registers with a quorum of both (--set brokers=3 makes three of "
        "it, --set quorum=static the older form of the quorum), and clients write to it and read, "
        "and create and delete topics all the while. The leader of the quorum is killed, cut off "
        "or loses its power, and nodes go on as the other implementation, so that the broker is "
        "told of topics, asks for ids and sends its heartbeats to either side. No acknowledged "
        "topic or record may be gone, and no node, the broker included, may complain in its log of "
        "what another one wrote or answered. The broker itself is not hurt."
    ),
    faults=(*_OF_LEADERS, *_OTHERS, *_SWITCHED_DISKS),
    draw=_draw_same_voters,
    default_duration_s=60.0,
    load=replace(PROMISED, partitions=3, rate=60.0, admin_rate=1.0),
    settings=ONE_BROKER,
    of_both=True,
    to_show=(EACH_SIDE_LEADS, EACH_SIDE_CREATES),
)
