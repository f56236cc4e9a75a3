"""KIP-841, before and after: a broker that the controllers do not hear, and the ISR too small."""

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.scenario import Scenario, Side
from chaos.scenarios.last_in_isr import SECOND, THIRD
from chaos.scenarios.loads import LOSES_NOTHING, PROMISED, TWO_IN_SYNC, TWO_OF_THREE
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# Which ISR comes of it differs between the sides, so that both take their time: a session lasts
# 3 s, and a replica that does not fetch is in sync for 5 s.
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="fence", fault=NetworkPartition(victim=THIRD, peers=OtherSide.CONTROLLERS)),
        Rest(seconds=6.0),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Rest(seconds=10.0),
        End(name="second"),
        End(name="fence"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

HEARTBEAT_CUT = Scenario(
    name="heartbeat-cut",
    summary="a follower is cut off from the controllers only, and the ISR falls below min ISR",
    exists_for=("P3-only-active-brokers-lead",),
    description=(
        "Broker 3 fetches from its leader and is caught up, but the controllers do not hear its "
        "heartbeats: they fence it and take it out of the ISR. Then broker 2 is cut off. With "
        "KIP-841 the ISR is broker 1 alone, and nothing is acknowledged. Without it the leader "
        "brings the fenced broker back at once, and counts on one that cannot be elected."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="KIP-841 off",
            settings={},
            mutation="P-FENCED-ISR",
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="P3-only-active-brokers-lead",
                # A fenced broker in the ISR keeps the high watermark back.
                also=("P18-high-watermark-keeps-up", "invariant:P18-high-watermark-keeps-up"),
            ),
            promise="a fenced broker joins the ISR",
        ),
        Side(
            name="KIP-841 on",
            settings={},
            expected=LOSES_NOTHING,
            promise="none does, and what the ISR is too small for is not acknowledged",
        ),
    ),
)
