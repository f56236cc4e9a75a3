"""A broker is made a voter, and one of three controllers is lost."""

from dataclasses import replace

from chaos.cluster.interface import Addition
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.additions import AddBroker
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader, RandomBroker
from chaos.scenario import ADDITION, ExpectedOutcome, Scenario, Side
from chaos.scenarios.loads import (
    ONE_BROKER,
    PROMISED,
    THREE_VOTERS_ONE_BROKER,
    ends_by_itself,
)
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="added", fault=AddBroker(victim=RandomBroker())),
        Begin(name="dead", fault=Kill(victim=ControllerLeader())),
        Rest(seconds=12.0),
        End(name="dead"),
        End(name="added"),
        Until(condition=Whole(1), within_s=60.0),
    )
)
_GAP = "longest_without_topic_s"
_SOON = Expectation(verdict=Verdict.VALID, numbers=(Bound(name=_GAP, most=20.0),))

VOTING_BROKER = Scenario(
    name="voting-broker",
    summary="an operator asks for a broker to be made a voter, and one of three controllers dies",
    exists_for=("nodes-kept-running",),
    description=(
        "Of a dynamic quorum of three controllers an operator asks that a broker be added to the "
        "voters (AddRaftVoter), by its own id, directory id and address. A broker follows the "
        "metadata log and is an observer, and never votes: KIP-853 has controllers alone for "
        "voters. Apache Kafka's leader adds it. Within a second the broker finds itself among the "
        "voters, tells the leader of itself as such (UpdateRaftVoter), is refused, and ends by "
        "itself. Then the leader is killed: two controllers of three are up, and no node leads "
        "until the third is back, since three of four votes are needed. On the other side nothing "
        "is asked, and another one leads within seconds."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=20.0,
    load=replace(PROMISED, admin_rate=4.0),
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{ADDITION}={Addition.ASKED}",
            settings={ADDITION: Addition.ASKED},
            expected=ends_by_itself("node 1 ended by itself"),
            promise="the broker ends by itself, and no node leads until the third is back",
            own=ExpectedOutcome(
                expected=_SOON, promise="it is refused, and another one leads within seconds"
            ),
        ),
        Side(
            name=f"{ADDITION}={Addition.UNASKED}",
            settings={ADDITION: Addition.UNASKED},
            expected=_SOON,
            promise="another one leads within seconds",
        ),
    ),
)
