"""How the ISR shrinks to one broker, which then loses its power."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, IsrIs, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode

LAST, SECOND, THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))


def last_loses_power(third: Fault, second: Fault) -> Script:
    """What takes the brokers 3 and 2 out of the ISR lasts until 1 is back."""
    return Script(
        steps=(
            Until(condition=Acknowledged(300)),
            Begin(name="third", fault=third),
            Until(condition=IsrIs((1, 2))),
            Begin(name="second", fault=second),
            Until(condition=IsrIs((1,))),
            Begin(name="last", fault=PowerOff(victim=LAST)),
            Rest(seconds=1.0),
            End(name="last"),
            End(name="third"),
            End(name="second"),
            Until(condition=Whole(3), within_s=60.0),
        )
    )
