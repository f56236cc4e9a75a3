"""A broker is cut off from the controllers, and the one it starts from does not lead."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.processes import Pause
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode, PartitionLeader
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_OF_BOTH
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_BOOTSTRAP = OneNode(NodeId(4))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        # If it led, another one does now.
        Begin(name="pause", fault=Pause(victim=_BOOTSTRAP)),
        Rest(seconds=5.0),
        End(name="pause"),
        Rest(seconds=3.0),  # in which brokers find the one that leads
        Until(condition=Whole(3)),
        Begin(
            name="cut",
            fault=NetworkPartition(victim=PartitionLeader(), peers=OtherSide.CONTROLLERS),
        ),
        Rest(seconds=8.0),  # its session is over by then, and another broker leads
        End(name="cut"),  # whether all are in sync again is for the judge
    )
)
_NEVER_BACK = Expectation(
    verdict=Verdict.INVALID,
    check="recovers-when-healed",
    anomaly="not every replica was in sync",
    also=("P18-told-partitions-are-new",),  # it tells what it knew when it heard the last
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    whole_s=15.0,  # where it does come back it takes a third of that
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
