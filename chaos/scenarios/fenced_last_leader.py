"""Every member of ISR and ELR was killed: which may lead before the last leader is unfenced?"""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, IsrIs, Leaderless, Whole
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, TWO_IN_SYNC, TWO_OF_THREE
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_LAST, _SECOND, _THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="third", fault=Kill(victim=_THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Kill(victim=_SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=Kill(victim=_LAST)),
        Rest(seconds=4.0),  # longer than its session
        End(name="third"),
        End(name="second"),
        Until(condition=Leaderless()),
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FENCED_LAST_LEADER = Scenario(
    name="fenced-last-leader",
    summary="all brokers are killed, and the last known leader comes back after the others",
    exists_for=("P3-only-active-brokers-lead",),
    description=(
        "Each broker that comes back after a kill leaves the ELR as it registers. With the last "
        "one both ISR and ELR are empty, and the last known leader may be elected, but not before "
        "it is unfenced. Releases before 4.1.0 elect it at once (KAFKA-19522). A kill loses no "
        "bytes, so nothing is lost on either side."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="kafka 4.0.2",
            release="4.0.2",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="P3-only-active-brokers-lead",
                also=("E5-unclean-registration-drops",),
            ),
            promise="a broker is leader while it is fenced",
        ),
        Side(
            name="kafka 4.1.0",
            release="4.1.0",
            settings={},
            expected=AS_PROMISED,
            promise="none is",
        ),
    ),
)
