"""Scenarios of what operators change under partitions: the level of eligible leader replicas,
min.insync.replicas, and the brokers that keep them (KIP-966, KIP-455)."""

from collections.abc import Iterator
from dataclasses import replace

from chaos.cluster.interface import AlteredMinIsr, ElrLevel, MoveEnd, NodeId
from chaos.cluster.targets.kafka_settings import BROKER_MIN_ISR
from chaos.nemesis.awaited import Acknowledged, ElrIs, IsrIs, Leaderless, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Terminate
from chaos.nemesis.kinds.upkeep import ReassignPartitions, SetElrLevel, SetMinIsr
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import ALTERED_MIN_ISR, ELR_LEVEL, ExpectedOutcome, Scenario, Side, Takes
from chaos.scenarios.elr import LAST, SECOND, THIRD
from chaos.scenarios.loads import (
    LOSES_AS_ALLOWED,
    LOSES_NOTHING,
    LOSES_RECORDS,
    PROMISED,
    TWO_IN_SYNC,
    TWO_OF_THREE,
)
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# KIP-966: an operator disables eligible leader replicas while one of them holds the records.


_ELR_DOWNGRADE_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="level", fault=SetElrLevel(victim=LAST)),
        End(name="level"),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="last"),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

ELR_DOWNGRADE = Scenario(
    name="elr-downgrade",
    summary="eligible leader replicas are switched off just before they are needed",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As last-replica-standing: the ISR has shrunk to broker 1, and broker 2 is eligible. Then "
        "an operator finalizes level 0 of eligible.leader.replicas.version, which empties every "
        "ELR, and the power of broker 1 fails. It is the only one that may lead, with an empty "
        "log, and what broker 2 still has is thrown away. On the other side the level stays as it "
        "is, and nothing is lost."
    ),
    takes=TWO_OF_THREE,
    faults=_ELR_DOWNGRADE_SCRIPT.faults,
    script=_ELR_DOWNGRADE_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", ELR_LEVEL: ElrLevel.NONE},
    sides=(
        Side(
            name=f"{ELR_LEVEL}={ElrLevel.NONE}",
            settings={ELR_LEVEL: ElrLevel.NONE},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost",
        ),
        Side(
            name=f"{ELR_LEVEL}={ElrLevel.ON}",
            settings={ELR_LEVEL: ElrLevel.ON},
            expected=LOSES_NOTHING,
            promise="none is lost",
        ),
    ),
)


# An operator enables eligible leader replicas while a partition has too few replicas in sync.


def _upgraded(*, leaderless: bool) -> Script:
    """Brokers 3 and 2 are out of the ISR; the level changes before 1 is killed, or after."""
    level: tuple[ScriptStep, ...] = (
        Begin(name="level", fault=SetElrLevel(victim=THIRD if leaderless else LAST)),
        Rest(seconds=1.5),  # clients try meanwhile
        End(name="level"),
    )
    before, after = ((), level) if leaderless else (level, ())
    # Of a partition that no broker may lead any more the judge is to hear.
    end = () if leaderless else (Until(condition=Whole(3), within_s=60.0),)
    return Script(
        steps=(
            Until(condition=Acknowledged(300)),
            Begin(name="third", fault=Kill(victim=THIRD)),
            Until(condition=IsrIs((1, 2))),
            Begin(name="second", fault=Kill(victim=SECOND)),
            Until(condition=IsrIs((1,))),
            *before,
            Begin(name="last", fault=Kill(victim=LAST)),
            Rest(seconds=4.0),  # longer than its session
            End(name="third"),
            Until(condition=Leaderless()),
            *after,
            End(name="second"),
            Rest(seconds=2.0),  # until 2 is unfenced, which was not in the ISR when 1 was
            End(name="last"),
            *end,
        )
    )


_LED_AGAIN = ExpectedOutcome(
    expected=LOSES_NOTHING, promise="none is lost, and the partition is led again"
)
_UPGRADES = tuple(
    Side(
        name=f"{ELR_LEVEL}={level}",
        settings={ELR_LEVEL: level},
        expected=_LED_AGAIN.expected,
        promise=_LED_AGAIN.promise,
    )
    for level in (ElrLevel.ON, ElrLevel.NONE)
)
_NEVER_LED = Expectation(
    verdict=Verdict.INVALID,
    check="can-be-led-again",
    anomaly="has neither ISR, ELR nor a last known leader",
    also=("recovers-when-healed", "serves-in-calm"),
)
_ELR_UPGRADE_SCRIPT = _upgraded(leaderless=True)
_ELR_UPGRADE_BELOW_SCRIPT = _upgraded(leaderless=False)

ELR_UPGRADE = Scenario(
    name="elr-upgrade",
    summary="eligible leader replicas are switched on while a partition has no leader",
    exists_for=("log-durability", "eligible-are-elected"),
    description=(
        "Without eligible leader replicas the ISR shrinks to broker 1, which is killed: the "
        "partition has no leader, and 1 stays in its ISR. An operator finalizes level 1 of "
        "eligible.leader.replicas.version. When 1 is back after its unclean end it leaves the ISR, "
        "which is empty then, as is the ELR; the record that says so has to remember that it led "
        "last, or no broker may ever lead again. Apache Kafka's record does not: it remembers a "
        "leader only as that one leaves. A kill loses no bytes, so nothing is lost. On the other "
        "side the level stays 0."
    ),
    takes=TWO_OF_THREE,
    faults=_ELR_UPGRADE_SCRIPT.faults,
    script=_ELR_UPGRADE_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "off", ELR_LEVEL: ElrLevel.ON},
    sides=(
        replace(
            _UPGRADES[0],
            expected=_NEVER_LED,
            promise="the partition is never led again, though all brokers are there",
            own=_LED_AGAIN,
        ),
        _UPGRADES[1],
    ),
)

ELR_UPGRADE_BELOW = Scenario(
    name="elr-upgrade-below",
    summary="eligible leader replicas are switched on while the ISR is smaller than min ISR",
    exists_for=("log-durability", "eligible-are-elected"),
    description=(
        "As elr-upgrade, but the level changes while broker 1 still leads, alone in the ISR. The "
        "ELR begins empty: brokers that had left the ISR before are not eligible, whatever they "
        "have (KIP-966, Compatibility). When 1 is killed it leaves the ISR for the ELR, and that "
        "one when it registers again; it led last, and is elected."
    ),
    takes=TWO_OF_THREE,
    faults=_ELR_UPGRADE_BELOW_SCRIPT.faults,
    script=_ELR_UPGRADE_BELOW_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "off", ELR_LEVEL: ElrLevel.ON},
    sides=_UPGRADES,
)


# An operator alters min.insync.replicas while one replica is in sync and another one is eligible.


def _unaltered(outcome: ExpectedOutcome) -> Iterator[Side]:
    """The sides on which the topic's value stays: it is set again, or not at all."""
    for value in (AlteredMinIsr.SAME, AlteredMinIsr.UNTOUCHED):
        yield Side(
            name=f"{ALTERED_MIN_ISR}={value}",
            settings={ALTERED_MIN_ISR: value},
            expected=outcome.expected,
            promise=outcome.promise,
        )


_RAISED_MIN_ISR_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=ElrIs((2,))),
        Begin(name="config", fault=SetMinIsr(victim=LAST)),
        End(name="config"),
        Rest(seconds=1.0),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="last"),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

RAISED_MIN_ISR = Scenario(
    name="raised-min-isr",
    summary="min.insync.replicas changes just before an eligible leader replica is needed",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As last-replica-standing with eligible leader replicas: the ISR is broker 1, and 2 is "
        "eligible. Then an operator alters the topic's min.insync.replicas, and the power of 1 "
        "fails. KIP-966 empties the ELR only where the ISR has the new minimum. Apache Kafka "
        "empties it at any change (ClearElrRecord): when the minimum is raised from 2 to 3, which "
        "is to make records safer, broker 1 is the last known leader, comes back with an empty "
        "log, and all is lost. Where it is lowered to 1 the ISR has the minimum, and the KIP "
        "itself drops the ELR: one lost disk is then one too many. On the other sides the same "
        "value is set again, or none."
    ),
    takes=TWO_OF_THREE,
    faults=_RAISED_MIN_ISR_SCRIPT.faults,
    script=_RAISED_MIN_ISR_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", ALTERED_MIN_ISR: AlteredMinIsr.RAISED},
    sides=(
        Side(
            name=f"{ALTERED_MIN_ISR}={AlteredMinIsr.RAISED}",
            settings={ALTERED_MIN_ISR: AlteredMinIsr.RAISED},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost, since their minimum was raised",
            own=ExpectedOutcome(
                expected=LOSES_NOTHING, promise="none is lost: the ELR is kept, as KIP-966 says"
            ),
        ),
        Side(
            name=f"{ALTERED_MIN_ISR}={AlteredMinIsr.LOWERED}",
            settings={ALTERED_MIN_ISR: AlteredMinIsr.LOWERED},
            expected=Expectation(verdict=Verdict.UNKNOWN),
            promise="records are lost; what was promised changed meanwhile, so none is accused",
        ),
        *_unaltered(ExpectedOutcome(expected=LOSES_NOTHING, promise="none is lost")),
    ),
)


# An operator alters min.insync.replicas while the last replica in sync is down.


_STRANDED_PARTITION_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=Terminate(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Terminate(victim=SECOND)),
        Until(condition=ElrIs((2,))),
        Begin(name="last", fault=Terminate(victim=LAST)),
        End(name="third"),
        Until(condition=Leaderless()),
        Begin(name="config", fault=SetMinIsr(victim=THIRD)),
        Rest(seconds=1.5),  # clients try meanwhile
        End(name="config"),
        End(name="second"),
        End(name="last"),
        Rest(seconds=2.0),
    )
)

STRANDED_PARTITION = Scenario(
    name="stranded-partition",
    summary="min.insync.replicas changes while a partition has no leader",
    exists_for=("log-durability", "eligible-are-elected"),
    description=(
        "Brokers 3, 2 and 1 are stopped in good order, one after another, and 3 is started: the "
        "ISR is empty, and 1 and 2 are eligible. Nothing is lost, and nothing was unclean. Then an "
        "operator alters the topic's min.insync.replicas, and 2 and 1 are started. KIP-966 empties "
        "the ELR only where the ISR has the new minimum, which an empty one never has. Apache "
        "Kafka empties it at any change, and the last known leader with it (ClearElrRecord): no "
        "broker may be elected then, whichever is back. On the other sides the same value is set "
        "again, or none."
    ),
    takes=TWO_OF_THREE,
    faults=_STRANDED_PARTITION_SCRIPT.faults,
    script=_STRANDED_PARTITION_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", ALTERED_MIN_ISR: AlteredMinIsr.RAISED},
    sides=(
        Side(
            name=f"{ALTERED_MIN_ISR}={AlteredMinIsr.RAISED}",
            settings={ALTERED_MIN_ISR: AlteredMinIsr.RAISED},
            expected=_NEVER_LED,
            promise="the partition is never led again, though all brokers are there",
            own=_LED_AGAIN,
        ),
        *_unaltered(_LED_AGAIN),
    ),
)


# KAFKA-16540: the files of brokers have another min.insync.replicas than those of controllers.


_DIFFERING_MIN_ISR_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=3.0),  # producers try meanwhile
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="last"),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

DIFFERING_MIN_ISR = Scenario(
    name="differing-min-isr",
    summary="the files of brokers have a smaller min.insync.replicas than those of controllers",
    exists_for=("log-durability", "P17-acknowledged-with-min-isr"),
    description=(
        "The files of controllers have min.insync.replicas=2, those of brokers 1 "
        f"({BROKER_MIN_ISR}), and topics have no value of their own. The ISR shrinks to broker 1, "
        "and then its power fails. Controllers decide by one value who is eligible, and leaders "
        "by one what is acknowledged. If those were their own, broker 2 would be elected from the "
        "ELR, and lack what broker 1 acknowledged alone. A cluster that is formatted with "
        "eligible leader replicas has to have one value for all (KAFKA-16540): nothing is "
        "acknowledged by one replica, and nothing lost. Without them leaders go by their own "
        "files, and what broker 1 acknowledged alone is lost, as one replica was enough."
    ),
    takes=TWO_OF_THREE,
    faults=_DIFFERING_MIN_ISR_SCRIPT.faults,
    script=_DIFFERING_MIN_ISR_SCRIPT,
    default_duration_s=35.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", BROKER_MIN_ISR: "1"},
    sides=(
        Side(
            name=f"{BROKER_MIN_ISR}=1",
            settings={"elr": "on", BROKER_MIN_ISR: "1"},
            expected=LOSES_NOTHING,
            promise="none is lost: the cluster has one min.insync.replicas, that of controllers",
        ),
        Side(
            name=f"{BROKER_MIN_ISR}=2",
            settings={"elr": "on", BROKER_MIN_ISR: "2"},
            expected=LOSES_NOTHING,
            promise="none is lost: all files have the same",
        ),
        Side(
            name="elr=off",
            settings={"elr": "off", BROKER_MIN_ISR: "1"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost that one replica acknowledged, as brokers' files allow",
        ),
    ),
)


# Partitions move, moves are cancelled, power fails and a disk is lost meanwhile.


_BROKERS = 4
_ONE, _TWO, _THREE, _FOUR = (OneNode(NodeId(node)) for node in range(1, _BROKERS + 1))
_ALL_WELL = Until(condition=Whole(_BROKERS), within_s=60.0)

_REASSIGN_UNDER_FIRE_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(200)),
        # Cancelled while it gets on nowhere, after a replica that is to be removed lost its power.
        Begin(name="apart", fault=NetworkPartition(victim=_FOUR, peers=OtherSide.BROKERS)),
        Begin(name="first", fault=ReassignPartitions(victim=_FOUR, end=MoveEnd.CANCELLED)),
        Rest(seconds=1.0),
        Begin(name="power", fault=PowerOff(victim=_ONE)),
        Rest(seconds=1.0),
        End(name="power"),
        End(name="first"),
        End(name="apart"),
        _ALL_WELL,
        # Done while a replica that stays is away.
        Begin(name="second", fault=ReassignPartitions(victim=_FOUR)),
        Begin(name="kill", fault=Kill(victim=_TWO)),
        Rest(seconds=2.0),
        End(name="kill"),
        End(name="second"),
        _ALL_WELL,
        # The new replica's disk is lost as soon as it is asked for.
        Begin(name="last", fault=ReassignPartitions(victim=_THREE)),
        Begin(name="wipe", fault=Wipe(victim=_THREE)),
        Rest(seconds=1.0),
        End(name="wipe"),
        End(name="last"),
        _ALL_WELL,
    )
)

REASSIGN_UNDER_FIRE = Scenario(
    name="reassign-under-fire",
    summary="partitions move between brokers while power fails, brokers die and a disk is lost",
    exists_for=("log-durability", "reassigned-when-in-sync", "P18-reassignments-end"),
    description=(
        "An operator moves partitions three times, each to a broker that has no replica of them "
        "yet, in place of the first one. The first move gets on nowhere, for the new broker is cut "
        "off from the others; the power of one that is to be replaced fails, and the move is "
        "cancelled. The second one goes on while a broker that stays is killed. At the third the "
        "new replica's disk is lost. A reassignment is done when all that are to keep the "
        "partition are in sync, at least min ISR of them, and cancelled under the same rule "
        '(KIP-966, "Other behaviors" 4), so nothing that was acknowledged is lost.'
    ),
    takes=Takes(
        brokers=range(_BROKERS, _BROKERS + 1),
        settings={"replication": ("3",), "min_isr": ("2",)},
    ),
    faults=_REASSIGN_UNDER_FIRE_SCRIPT.faults,
    script=_REASSIGN_UNDER_FIRE_SCRIPT,
    default_duration_s=45.0,
    load=replace(PROMISED, partitions=8),
    settings={"brokers": str(_BROKERS), **TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_NOTHING,
            promise="none is lost",
        ),
    ),
)
