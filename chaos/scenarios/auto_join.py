"""A controller's disk is lost, the quorum is not told: does its node vote again by itself?"""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.disks import Wipe
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until, UntilNoVoter
from chaos.nemesis.victims import ControllerLeader, RandomFollower
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import PROMISED, THREE_OF_BOTH
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

_AUTO_JOIN = "controller.quorum.auto.join.enable"
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="disk", fault=Wipe(victim=RandomFollower())),
        Rest(seconds=1.0),
        End(name="disk"),
        # Its old entry is gone then, and its new one not yet there.
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
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
