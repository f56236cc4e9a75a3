"""Scenarios of eligible leader replicas (KIP-966)."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, ElrIs, IsrIs, Leaderless, Led, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Terminate
from chaos.nemesis.kinds.upkeep import MoveReplicas
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import (
    AS_PROMISED,
    LOSES_AS_ALLOWED,
    LOSES_NOTHING,
    LOSES_RECORDS,
    PROMISED,
    THREE_BROKERS,
    TWO_IN_SYNC,
    TWO_OF_THREE,
)
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

# How the ISR shrinks to one broker, which then loses its power.


LAST, SECOND, THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))


def last_loses_power(third: Fault, second: Fault) -> Script:
    """Brokers 3 and 2 are out of the ISR until 1 is back."""
    return Script(
        steps=(
            Until(condition=Acknowledged(300)),
            Begin(name="third", fault=third),
            Until(condition=IsrIs((1, 2))),
            Begin(name="second", fault=second),
            Until(condition=IsrIs((1,))),
            Begin(name="last", fault=PowerOff(victim=LAST)),
            Rest(seconds=1.0),
            End(name="last"),
            End(name="third"),
            End(name="second"),
            Until(condition=Whole(3), within_s=60.0),
        )
    )


# KIP-966: the last in-sync replica loses power after all others fell out of the ISR.


_LAST_REPLICA_STANDING_SCRIPT = last_loses_power(
    third=NetworkPartition(victim=THIRD), second=NetworkPartition(victim=SECOND)
)

LAST_REPLICA_STANDING = Scenario(
    name="last-replica-standing",
    summary="the ISR shrinks to one broker, and then that one loses its power",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "With min ISR 2, every acknowledged record is on two disks at least. Brokers 3 and 2 are "
        "cut off, so the ISR shrinks to broker 1, which holds everything in its page cache. Then "
        "its power fails. Without eligible leader replicas (elr=off) it comes back as the only one "
        "that may lead, with an empty log, and the others throw away what they still have: all is "
        "lost although a single disk forgot anything. With them (elr=on) the controller sees that "
        "it was shut down uncleanly and elects broker 2 (KIP-966)."
    ),
    takes=TWO_OF_THREE,
    faults=_LAST_REPLICA_STANDING_SCRIPT.faults,
    script=_LAST_REPLICA_STANDING_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="elr=off",
            settings={"elr": "off"},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost",
        ),
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_NOTHING,
            promise="none is lost",
        ),
    ),
)


# What part one of KIP-966 cannot save: every member of ISR and ELR was shut down uncleanly.


_ALL_UNCLEAN_SCRIPT = last_loses_power(third=Kill(victim=THIRD), second=Kill(victim=SECOND))

ALL_UNCLEAN = Scenario(
    name="all-unclean",
    summary="two brokers are killed, the third loses its power: loss, although two hold everything",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As last-replica-standing, but brokers 3 and 2 are killed instead of cut off. Their disks "
        "hold every record, but a process that was killed left no sign of a clean shutdown, so "
        "each of them leaves the ELR as it registers. The last known leader is elected, which lost "
        "its page cache: more unclean shutdowns than min ISR - 1, so the loss is allowed and "
        "counted apart. Comparing logs would have saved them (KIP-966 part two)."
    ),
    takes=TWO_OF_THREE,
    faults=_ALL_UNCLEAN_SCRIPT.faults,
    script=_ALL_UNCLEAN_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, and more disks than allowed were shut down uncleanly",
        ),
    ),
)


# A replica moves to another log directory while a broker that may be elected is off.


_ELR_WIPED_LAST, _ELR_WIPED_SECOND, _ELR_WIPED_THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))

_ELR_WIPED_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        # Any broker but 3 may lead, as 3 is fenced. Then 3 is back, with the controller alone.
        Begin(
            name="fence",
            fault=NetworkPartition(victim=_ELR_WIPED_THIRD, peers=OtherSide.CONTROLLERS),
        ),
        Until(condition=IsrIs((1, 2))),
        Begin(
            name="third", fault=NetworkPartition(victim=_ELR_WIPED_THIRD, peers=OtherSide.BROKERS)
        ),
        End(name="fence"),
        Begin(name="second", fault=Terminate(victim=_ELR_WIPED_SECOND)),
        Until(condition=IsrIs((1,))),
        Until(condition=ElrIs((2,))),
        Begin(name="move", fault=MoveReplicas(victim=_ELR_WIPED_THIRD)),
        End(name="move"),
        Rest(seconds=1.0),
        Begin(name="last", fault=PowerOff(victim=_ELR_WIPED_LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="second"),
        End(name="third"),
        Rest(seconds=3.0),  # until 2 is unfenced, and may lead
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

ELR_WIPED = Scenario(
    name="elr-wiped",
    summary="a replica moves to another log directory while the broker in the ELR is off",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "KIP-966's own scenario with one step more. Broker 3 falls out of the ISR, broker 2 is "
        "stopped in good order and waits in the ELR, broker 1 is the last in the ISR. Then 3 moves "
        "its replica to its other log directory, and tells the controller so "
        "(AssignReplicasToDirs). Releases before 4.3.0 empty the ELR in the record that notes the "
        "directory. When the power of 1 fails, 2 may not be elected, although it holds everything."
    ),
    takes=TWO_OF_THREE,
    faults=_ELR_WIPED_SCRIPT.faults,
    script=_ELR_WIPED_SCRIPT,
    default_duration_s=45.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", "log_dirs": "2"},
    sides=(
        Side(
            name="kafka 4.2.1",
            release="4.2.1",
            settings={},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost, though one broker alone went down uncleanly",
        ),
        Side(
            name="kafka 4.3.1",
            release="4.3.1",
            settings={},
            expected=LOSES_NOTHING,
            promise="none is",
        ),
    ),
)


# Unclean leader election as requested: its losses are counted.


_UNCLEAN_LEADER_LAST, _UNCLEAN_LEADER_SECOND, _UNCLEAN_LEADER_THIRD = (
    OneNode(NodeId(node)) for node in (1, 2, 3)
)

_UNCLEAN_LEADER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="third", fault=NetworkPartition(victim=_UNCLEAN_LEADER_THIRD)),
        Begin(name="second", fault=NetworkPartition(victim=_UNCLEAN_LEADER_SECOND)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=3.0),  # with min ISR 1, records are acknowledged that only broker 1 has
        Begin(name="last", fault=NetworkPartition(victim=_UNCLEAN_LEADER_LAST)),
        End(name="third"),
        End(name="second"),
        Until(condition=Led((2, 3)), within_s=30.0),
        Rest(seconds=2.0),
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

UNCLEAN_LEADER = Scenario(
    name="unclean-leader",
    summary="the only in-sync replica is away, and another replica may lead",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "With unclean.leader.election.enable and min ISR 1, broker 1 acknowledges records that "
        "no other has, and is cut off. Another is elected that never had them. The loss was "
        "asked for: it is counted, not accused."
    ),
    takes=THREE_BROKERS,
    faults=_UNCLEAN_LEADER_SCRIPT.faults,
    script=_UNCLEAN_LEADER_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={"min_isr": "1", "unclean": "on", "elr": "off", "quorum": "static"},
    sides=(
        Side(
            name="unclean=on",
            settings={"unclean": "on"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as was asked for",
        ),
    ),
)


# KIP-966: a leader comes back after a power failure, and must not lead before it has caught up.


_UNCLEAN_LEADER_REGISTERED_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="leader", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="leader"),
        Until(condition=Led((SECOND.node,))),
        End(name="third"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

UNCLEAN_LEADER_REGISTERED = Scenario(
    name="unclean-leader-registered",
    summary="the leader loses its power, and registers again as one that was shut down uncleanly",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Brokers 1 and 2 are in sync, and the power of 1, which leads, fails. It is back within "
        "seconds, with less in its log than it acknowledged. A broker that registers after an "
        "unclean shutdown is taken out of every ISR and ELR before its registration is written "
        "(KIP-966, "
        '"Controller behaviors" 4): broker 2 leads, and 1 joins again when it has caught up. If '
        "it led on, or was still eligible, the others would throw away what it lost."
    ),
    takes=TWO_OF_THREE,
    faults=_UNCLEAN_LEADER_REGISTERED_SCRIPT.faults,
    script=_UNCLEAN_LEADER_REGISTERED_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=tuple(
        Side(
            name=f"elr={elr}",
            settings={"elr": elr},
            expected=LOSES_NOTHING,
            promise="none is lost: the other one leads",
        )
        for elr in ("off", "on")
    ),
)


# Every member of ISR and ELR was killed: which may lead before the last leader is unfenced?


_FENCED_LAST_LEADER_LAST, _FENCED_LAST_LEADER_SECOND, _FENCED_LAST_LEADER_THIRD = (
    OneNode(NodeId(node)) for node in (1, 2, 3)
)

_FENCED_LAST_LEADER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="third", fault=Kill(victim=_FENCED_LAST_LEADER_THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=_FENCED_LAST_LEADER_SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=Kill(victim=_FENCED_LAST_LEADER_LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="third"),
        End(name="second"),
        Until(condition=Leaderless()),
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FENCED_LAST_LEADER = Scenario(
    name="fenced-last-leader",
    summary="all brokers are killed, and the last known leader comes back after the others",
    exists_for=("P3-only-active-brokers-lead",),
    description=(
        "Each broker that comes back after a kill leaves the ELR as it registers. With the last "
        "one both ISR and ELR are empty, and the last known leader may be elected, but not before "
        "it is unfenced. Releases before 4.1.0 elect it at once (KAFKA-19522). A kill loses no "
        "bytes, so nothing is lost on either side."
    ),
    takes=TWO_OF_THREE,
    faults=_FENCED_LAST_LEADER_SCRIPT.faults,
    script=_FENCED_LAST_LEADER_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="kafka 4.0.2",
            release="4.0.2",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="P3-only-active-brokers-lead",
                also=("E5-unclean-registration-drops",),
            ),
            promise="a broker is leader while it is fenced",
        ),
        Side(
            name="kafka 4.1.0",
            release="4.1.0",
            settings={},
            expected=AS_PROMISED,
            promise="none is",
        ),
    ),
)


# KIP-966: while the ISR is too small, a leader appends records and shows none of them.


_HWM_UNDER_MIN_ISR_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(200)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=8.0),  # producers with acks=1 are served meanwhile
        End(name="second"),
        End(name="third"),
        Until(condition=Whole(3), within_s=60.0),
    )
)
# Records that only the leader acknowledged, and that a consumer got once the ISR was large enough.
_WITHHELD = Expectation(
    verdict=Verdict.VALID,
    numbers=(Bound(check="P8-shown-with-min-isr", name="withheld", least=1),),
)

HWM_UNDER_MIN_ISR = Scenario(
    name="hwm-under-min-isr",
    summary="the ISR is smaller than min ISR, and producers that do not mind go on",
    exists_for=("P8-shown-with-min-isr",),
    description=(
        "Brokers 3 and 2 are cut off, so the ISR shrinks to broker 1, with min ISR 2. Producers "
        "with acks=all are refused; half of them ask for the leader's word alone, or for none, and "
        "are served. What they write must not be shown to any consumer before the ISR is large "
        "enough again: the high watermark waits (KIP-966, KAFKA-15583), or eligible replicas could "
        "lack what a consumer has read."
    ),
    takes=TWO_OF_THREE,
    faults=_HWM_UNDER_MIN_ISR_SCRIPT.faults,
    script=_HWM_UNDER_MIN_ISR_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, acks_leader_share=0.4, acks_none_share=0.1),
    settings=TWO_IN_SYNC,
    sides=tuple(
        Side(
            name=f"elr={elr}",
            settings={"elr": elr},
            expected=_WITHHELD,
            promise="what the leader alone has is shown to no consumer",
        )
        for elr in ("off", "on")
    ),
)


# KIP-966, "Public-Facing Changes" 3b: the eligible replica that leads is a degraded one.


_DEGRADED_LEADER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        # Whichever of the two led, 1 does now, as 2 is fenced. Then 2 is back, with the controllers
        # alone.
        Begin(name="fence", fault=NetworkPartition(victim=SECOND, peers=OtherSide.CONTROLLERS)),
        Until(condition=Led((1,))),
        Until(condition=IsrIs((1,))),
        Begin(name="degraded", fault=NetworkPartition(victim=SECOND, peers=OtherSide.BROKERS)),
        End(name="fence"),
        Until(condition=ElrIs((2,))),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Until(condition=Led((2,))),
        End(name="last"),
        Rest(seconds=4.0),  # 1 does not reach its leader, which serves acks=1 alone
        End(name="degraded"),
        End(name="third"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

DEGRADED_LEADER = Scenario(
    name="degraded-leader",
    summary="the only eligible replica is on a broker that other brokers do not reach, and leads",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Broker 2 falls out of the ISR since its links to other brokers are bad; it hears the "
        "controllers, and is eligible. The power of 1, the last in the ISR, fails, and 2 is "
        "elected: a broker that no follower reaches. KIP-966 takes that for durability's sake "
        '("Public-Facing Changes" 3b): nothing that was acknowledged is lost, and producers with '
        "acks=all are refused until the links are well again. What acks=1 sends meanwhile is "
        "shown to consumers only then."
    ),
    takes=TWO_OF_THREE,
    faults=_DEGRADED_LEADER_SCRIPT.faults,
    script=_DEGRADED_LEADER_SCRIPT,
    default_duration_s=30.0,
    load=replace(PROMISED, acks_leader_share=0.4),
    settings={**TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_NOTHING,
            promise="nothing that all of the ISR acknowledged is lost",
        ),
    ),
)
