"""KIP-841: a broker cut off from the controllers, not from its leader, must stay out of the ISR."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, IsrIs, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_FENCED = OneNode(NodeId(3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="fence", fault=NetworkPartition(victim=_FENCED, peers=OtherSide.CONTROLLERS)),
        Until(condition=IsrIs((1, 2))),
        Rest(seconds=5.0),  # in which its leader sees it caught up, and must not propose it
        End(name="fence"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FENCED_REJOIN = Scenario(
    name="fenced-rejoin",
    summary="a broker is cut off from the controllers, not from the leader that it follows",
    exists_for=("P3-only-active-brokers-lead", "P4-joined-by-this-life"),
    description=(
        "Its session ends, the controller fences it and takes it out of every ISR. It goes on "
        "fetching and is caught up; its leader may not bring it back while it is fenced, for what "
        "is fenced cannot be elected (KIP-841)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
)
