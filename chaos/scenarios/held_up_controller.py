"""The only controller is paused for longer than a session, and goes on."""

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.processes import Pause
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, THREE_BROKERS, TWO_IN_SYNC


def _turn(number: int) -> tuple[ScriptStep, ...]:
    name = f"pause {number}"
    return (
        Begin(name=name, fault=Pause(victim=ControllerLeader())),
        Rest(seconds=1.4),
        End(name=name),
        Rest(seconds=4.0),
    )


_SCRIPT = Script(
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    # A broker that has no answer for two seconds hangs up, and looks for another controller.
    settings={**TWO_IN_SYNC, "broker.session.timeout.ms": "1000"},
)
