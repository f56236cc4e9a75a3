"""One broker after another is stopped in good order and started again, under load."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.processes import Terminate
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario
from chaos.scenarios.loads import MIXED, TWO_IN_SYNC

_BROKERS = 3


def _turn(broker: int) -> tuple[ScriptStep, ...]:
    name = f"broker {broker}"
    return (
        Begin(name=name, fault=Terminate(victim=OneNode(NodeId(broker)))),
        Rest(seconds=1.0),
        End(name=name),
        Until(condition=Whole(_BROKERS), within_s=60.0),
    )


_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        *(step for broker in range(1, _BROKERS + 1) for step in _turn(broker)),
    )
)

CONTROLLED_SHUTDOWN_ROLL = Scenario(
    name="controlled-shutdown-roll",
    summary="the brokers are stopped in good order and started again, one after another",
    description=(
        "What every upgrade does. A broker that is going hands its partitions over first, is never "
        "brought back into an ISR while it shuts down (KIP-841), and writes down that it ended "
        "well; nothing is lost, and every partition goes on."
    ),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)
