"""Scenarios of fencing (KIP-841): brokers that controllers do not hear, and silent controllers."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, IsrIs, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Kill, Pause
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import ControllerLeader, OneNode, PartitionLeader
from chaos.scenario import ExpectedOutcome, Scenario, Side
from chaos.scenarios.elr import SECOND, THIRD
from chaos.scenarios.loads import (
    AS_PROMISED,
    LOSES_NOTHING,
    MAKES_UP_TOPICS,
    PROMISED,
    THREE_BROKERS,
    TWO_IN_SYNC,
    TWO_OF_THREE,
)
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict
from workloads.clients.library_clients import UNWAITED

# KIP-841: a broker that is cut off from the controllers, but not from its leader, must stay out of
# the ISR.


_FENCED = OneNode(NodeId(3))

_FENCED_REJOIN_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="fence", fault=NetworkPartition(victim=_FENCED, peers=OtherSide.CONTROLLERS)),
        Until(condition=IsrIs((1, 2))),
        Rest(seconds=5.0),  # its leader sees it caught up meanwhile, and must not propose it
        End(name="fence"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FENCED_REJOIN = Scenario(
    name="fenced-rejoin",
    summary="a broker is cut off from the controllers, not from the leader that it follows",
    exists_for=("P3-only-active-brokers-lead", "P4-joined-by-this-life"),
    description=(
        "Its session ends, the controller fences it and takes it out of every ISR. It goes on "
        "fetching and is caught up; its leader may not bring it back while it is fenced, for what "
        "is fenced cannot be elected (KIP-841)."
    ),
    takes=TWO_OF_THREE,
    faults=_FENCED_REJOIN_SCRIPT.faults,
    script=_FENCED_REJOIN_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
)


# KIP-841, before and after: the controllers do not hear a broker, and the ISR is too small.


# The two sides end with different ISRs, so each needs time: a session lasts 3 s, and a replica that
# does not fetch is in sync for 5 s.
_HEARTBEAT_CUT_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="fence", fault=NetworkPartition(victim=THIRD, peers=OtherSide.CONTROLLERS)),
        Rest(seconds=6.0),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Rest(seconds=10.0),
        End(name="second"),
        End(name="fence"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

HEARTBEAT_CUT = Scenario(
    name="heartbeat-cut",
    summary="a follower is cut off from the controllers only, and the ISR falls below min ISR",
    exists_for=("P3-only-active-brokers-lead",),
    description=(
        "Broker 3 fetches from its leader and is caught up, but the controllers do not hear its "
        "heartbeats: they fence it and take it out of the ISR. Then broker 2 is cut off. With "
        "KIP-841 the ISR is broker 1 alone, and nothing is acknowledged. Without it the leader "
        "brings the fenced broker back at once, and counts on one that cannot be elected."
    ),
    takes=TWO_OF_THREE,
    faults=_HEARTBEAT_CUT_SCRIPT.faults,
    script=_HEARTBEAT_CUT_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="KIP-841 off",
            settings={},
            mutation="P-FENCED-ISR",
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="P3-only-active-brokers-lead",
                # A fenced broker in the ISR keeps the high watermark back.
                also=("P18-high-watermark-keeps-up", "invariant:P18-high-watermark-keeps-up"),
            ),
            promise="a fenced broker joins the ISR",
        ),
        Side(
            name="KIP-841 on",
            settings={},
            expected=LOSES_NOTHING,
            promise="none does, and what the ISR is too small for is not acknowledged",
        ),
    ),
)


# The only controller is paused for longer than a session, and goes on.


def _turn(number: int) -> tuple[ScriptStep, ...]:
    name = f"pause {number}"
    return (
        Begin(name=name, fault=Pause(victim=ControllerLeader())),
        Rest(seconds=1.4),
        End(name=name),
        Rest(seconds=4.0),
    )


_HELD_UP_CONTROLLER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        *(step for number in range(1, 4) for step in _turn(number)),
        Until(condition=Whole(3), within_s=60.0),
    )
)

HELD_UP_CONTROLLER = Scenario(
    name="held-up-controller",
    summary="the only controller is paused for longer than a broker's session lasts",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Brokers send heartbeats all the while, and wait for answers. When it goes on, it finds "
        "them all where they have lain, older than a session: it has to hear them before it asks "
        "which were silent, and fences none (KAFKA-15019)."
    ),
    takes=THREE_BROKERS,
    faults=_HELD_UP_CONTROLLER_SCRIPT.faults,
    script=_HELD_UP_CONTROLLER_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    # A broker without an answer for two seconds disconnects, and looks for another controller.
    settings={**TWO_IN_SYNC, "broker.session.timeout.ms": "1000"},
)


# A broker and the active controller are killed at one moment.


_LOST_TOGETHER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=3.0),  # topics are created meanwhile, and deleted later
        Begin(name="broker", fault=Kill(victim=PartitionLeader())),
        Begin(name="controller", fault=Kill(victim=ControllerLeader())),
        Rest(seconds=1.0),
        End(name="controller"),
        Rest(seconds=27.0),  # the longest time that an election and a session may take
        End(name="broker"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

LOST_TOGETHER = Scenario(
    name="lost-together",
    summary="a broker that leads a partition and the active controller are killed at one moment",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Sessions of brokers are in no log: the next active controller begins them anew, for "
        "brokers that it has never heard. The one that was killed is silent from the first moment "
        "on, and is fenced all the same, so that another leads its partitions (KAFKA-18138). "
        "Topics come and go meanwhile: what it holds of those that are deleted it removes when it "
        "is back (KAFKA-14616)."
    ),
    takes=THREE_BROKERS,
    faults=_LOST_TOGETHER_SCRIPT.faults,
    script=_LOST_TOGETHER_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, admin_rate=2.0),
    settings=TWO_IN_SYNC,
)


# The active controller falls silent: for how long do forwarded requests stand still?


_SILENT_CONTROLLER_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=2.0),
        Begin(name="silent", fault=PowerOff(victim=ControllerLeader())),
        Rest(seconds=40.0),  # longer than a broker waits by Kafka's own time-out
        End(name="silent"),
        Until(condition=Whole(3), within_s=60.0),
    )
)
_TIMEOUT = "controller.socket.timeout.ms"
_GAP = "longest_without_topic_s"
_FOR_SECONDS = Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, most=10.0),))

SILENT_CONTROLLER = Scenario(
    name="silent-controller",
    summary="the active controller loses its power while topics are created through the brokers",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "Another controller is active within seconds. A broker that had passed a request on to the "
        "old one waits for an answer that will never be sent, and passes nothing on meanwhile: as "
        "long as controller.socket.timeout.ms says, half a minute by default. Records are "
        "acknowledged all the time. Nothing is lost on either side; the statistics tell for how "
        "long no topic could be created."
    ),
    takes=THREE_BROKERS,
    faults=_SILENT_CONTROLLER_SCRIPT.faults,
    script=_SILENT_CONTROLLER_SCRIPT,
    default_duration_s=45.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={"min_isr": "2", "quorum": "static", "controllers": "3"},
    sides=(
        Side(
            name=f"{_TIMEOUT}=30000",
            settings={_TIMEOUT: "30000"},
            expected=Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, least=25.0),)),
            promise="no topic is created for half a minute (Kafka's default)",
            own=ExpectedOutcome(
                expected=_FOR_SECONDS, promise="for some seconds: it asks for the new leader"
            ),
        ),
        Side(
            name=f"{_TIMEOUT}=3000",
            settings={_TIMEOUT: "3000"},
            expected=_FOR_SECONDS,
            promise="for some seconds",
        ),
    ),
)


# A client library with time-outs too short to wait: what does a reported success mean?


_WAITS = "librdkafka"

UNWAITED_TOPICS = Scenario(
    name="unwaited-topics",
    summary="topics are created by librdkafka, which is told to wait until they are, or not to",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "With an operation time-out of 0 librdkafka takes the brokers' REQUEST_TIMED_OUT for a "
        "success: what a broker of the days of ZooKeeper went on with, in its own time. A "
        "controller of KRaft refuses a request after its deadline, and creates nothing. No node "
        "is hurt in this scenario; what is accused is an acknowledgement by the client library."
    ),
    takes=THREE_BROKERS,
    faults=(),
    default_duration_s=8.0,
    load=replace(PROMISED, rate=50.0, admin_rate=4.0),
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="operation timeout 0",
            settings={},
            topic_client=UNWAITED,
            expected=MAKES_UP_TOPICS,
            promise="topics are acknowledged that were never created",
        ),
        Side(
            name="operation timeout 5 s",
            settings={},
            topic_client=_WAITS,
            expected=AS_PROMISED,
            promise="every topic that is acknowledged is there",
        ),
    ),
)
