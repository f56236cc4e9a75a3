"""A broker and the active controller are killed at one moment."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader, PartitionLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, THREE_BROKERS, TWO_IN_SYNC

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=3.0),  # in which topics are created that are deleted later
        Begin(name="broker", fault=Kill(victim=PartitionLeader())),
        Begin(name="controller", fault=Kill(victim=ControllerLeader())),
        Rest(seconds=1.0),
        End(name="controller"),
        Rest(seconds=27.0),  # an election, and a session, by the longest that either may take
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, admin_rate=2.0),
    settings=TWO_IN_SYNC,
)
