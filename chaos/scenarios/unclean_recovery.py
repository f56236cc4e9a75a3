"""Scenarios of unclean recovery: logs are compared, or an operator decides (KIP-966, part two)."""

from dataclasses import replace

from chaos.cluster.interface import Designated, ElectionType
from chaos.nemesis.awaited import Acknowledged, IsrIs, Leaderless, Led, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause, Terminate
from chaos.nemesis.kinds.upkeep import ElectLeaders
from chaos.nemesis.script import Begin, End, Rest, Script, Until, UntilLed
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import DESIGNATED, Scenario, Side
from chaos.scenarios.elr import LAST, SECOND, THIRD
from chaos.scenarios.loads import (
    LOSES_AS_ALLOWED,
    LOSES_NOTHING,
    PROMISED,
    TWO_IN_SYNC,
    TWO_OF_THREE,
)

# Every member of ISR and ELR was shut down uncleanly, and they come back the worst first.


_UNCLEAN_RECOVERY_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=Kill(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=4.0),  # longer than its session: nothing leads, and 1 and 2 are eligible
        End(name="third"),
        Rest(seconds=2.0),  # until 3 is unfenced, which lacks what was acknowledged without it
        End(name="last"),
        Rest(seconds=2.0),  # until 1 is, whose disk forgot what it had
        End(name="second"),
        Rest(seconds=3.0),  # until 2 is: now all are back, and only an operator can change anything
        Begin(name="operator", fault=ElectLeaders(victim=SECOND)),
        Rest(seconds=1.0),  # clients are served meanwhile
        End(name="operator"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

UNCLEAN_RECOVERY = Scenario(
    name="unclean-recovery",
    summary="all brokers go down uncleanly, and come back the worst first: which may lead?",
    exists_for=("log-durability", "E10-best-replica-is-elected"),
    description=(
        "Brokers 3 and 2 are killed, then the power of 1 fails, so that no broker is eligible. "
        "They come back one by one: 3 first, which lacks the records that were acknowledged "
        "without it, then 1, whose disk forgot all, and at last 2, which has everything. With the "
        "unclean recovery manager of KIP-966's part two the controller compares logs. Under "
        "Aggressive it takes the best of those that are there, and the rest is lost, as was asked "
        "for; under Balanced it waits for both that were eligible last, and nothing is lost. Under "
        "None it does nothing: the partition has no leader until an operator asks for the longest "
        "log, and nothing is lost either. With unclean.leader.election.enable instead of a manager "
        "the first one that is there leads, whatever it has."
    ),
    takes=TWO_OF_THREE,
    faults=_UNCLEAN_RECOVERY_SCRIPT.faults,
    script=_UNCLEAN_RECOVERY_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", "recovery": "balanced"},
    sides=(
        Side(
            name="recovery=aggressive",
            settings={"recovery": "aggressive"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as was asked for",
        ),
        Side(
            name="recovery=balanced",
            settings={"recovery": "balanced"},
            expected=LOSES_NOTHING,
            promise="none is lost: the broker that has them all is waited for",
        ),
        Side(
            name="recovery=none",
            settings={"recovery": "none"},
            expected=LOSES_NOTHING,
            promise="none is lost: an operator is waited for",
        ),
        Side(
            name="unclean=on",
            settings={"recovery": "off", "unclean": "on"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as was asked for",
        ),
    ),
)


# A longer log that ends in an earlier leader epoch.


_OLDER_LOG_SCRIPT = Script(
    steps=(
        # Any broker may be the first leader; 1 has to be.
        Until(condition=Acknowledged(50)),
        Begin(name="third away", fault=Terminate(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second away", fault=Terminate(victim=SECOND)),
        Until(condition=Led((1,))),
        End(name="third away"),
        End(name="second away"),
        Until(condition=Whole(3)),
        Until(condition=Acknowledged(200)),
        Begin(name="cut", fault=NetworkPartition(victim=LAST, peers=OtherSide.BROKERS)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=3.0),  # 1 alone takes what producers with acks=1 send
        Begin(name="old", fault=Kill(victim=LAST)),
        Until(condition=Led((2, 3))),
        End(name="cut"),
        Rest(seconds=0.5),  # fewer records, of a later leader epoch
        Begin(name="third", fault=Kill(victim=THIRD)),
        Begin(name="second", fault=Kill(victim=SECOND)),
        Rest(seconds=4.0),  # longer than their sessions
        End(name="old"),
        Rest(seconds=2.0),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

OLDER_LOG = Scenario(
    name="older-log",
    summary="the longest of the logs that are compared ends in an earlier leader epoch",
    exists_for=("log-durability", "E10-best-replica-is-elected"),
    description=(
        "Broker 1 is cut off from the other brokers, and goes on alone: producers with acks=1 fill "
        "its log. It is killed; 2 leads in a later epoch, and acknowledges fewer records with 3. "
        "Then all are down, and come back after a kill: no broker is eligible, and logs are "
        "compared. That of 1 is the longest, and lacks what was acknowledged in the later epoch. "
        "The leader epoch of a log's end counts first, and its length second."
    ),
    takes=TWO_OF_THREE,
    faults=_OLDER_LOG_SCRIPT.faults,
    script=_OLDER_LOG_SCRIPT,
    default_duration_s=35.0,
    load=replace(PROMISED, acks_leader_share=0.5),
    settings={**TWO_IN_SYNC, "elr": "on", "recovery": "balanced"},
    sides=(
        Side(
            name="recovery=balanced",
            settings={"recovery": "balanced"},
            expected=LOSES_NOTHING,
            promise="nothing that all of the ISR acknowledged is lost",
        ),
    ),
)


# An operator names the leader of a partition that has none.


_DESIGNATED_LEADER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=Kill(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="third"),
        End(name="last"),
        End(name="second"),
        Rest(seconds=3.0),  # until all are unfenced
        Until(condition=Leaderless()),
        Begin(
            name="operator",
            fault=ElectLeaders(victim=SECOND, election=ElectionType.DESIGNATION),
        ),
        Rest(seconds=1.0),  # clients are served meanwhile
        End(name="operator"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

DESIGNATED_LEADER = Scenario(
    name="designated-leader",
    summary="no broker is eligible, and an operator names the one that is to lead",
    exists_for=("log-durability",),
    description=(
        "All brokers went down uncleanly, and are back; under None the controller elects none of "
        "them. An operator designates the leader (ElectLeaders 3 of KIP-966's part two): broker 2, "
        "which has everything, and nothing is lost; or broker 3, which lacks what was acknowledged "
        "without it, and that is lost, as was asked for."
    ),
    takes=TWO_OF_THREE,
    faults=_DESIGNATED_LEADER_SCRIPT.faults,
    script=_DESIGNATED_LEADER_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", "recovery": "none", DESIGNATED: Designated.BEST},
    sides=(
        Side(
            name=f"{DESIGNATED}={Designated.BEST}",
            settings={"recovery": "none", DESIGNATED: Designated.BEST},
            expected=LOSES_NOTHING,
            promise="none is lost: the operator named a broker that has them all",
        ),
        Side(
            name=f"{DESIGNATED}={Designated.WORST}",
            settings={"recovery": "none", DESIGNATED: Designated.WORST},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as was asked for",
        ),
    ),
)


# The controller and the best replica die in turn while logs are asked for.


_RECOVERY_INTERRUPTED_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=Kill(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=Kill(victim=LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="third"),
        Rest(seconds=2.0),
        End(name="last"),
        Rest(seconds=2.0),
        Begin(name="silent", fault=Pause(victim=LAST)),  # its answer is waited for
        End(name="second"),
        Rest(seconds=1.5),  # until 2 is unfenced: 2 and 3 have answered
        Begin(name="controller", fault=Kill(victim=ControllerLeader())),
        UntilLed(anew=True),
        Rest(seconds=0.5),  # until it has asked anew
        End(name="controller"),
        Begin(name="best", fault=PowerOff(victim=SECOND)),  # what it answered is no more so
        Rest(seconds=0.5),
        End(name="best"),
        End(name="silent"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

RECOVERY_INTERRUPTED = Scenario(
    name="recovery-interrupted",
    summary="the controller and the best replica die in turn while logs are compared",
    exists_for=("log-durability", "E10-best-replica-is-elected"),
    description=(
        "All brokers are killed, and come back; under Balanced the controller asks where their "
        "logs end. Broker 1 is paused, so that its answer is waited for. The controller dies, and "
        "another one asks anew, for nothing of a recovery is in the metadata log. Then the power "
        "of broker 2 fails, which had answered that it has everything: it is back with less, and "
        "its answer counts no more. Broker 1 has everything as well, goes on, and is elected."
    ),
    takes=replace(TWO_OF_THREE, voters=range(3, 4)),
    faults=_RECOVERY_INTERRUPTED_SCRIPT.faults,
    script=_RECOVERY_INTERRUPTED_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", "recovery": "balanced", "controllers": "3"},
    sides=(
        Side(
            name="recovery=balanced",
            settings={"recovery": "balanced"},
            expected=LOSES_NOTHING,
            promise="none is lost: an answer from before a restart counts for nothing",
        ),
    ),
)
