"""KIP-966: a leader comes back after a power failure, and must not lead before it has caught up."""

from chaos.nemesis.awaited import Acknowledged, IsrIs, Led, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.scenario import Scenario, Side
from chaos.scenarios.last_in_isr import LAST, SECOND, THIRD
from chaos.scenarios.loads import LOSES_NOTHING, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="leader", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="leader"),
        Until(condition=Led((SECOND.node,))),
        End(name="third"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

UNCLEAN_LEADER_REGISTERED = Scenario(
    name="unclean-leader-registered",
    summary="the leader loses its power, and registers again as one that was shut down uncleanly",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Brokers 1 and 2 are in sync, and the power of 1, which leads, fails. It is back within "
        "seconds, with less in its log than it acknowledged. A broker that registers after an "
        "unclean shutdown is taken out of every ISR and ELR before its registration is written "
        "(KIP-966, "
        '"Controller behaviors" 4): broker 2 leads, and 1 joins again when it has caught up. If '
        "it led on, or was still eligible, the others would throw away what it lost."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=tuple(
        Side(
            name=f"elr={elr}",
            settings={"elr": elr},
            expected=LOSES_NOTHING,
            promise="none is lost: the other one leads",
        )
        for elr in ("off", "on")
    ),
)
