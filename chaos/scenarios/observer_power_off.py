"""A broker loses its power before its copy of the metadata log is on its disk."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS, ends_by_itself

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="power", fault=PowerOff(victim=OneNode(NodeId(1)))),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

OBSERVER_POWER_OFF = Scenario(
    name="observer-power-off",
    summary="a broker's power fails soon after its first start",
    exists_for=("nodes-kept-running",),
    description=(
        "An observer of the metadata quorum need not sync what it fetches: it can fetch it again. "
        "But what it knows of the leader is synced at once. A broker whose power fails in between "
        "comes back with an empty log, in which the voters would be, and with the leader's id. "
        "Where the voters are named by configuration (quorum=static) it goes on; where they are in "
        "the log alone (quorum=dynamic, KIP-853) it must go on as well."
    ),
    takes=THREE_BROKERS,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=15.0,
    load=PROMISED,
    settings={"min_isr": "2"},
    sides=(
        Side(
            name="quorum=dynamic",
            settings={"quorum": "dynamic"},
            expected=ends_by_itself("Expected to be Follower"),
            promise="the broker does not start again",
        ),
        Side(
            name="quorum=static",
            settings={"quorum": "static"},
            expected=AS_PROMISED,
            promise="it does",
        ),
    ),
)
