"""A controller stood and lost, was removed from the voters, and is started again."""

from chaos.cluster.interface import NodeId, Voted
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.removals import RestartRemoved
from chaos.nemesis.script import Begin, End, Rest, Script, StartAll, Until, UntilLed
from chaos.nemesis.victims import OneNode
from chaos.scenario import VOTED, Scenario, Side
from chaos.scenarios.loads import (
    AS_PROMISED,
    ONE_BROKER,
    PROMISED,
    THREE_VOTERS_ONE_BROKER,
    ends_by_itself,
)

_COMING_UP = Script(
    steps=(
        # The one that times out second has not heard of the first by then.
        Begin(name="slow", fault=SlowLinks(latency_ms=700, victim=OneNode(NodeId(2)))),
        StartAll(),
        UntilLed(within_s=60.0),
        End(name="slow"),
    )
)
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(50)),
        Begin(name="removed", fault=RestartRemoved()),
        Rest(seconds=2.0),
        End(name="removed"),
        Until(condition=Whole(1)),
    )
)

REMOVED_CANDIDATE = Scenario(
    name="removed-candidate",
    summary="a controller that stood in vain is removed from the voters, and started again",
    exists_for=("nodes-kept-running",),
    description=(
        "In the first election of three controllers in a dynamic quorum two stand at the same "
        "time, as links are slow, and the third decides it. The one that lost has voted for itself "
        "in the epoch in which it follows, and its disk says so. It is removed from the voters, "
        "stopped in good order and started again. It is an observer now: it should start and "
        "follow. Apache Kafka starts a node that voted for itself as a candidate, and ends because "
        "a candidate has to be a voter."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=(*_COMING_UP.faults, *_SCRIPT.faults),
    coming_up=_COMING_UP,
    script=_SCRIPT,
    default_duration_s=20.0,
    load=PROMISED,
    settings={**ONE_BROKER, "quorum": "dynamic", "controllers": "3"},
    sides=(
        Side(
            name=f"{VOTED}={Voted.ITSELF}",
            settings={VOTED: Voted.ITSELF},
            expected=ends_by_itself("must be in the set of voters"),
            promise="it ends whenever it is started",
        ),
        Side(
            name=f"{VOTED}={Voted.LEADER}",
            settings={VOTED: Voted.LEADER},
            expected=AS_PROMISED,
            promise="it starts, and follows as an observer",
        ),
    ),
)
