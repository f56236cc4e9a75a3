"""Scenarios of brokers: power failures, partitions, a shrinking ISR, restarts and pauses."""

import random
from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.links import ShutOut, SlowLinks
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.script import Begin, End, Rest, Schedule, Script, ScriptStep, Until, spread
from chaos.nemesis.victims import AllBrokers, OneNode, PartitionLeader, RandomBroker
from chaos.scenario import Scenario, Side, Takes
from chaos.scenarios.loads import (
    LOSES_AS_ALLOWED,
    MIXED,
    PROMISED,
    SOME_BROKERS,
    TWO_IN_SYNC,
    TWO_OF_THREE,
)

# The power of one broker after another fails, and of all of them at one moment.


_POWER_OFF_BROKERS_SLOT_S = 15.0  # an election, a recovery, and time to be in sync again
_POWER_OFF_BROKERS_FAULTS: tuple[Fault, ...] = (
    PowerOff(victim=PartitionLeader()),
    PowerOff(victim=RandomBroker()),
)
_ALL = PowerOff(victim=AllBrokers())


def _draw_power_off_brokers(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(2, round(duration_s / _POWER_OFF_BROKERS_SLOT_S))
    faults = [
        _POWER_OFF_BROKERS_FAULTS[number % len(_POWER_OFF_BROKERS_FAULTS)]
        for number in range(slots)
    ]
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
    faults=_POWER_OFF_BROKERS_FAULTS,
    draw=_draw_power_off_brokers,
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


# A broker is cut off from its peers, from the controllers, and from clients, one at a time.


_PARTITION_BROKERS_SLOT_S = 12.0
_PARTITION_BROKERS_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.BROKERS),
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
    ShutOut(victim=PartitionLeader()),
)


def _draw_partition_brokers(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(len(_PARTITION_BROKERS_FAULTS), round(duration_s / _PARTITION_BROKERS_SLOT_S))
    faults = [
        _PARTITION_BROKERS_FAULTS[number % len(_PARTITION_BROKERS_FAULTS)]
        for number in range(slots)
    ]
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
    faults=_PARTITION_BROKERS_FAULTS,
    draw=_draw_partition_brokers,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)


# Replicas leave the ISR and return, over and over, while leaders change.


_ISR_SHRINK_STORM_SLOT_S = 8.0
_ISR_SHRINK_STORM_FAULTS: tuple[Fault, ...] = (
    NetworkPartition(victim=RandomBroker(), peers=OtherSide.BROKERS),
    Pause(victim=RandomBroker()),
    NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
    Pause(victim=PartitionLeader()),
)


def _draw_isr_shrink_storm(rng: random.Random, nodes: int, duration_s: float) -> Schedule:
    del nodes
    slots = max(1, round(duration_s / _ISR_SHRINK_STORM_SLOT_S))
    faults = [rng.choice(_ISR_SHRINK_STORM_FAULTS) for _ in range(slots)]
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
    faults=_ISR_SHRINK_STORM_FAULTS,
    draw=_draw_isr_shrink_storm,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)


# A leader is cut off from all nodes, and clients with acks=1 go on writing to it.


# Most producers need only the leader's acknowledgement: they stay with one that no node hears. The
# others find the next leader; its log therefore grows more slowly.
_CONTENT = replace(PROMISED, partitions=3, producers=16, acks_leader_share=0.75)


def _turn_stranded_leader(number: int) -> tuple[ScriptStep, ...]:
    name = f"leader {number}"
    return (
        Begin(name=name, fault=NetworkPartition(victim=PartitionLeader())),
        Rest(seconds=7.0),  # longer than its session
        End(name=name),
        Until(condition=Whole(3), within_s=60.0),
    )


_STRANDED_LEADER_SCRIPT = Script(
    steps=(Until(condition=Acknowledged(100)), *_turn_stranded_leader(1), *_turn_stranded_leader(2))
)

STRANDED_LEADER = Scenario(
    name="stranded-leader",
    summary="a leader is cut off from all nodes, and most clients go on writing to it",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Its session ends, and another broker leads. Producers that ask for acks of the leader "
        "alone have an answer each time and stay, so its log grows faster than that of its "
        "successor. Then it is back: it follows, with a log that is longer than its leader's and "
        "has parted from it. Nothing of it counts before it is cut by leader epoch "
        "(KIP-101, KIP-279)."
    ),
    takes=TWO_OF_THREE,
    faults=_STRANDED_LEADER_SCRIPT.faults,
    script=_STRANDED_LEADER_SCRIPT,
    default_duration_s=30.0,
    load=_CONTENT,
    settings=TWO_IN_SYNC,
)


# The coordinator of a group is cut off from all nodes while a client commits offsets.


def _turn_stranded_coordinator(number: int) -> tuple[ScriptStep, ...]:
    """The first partition of all, by name, is one of the groups' log."""
    name = f"coordinator {number}"
    return (
        Begin(name=name, fault=NetworkPartition(victim=PartitionLeader())),
        Rest(seconds=5.0),  # longer than a session
        End(name=name),
        Until(condition=Whole(3), within_s=60.0),
    )


_STRANDED_COORDINATOR_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=2.0),
        *(step for number in (1, 2, 3) for step in _turn_stranded_coordinator(number)),
    )
)

STRANDED_COORDINATOR = Scenario(
    name="stranded-coordinator",
    summary="the coordinator of a group is cut off from all nodes while offsets are committed",
    exists_for=("committed-offsets-are-kept",),
    description=(
        "A commit is on its log and on no other when it is cut off. Another broker leads that "
        "partition then, and coordinates the group by what it has. When the first one hears of "
        "it, the commit is lost: what it says of that may be anything but that it succeeded "
        "(KAFKA-20634)."
    ),
    takes=TWO_OF_THREE,
    faults=_STRANDED_COORDINATOR_SCRIPT.faults,
    script=_STRANDED_COORDINATOR_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, rate=40.0, chores=("committing-offsets",), timeout_s=20.0),
    # A commit waits for longer than the cut lasts.
    settings={
        **TWO_IN_SYNC,
        "offsets.topic.num.partitions": "1",
        "offsets.commit.timeout.ms": "20000",
    },
)


# One broker after another is stopped in good order and started again, under load: also over slow
# links.


_CONTROLLED_SHUTDOWN_ROLL_BROKERS = 3


def _restarted(*then: ScriptStep) -> tuple[ScriptStep, ...]:
    """Each in turn, until all are in sync again."""
    steps: list[ScriptStep] = []
    for broker in range(1, _CONTROLLED_SHUTDOWN_ROLL_BROKERS + 1):
        name = f"broker {broker}"
        steps += [
            Begin(name=name, fault=Terminate(victim=OneNode(NodeId(broker)))),
            Rest(seconds=1.0),
            End(name=name),
            Until(condition=Whole(_CONTROLLED_SHUTDOWN_ROLL_BROKERS), within_s=60.0),
            *then,
        ]
    return tuple(steps)


_UNDER_LOAD = Until(condition=Acknowledged(100))
_CONTROLLED_SHUTDOWN_ROLL_SCRIPT = Script(steps=(_UNDER_LOAD, *_restarted()))

CONTROLLED_SHUTDOWN_ROLL = Scenario(
    name="controlled-shutdown-roll",
    summary="the brokers are stopped in good order and started again, one after another",
    exists_for=("log-durability", "E6-clean-as-vouched"),
    description=(
        "What every upgrade does. A broker that is going hands its partitions over first, is never "
        "brought back into an ISR while it shuts down (KIP-841), and writes down that it ended "
        "well; nothing is lost, and every partition goes on."
    ),
    takes=TWO_OF_THREE,
    faults=_CONTROLLED_SHUTDOWN_ROLL_SCRIPT.faults,
    script=_CONTROLLED_SHUTDOWN_ROLL_SCRIPT,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)

_OVER_SLOW_LINKS = Script(
    steps=(
        _UNDER_LOAD,
        Begin(name="links", fault=SlowLinks(latency_ms=200)),
        *_restarted(Until(condition=PreferredLead(), within_s=30.0)),
        End(name="links"),
    )
)

SLOW_ROLL = Scenario(
    name="slow-roll",
    summary="the brokers are restarted one after another, and links between nodes are slow",
    exists_for=("log-durability", "E6-clean-as-vouched"),
    description=(
        "A broker that is back and in sync is elected for the partitions that prefer it, while the "
        "others are well. Over slow links followers lag all the time: the leader that gives way "
        "has records that its successor lacks, and goes on for as long as it takes to hear of it. "
        "They are cut from its log by leader epoch before the successor counts on it (KIP-101)."
    ),
    takes=TWO_OF_THREE,
    faults=_OVER_SLOW_LINKS.faults,
    script=_OVER_SLOW_LINKS,
    default_duration_s=40.0,
    load=replace(PROMISED, partitions=3, producers=16, acks_leader_share=0.5),
    settings={**TWO_IN_SYNC, "leader.imbalance.check.interval.seconds": "1"},
)


# One broker after another is killed while a partition moves from broker to broker, members of a
# group come and go, and records are deleted.


_ROLL_WHILE_MOVING_BROKERS = 4


def _killed(broker: int) -> tuple[ScriptStep, ...]:
    name = f"broker {broker}"
    return (
        Begin(name=name, fault=Kill(victim=OneNode(NodeId(broker)))),
        Rest(seconds=2.0),
        End(name=name),
        Until(condition=Whole(_ROLL_WHILE_MOVING_BROKERS), within_s=60.0),
        Rest(seconds=1.0),
    )


_ROLL_WHILE_MOVING_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=6.0),  # waits for the first members
        *(step for broker in range(1, _ROLL_WHILE_MOVING_BROKERS + 1) for step in _killed(broker)),
    )
)

ROLL_WHILE_MOVING = Scenario(
    name="roll-while-moving",
    summary="the brokers are killed one after another while a partition moves and members join",
    exists_for=(
        "log-durability",
        "reassigned-when-in-sync",
        "P18-reassignments-end",
        "deleted-records-stay-deleted",
        "committed-offsets-are-kept",
    ),
    description=(
        "All that changes under clients is under way while brokers go and come: an operator adds "
        "partitions and moves one of them to other brokers (KIP-195, KIP-455), members join a "
        "group, leave it or fall silent, a client commits offsets, another one deletes records "
        "(KIP-107), and consumers ask where epochs end (KIP-320). A reassignment is done once all "
        "that are to keep the partition are in sync, and nothing is forgotten on the way."
    ),
    takes=Takes(brokers=range(4, 6), settings={"replication": ("3",), "min_isr": ("2",)}),
    faults=_ROLL_WHILE_MOVING_SCRIPT.faults,
    script=_ROLL_WHILE_MOVING_SCRIPT,
    default_duration_s=40.0,
    load=replace(
        PROMISED,
        producers=4,
        rate=40.0,
        chores=(
            "asking-epochs",
            "committing-offsets",
            "deleting-records",
            "joining-groups",
            "reshaping-topics",
        ),
    ),
    settings={"brokers": "4", **TWO_IN_SYNC},
)


# A broker is paused just after its election, with its followers' requests on the way.


_FIRST = OneNode(NodeId(1))


def _turn_late_answer(number: int) -> tuple[ScriptStep, ...]:
    away, held = f"away {number}", f"held {number}"
    return (
        Begin(name=away, fault=Terminate(victim=_FIRST)),
        Rest(seconds=1.0),
        End(name=away),
        Rest(seconds=1.5),  # until it knows that it leads
        Until(condition=PreferredLead(), within_s=30.0),
        Rest(seconds=0.6),  # until its followers are connected, and their requests on the way
        Begin(name=held, fault=Pause(victim=_FIRST)),
        Rest(seconds=5.5),  # a session, and time for its successor to go on
        End(name=held),
        Until(condition=Whole(3), within_s=60.0),
    )


_LATE_ANSWER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="links", fault=SlowLinks(latency_ms=250)),
        *_turn_late_answer(1),
        *_turn_late_answer(2),
        End(name="links"),
    )
)

LATE_ANSWER = Scenario(
    name="late-answer",
    summary="a broker is paused just as it leads, and answers its followers when another leads",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Broker 1 was away, and is elected where it is preferred, over slow links: those that led "
        "and followed before have records that it lacks, and ask it where their logs part. It is "
        "paused before it answers; another leads, and its followers have gone on when the answer "
        "comes. It says where to cut, and counts for nothing (KAFKA-18991)."
    ),
    takes=TWO_OF_THREE,
    faults=_LATE_ANSWER_SCRIPT.faults,
    script=_LATE_ANSWER_SCRIPT,
    default_duration_s=40.0,
    # Many partitions, so that broker 1 has less of one of them than a follower.
    load=replace(PROMISED, partitions=12, producers=24, acks_leader_share=0.5, rate=240.0),
    needs_its_load=True,
    settings={**TWO_IN_SYNC, "leader.imbalance.check.interval.seconds": "1"},
)


# More partitions than one Fetch of a follower names, and each of two brokers leads them all once.


_MANY_BROKERS = 2
# More than the 2,000 elements that our leaders once took, and than the 1,000 partitions that our
# followers name in one Fetch.
_MANY = 1_010
_MANY_WITHIN_S = 60.0  # longer than `P18-isrs-become-whole` allows for


def _leads_none(name: str, fault: Fault) -> tuple[ScriptStep, ...]:
    """The other one leads all, then it comes back and follows with all of them."""
    return (
        Begin(name=name, fault=fault),
        Rest(seconds=5.0),
        End(name=name),
        Until(condition=Whole(_MANY_BROKERS), within_s=_MANY_WITHIN_S),
    )


_MANY_PARTITIONS_SCRIPT = Script(
    steps=(
        _UNDER_LOAD,
        *_leads_none("stop", Terminate(victim=OneNode(NodeId(1)))),
        *_leads_none("kill", Kill(victim=OneNode(NodeId(2)))),
    )
)

MANY_PARTITIONS = Scenario(
    name="many-partitions",
    summary="two brokers have more partitions than one Fetch names; each is off, and comes back",
    exists_for=("P18-isrs-become-whole", "P18-acknowledged-everywhere"),
    description=(
        "While one broker is off, the other leads every partition. The one that comes back follows "
        "them all from one leader, by several Fetches of a session that names what has changed "
        "(KIP-227). A follower that names more than its leader takes is hung up on, follows "
        "nothing, and the ISRs stay as they are: what is acknowledged is on one disk. Records go "
        "to three of the partitions; the others are there to be named."
    ),
    takes=Takes(brokers=range(_MANY_BROKERS, _MANY_BROKERS + 1), settings={"replication": ("2",)}),
    faults=_MANY_PARTITIONS_SCRIPT.faults,
    script=_MANY_PARTITIONS_SCRIPT,
    default_duration_s=60.0,
    load=replace(PROMISED, partitions=3, idle_partitions=_MANY),
    settings={
        "brokers": f"{_MANY_BROKERS}",
        "replication": f"{_MANY_BROKERS}",
        "min_isr": "1",
        "quorum": "static",
    },
)
