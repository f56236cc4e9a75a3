"""Scenarios of Apache Kafka's quorum: elections, lost disks, unknown requests, cut-off brokers."""

from dataclasses import replace

from chaos.cluster.interface import DiskTrouble, NodeId
from chaos.conditions import Conditions
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Pause
from chaos.nemesis.script import Begin, End, Rest, Script, StartAll, Until, UntilLed, UntilNoVoter
from chaos.nemesis.victims import ControllerLeader, OneNode, PartitionLeader, RandomFollower
from chaos.scenario import ExpectedOutcome, OnKafka, Scenario, Side
from chaos.scenarios.loads import (
    AS_PROMISED,
    FORGETS_TOPICS,
    ONE_BROKER,
    PROMISED,
    THREE_BROKERS,
    THREE_OF_BOTH,
    THREE_VOTERS_ONE_BROKER,
    ends_by_itself,
)
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

# The first leader resigns before its first records are in its log, and is elected again.


_COMING_UP = Script(
    steps=(
        # Its log stays empty, so that it cannot be elected before a node that has a record.
        Begin(
            name="late",
            fault=NetworkPartition(victim=OneNode(NodeId(4)), peers=OtherSide.CONTROLLERS),
        ),
        StartAll(),
        UntilLed(within_s=60.0),
        # The only follower: now every node is alone.
        Begin(
            name="follower",
            fault=NetworkPartition(victim=RandomFollower(), peers=OtherSide.CONTROLLERS),
        ),
        Rest(seconds=2.5),  # after 1.5 s without a majority the leader resigns
        End(name="late"),
        UntilLed(anew=True, within_s=60.0),
        End(name="follower"),
    )
)
_BOOTSTRAP_RACE_SCRIPT = Script(
    steps=(Until(condition=Acknowledged(50)), Until(condition=Whole(1)))
)

BOOTSTRAP_RACE = Scenario(
    name="bootstrap-race",
    summary="the first leader resigns before its first records are in the log, and leads again",
    exists_for=("nodes-kept-running",),
    description=(
        "The first leader of a new cluster writes what it was formatted with, metadata.version "
        "before all else. Records wait a while before they go into the log "
        "(controller.quorum.append.linger.ms, here longer than usual), and meanwhile the two "
        "others are cut off. The leader resigns, and what waited is gone; then the one that never "
        "heard of it is back and elects it again. Its log has no record of the controller's, "
        "though it had replayed some. Releases that ask whether anything was ever replayed write "
        "no metadata.version then (KAFKA-20839), and every node that reads that log ends."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_COMING_UP.faults,
    coming_up=_COMING_UP,
    script=_BOOTSTRAP_RACE_SCRIPT,
    default_duration_s=30.0,
    conditions=Conditions(append_linger_ms=5000, fetch_timeout_ms=1000),
    load=PROMISED,
    settings={
        **ONE_BROKER,
        "quorum": "dynamic",
        "controllers": "3",
    },
    # A broker waits for several writes, each of which takes its time.
    on_kafka=OnKafka(settings={"initial.broker.registration.timeout.ms": "180000"}),
    sides=(
        Side(
            name="kafka 4.0.2",
            release="4.0.2",
            settings={},
            expected=ends_by_itself("Unknown metadata version"),
            promise="controllers end by themselves, and there never is a cluster",
        ),
        Side(
            name="kafka 4.2.1",
            release="4.2.1",
            settings={},
            expected=AS_PROMISED,
            promise="the first records are written by the second time, and all is well",
        ),
    ),
)


# A controller's disk is lost and the quorum is not informed: does its node vote again by itself?


_AUTO_JOIN = "controller.quorum.auto.join.enable"
_AUTO_JOIN_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="disk", fault=Wipe(victim=RandomFollower())),
        Rest(seconds=1.0),
        End(name="disk"),
        # Its old entry is gone then, and its new one is not there yet.
        UntilNoVoter(name="disk", where=(_AUTO_JOIN, "true")),
        Begin(
            name="cut",
            fault=NetworkPartition(victim=ControllerLeader(), peers=OtherSide.CONTROLLERS),
        ),
        Rest(seconds=5.0),
        End(name="cut"),
        Rest(seconds=10.0),
        Begin(name="power", fault=PowerOff(victim=ControllerLeader())),
        Rest(seconds=25.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)
_GAP = "longest_without_topic_s"

AUTO_JOIN = Scenario(
    name="auto-join",
    summary="a controller comes back with a new disk, and then the power of the leader fails",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "Of three controllers in a dynamic quorum one comes back with a new disk, which is a "
        "replica that was never voted in; the one that it was still votes. With "
        "controller.quorum.auto.join.enable (4.2.0 and later) it has its old entry removed and "
        "itself added, one request after the other. Between the two, when the leader tells that "
        "it is no voter (otherwise as soon as it serves), the leader is cut off for some seconds. "
        "Then the leader's power fails: where the new replica votes, another one leads within "
        "seconds. Where it does not, one of three voters is lost and one has no power, and no node "
        "leads until that one is back."
    ),
    takes=THREE_OF_BOTH,
    faults=_AUTO_JOIN_SCRIPT.faults,
    script=_AUTO_JOIN_SCRIPT,
    default_duration_s=50.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={"min_isr": "2", "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{_AUTO_JOIN}=true",
            settings={_AUTO_JOIN: "true"},
            expected=Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, most=25.0),)),
            promise="it votes by itself, and another one leads within seconds",
        ),
        Side(
            name=f"{_AUTO_JOIN}=false",
            settings={_AUTO_JOIN: "false"},
            expected=Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, least=25.0),)),
            promise="no node leads, and no topic is created, until the power is back",
        ),
    ),
)


# Without any fault, a client asks controllers for an operation that does not exist.


_ALTERING = replace(
    PROMISED, producers=2, consumers=1, rate=20.0, chores=("unknown-operations",), timeout_s=8.0
)

UNKNOWN_OPERATION = Scenario(
    name="unknown-operation",
    summary="a client asks for an operation that does not exist, without any fault",
    exists_for=("no-request-unseats",),
    description=(
        "A client alters a configuration through the brokers (IncrementalAlterConfigs), once a "
        "second, and asks between any two requests in which epoch the quorum is led. The operation "
        "is one that there is not. Apache Kafka's active controller takes that for an error of its "
        "own: it answers UNKNOWN_SERVER_ERROR, gives up its leadership, and another election is "
        "held. The other side asks for an operation that there is."
    ),
    takes=THREE_BROKERS,
    faults=(),
    default_duration_s=20.0,
    load=_ALTERING,
    settings={"min_isr": "2", "quorum": "static", "controllers": "3"},
    sides=(
        Side(
            name="an operation that there is not",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID, check="no-request-unseats", anomaly="unseated controller"
            ),
            promise="the active controller gives up its leadership",
            own=ExpectedOutcome(expected=AS_PROMISED, promise="it goes on leading"),
        ),
        Side(
            name="a known operation",
            settings={},
            chores=("known-operations",),
            expected=AS_PROMISED,
            promise="it goes on leading",
        ),
    ),
)


# The active controller's power fails while it waits for its disk: what had it acknowledged?


_LONE_CONTROLLER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="power", fault=PowerOff(victim=ControllerLeader(), disks=DiskTrouble.STALLED)),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

LONE_CONTROLLER = Scenario(
    name="lone-controller",
    summary="the active controller's power fails while its disk is slow and topics are created",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "A controller appends a record, and answers when it is committed. The leader of one voter "
        "is a majority by itself: Apache Kafka raises its high watermark as soon as the record is "
        "appended, answers, and syncs afterwards. If the power fails in between, a topic that was "
        "acknowledged was never created. Of three voters another one must have the record, which "
        "it is sent after the sync. Syncs take a second here, and the one that waits at the cut is "
        "held back."
    ),
    takes=THREE_BROKERS,
    faults=_LONE_CONTROLLER_SCRIPT.faults,
    script=_LONE_CONTROLLER_SCRIPT,
    default_duration_s=30.0,
    load=replace(PROMISED, admin_rate=20.0),
    settings={"min_isr": "2", "quorum": "static"},
    sides=(
        Side(
            name="controllers=1",
            settings={"controllers": "1"},
            expected=FORGETS_TOPICS,
            promise="an acknowledged topic was never created",
        ),
        Side(
            name="controllers=3",
            settings={"controllers": "3"},
            expected=AS_PROMISED,
            promise="all topics that were acknowledged are there",
        ),
    ),
)


# A broker is cut off from the controllers, and the one in its bootstrap list does not lead.


_BOOTSTRAP = OneNode(NodeId(4))

_LOST_OBSERVER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        # If it led, another one does now.
        Begin(name="pause", fault=Pause(victim=_BOOTSTRAP)),
        Rest(seconds=5.0),
        End(name="pause"),
        Rest(seconds=3.0),  # until brokers find the leader
        Until(condition=Whole(3)),
        Begin(
            name="cut",
            fault=NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
        ),
        Rest(seconds=8.0),  # its session is over by then, and another broker leads
        End(name="cut"),  # the judge decides whether all are in sync again
    )
)
_NEVER_BACK = Expectation(
    verdict=Verdict.INVALID,
    check="recovers-when-healed",
    anomaly="replicas were still out of sync",
    also=("P18-told-partitions-are-new",),  # it answers from its last known metadata
)

LOST_OBSERVER = Scenario(
    name="lost-observer",
    summary="a broker is cut off from controllers, of which its configuration names one follower",
    exists_for=("recovers-when-healed",),
    description=(
        "Brokers know one of three controllers by their configuration "
        "(controller.quorum.bootstrap.servers), and it does not lead. A broker that heard nothing "
        "for as long as its fetch time-out asks that one, which names the leader: the same as "
        "before. Releases before 4.2.0 go on asking it for ever (KAFKA-19354), so that the broker "
        "learns nothing any more. It led a partition; of the broker that does now it never hears, "
        "and does not follow it."
    ),
    takes=THREE_OF_BOTH,
    faults=_LOST_OBSERVER_SCRIPT.faults,
    script=_LOST_OBSERVER_SCRIPT,
    default_duration_s=30.0,
    whole_s=15.0,  # if it comes back at all, it takes a third of that
    load=PROMISED,
    settings={"min_isr": "2", "quorum": "dynamic", "controllers": "3", "bootstrap": "1"},
    sides=(
        Side(
            name="kafka 4.1.0",
            release="4.1.0",
            settings={},
            expected=_NEVER_BACK,
            promise="the broker never comes back",
        ),
        Side(
            name="kafka 4.2.0",
            release="4.2.0",
            settings={},
            expected=AS_PROMISED,
            promise="it does",
        ),
    ),
)
