"""Two of three controllers advertise an unreachable address, and the leader is lost."""

from dataclasses import replace

from chaos.cluster.interface import Advertised
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.upkeep import Readdress
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllFollowers, AllVoters
from chaos.scenario import ADVERTISED, Scenario, Side
from chaos.scenarios.loads import ONE_BROKER, PROMISED, THREE_VOTERS_ONE_BROKER
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="moved", fault=Readdress(victim=AllFollowers())),
        # Of all voters the one that is left: the leader, if none was elected meanwhile.
        Begin(name="power", fault=PowerOff(victim=AllVoters())),
        Rest(seconds=8.0),
        End(name="moved"),  # what they are configured to say is right again
        Rest(seconds=6.0),
        End(name="power"),
        Until(condition=Whole(1), within_s=60.0),
    )
)
_GAP = "longest_without_topic_s"

UNREACHABLE_VOTER = Scenario(
    name="unreachable-voter",
    summary="two controllers advertise an unreachable address, and the power of the third fails",
    exists_for=("M6-acknowledged-topics-committed",),
    description=(
        "Of three controllers in a dynamic quorum the two that do not lead are started again, one "
        "by one, with another advertised host. Each tells the leader (UpdateRaftVoter), and the "
        "quorum commits it. All goes well as long as that one leads, since followers go to the "
        "leader. Its power fails: two of three are up, and bytes pass between them. Where they are "
        "reached under the other host, one of them leads seconds later. Where they are not, they "
        "cannot ask each other for votes, and do not come to it when both are started with the "
        "right host again either: the addresses stand in the log, and only a leader could change "
        "them (KAFKA-20661). No node leads until the third is back, which others do reach."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{ADVERTISED}={Advertised.UNREACHABLE}",
            settings={ADVERTISED: Advertised.UNREACHABLE},
            expected=Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, least=20.0),)),
            promise="no node leads, and no topic is created, until the third is back",
        ),
        Side(
            name=f"{ADVERTISED}={Advertised.REACHABLE}",
            settings={ADVERTISED: Advertised.REACHABLE},
            expected=Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, most=20.0),)),
            promise="another one leads within seconds",
        ),
    ),
)
