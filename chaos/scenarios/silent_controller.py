"""The active controller falls silent: how long do forwarded requests stand still?"""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import ExpectedOutcome, Scenario, Side
from chaos.scenarios.loads import PROMISED, THREE_BROKERS
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=2.0),
        Begin(name="silent", fault=PowerOff(victim=ControllerLeader())),
        Rest(seconds=40.0),  # longer than what Kafka's own time-out lets a broker wait
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
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
