"""A leader that was asked to remove itself dies before the other voter knows of it."""

from dataclasses import replace

from chaos.cluster.interface import Removal
from chaos.nemesis.awaited import Acknowledged
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.removals import KillRemoved, RemoveForGood
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import REMOVAL, Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, ONE_BROKER, PROMISED, THREE_VOTERS_ONE_BROKER
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# Elections are what this is about, and clients that want much of the machine only slow them.
_LITTLE = replace(PROMISED, producers=2, consumers=1, rate=20.0, admin_rate=2.0)
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(20)),
        Begin(name="two", fault=RemoveForGood(victim=RandomFollower())),
        # The voter that is left beside the leader.
        Begin(
            name="cut",
            fault=NetworkPartition(victim=RandomFollower(), peers=OtherSide.CONTROLLERS),
        ),
        Begin(name="dead", fault=KillRemoved(victim=ControllerLeader())),
        Rest(seconds=1.0),
        End(name="dead"),
        End(name="cut"),
        End(name="two"),  # whether a node leads is for the judge
    )
)
_NOBODY_LEADS = Expectation(
    verdict=Verdict.INVALID, check="recovers-when-healed", anomaly="the quorum was not whole"
)

REMOVED_LEADER = Scenario(
    name="removed-leader",
    summary="a leader asked to remove itself is killed before the other voter knows of that",
    exists_for=("recovers-when-healed",),
    description=(
        "Of three controllers in a dynamic quorum one is removed, so that two vote. The one that "
        "follows is cut off, the one that leads is asked to remove itself, and is killed while the "
        "record of that is in its own log alone. It is started again, and the cut is healed: all "
        "processes run and all links are whole. By its own log it is no voter; the other one needs "
        "its vote and does not get it, as its own log is the longer one. So it has to stand itself "
        "until its removal is committed (Raft thesis, 4.2.2). Apache Kafka's does not, and no node "
        "ever leads again. On the other side nothing is asked, and one of the two leads."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=20.0,
    whole_s=20.0,  # ten fetch time-outs
    load=_LITTLE,
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{REMOVAL}={Removal.ASKED}",
            settings={REMOVAL: Removal.ASKED},
            expected=_NOBODY_LEADS,
            promise="no node leads any more, though all processes run and all links are whole",
        ),
        Side(
            name=f"{REMOVAL}={Removal.UNASKED}",
            settings={REMOVAL: Removal.UNASKED},
            expected=AS_PROMISED,
            promise="one of the two leads within seconds",
        ),
    ),
)
