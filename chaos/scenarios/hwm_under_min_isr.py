"""KIP-966: while the ISR is too small, a leader takes records and shows none of them."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, IsrIs, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.scenario import Scenario, Side
from chaos.scenarios.last_in_isr import SECOND, THIRD
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE
from checkers.run.expectation import Bound, Expectation
from checkers.verdict import Verdict

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(200)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=8.0),  # in which producers that wait for the leader alone are served
        End(name="second"),
        End(name="third"),
        Until(condition=Whole(3), within_s=60.0),
    )
)
# Acknowledged by a leader alone, and given to a consumer once the ISR was large enough.
_WITHHELD = Expectation(
    verdict=Verdict.VALID,
    numbers=(Bound(check="P8-shown-with-min-isr", name="withheld", least=1),),
)

HWM_UNDER_MIN_ISR = Scenario(
    name="hwm-under-min-isr",
    summary="the ISR is smaller than min ISR, and producers that do not mind go on",
    exists_for=("P8-shown-with-min-isr",),
    description=(
        "Brokers 3 and 2 are cut off, so the ISR shrinks to broker 1, with min ISR 2. Producers "
        "with acks=all are refused; half of them ask for the leader's word alone, or for none, and "
        "are served. What they write must not be shown to any consumer before the ISR is large "
        "enough again: the high watermark waits (KIP-966, KAFKA-15583), or eligible replicas could "
        "lack what a consumer has read."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, acks_leader_share=0.4, acks_none_share=0.1),
    settings=TWO_IN_SYNC,
    sides=tuple(
        Side(
            name=f"elr={elr}",
            settings={"elr": elr},
            expected=_WITHHELD,
            promise="what the leader alone has is shown to no consumer",
        )
        for elr in ("off", "on")
    ),
)
