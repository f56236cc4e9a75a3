"""A replica moves to another log directory while a broker that may be elected is off."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, ElrIs, IsrIs, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.processes import Terminate
from chaos.nemesis.kinds.upkeep import MoveReplicas
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import LOSES_NOTHING, LOSES_RECORDS, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_LAST, _SECOND, _THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        # The leader may be any: once fenced, 3 is none. Then it is back, with the controller alone.
        Begin(name="fence", fault=NetworkPartition(victim=_THIRD, peers=OtherSide.CONTROLLERS)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="third", fault=NetworkPartition(victim=_THIRD, peers=OtherSide.BROKERS)),
        End(name="fence"),
        Begin(name="second", fault=Terminate(victim=_SECOND)),
        Until(condition=IsrIs((1,))),
        Until(condition=ElrIs((2,))),
        Begin(name="move", fault=MoveReplicas(victim=_THIRD)),
        End(name="move"),
        Rest(seconds=1.0),
        Begin(name="last", fault=PowerOff(victim=_LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="second"),
        End(name="third"),
        Rest(seconds=3.0),  # in which 2 is unfenced, and may lead
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

ELR_WIPED = Scenario(
    name="elr-wiped",
    summary="a replica moves to another log directory while the broker in the ELR is off",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "KIP-966's own scenario with one step more. Broker 3 falls out of the ISR, broker 2 is "
        "stopped in good order and waits in the ELR, broker 1 is the last in the ISR. Then 3 moves "
        "its replica to its other log directory, and tells the controller so "
        "(AssignReplicasToDirs). Releases before 4.3.0 empty the ELR in the record that notes the "
        "directory. When the power of 1 fails, 2 may not be elected, although it holds everything."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=45.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", "log_dirs": "2"},
    sides=(
        Side(
            name="kafka 4.2.1",
            release="4.2.1",
            settings={},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost, though one broker alone went down uncleanly",
        ),
        Side(
            name="kafka 4.3.1",
            release="4.3.1",
            settings={},
            expected=LOSES_NOTHING,
            promise="none is",
        ),
    ),
)
