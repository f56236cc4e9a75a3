"""KIP-966: the last in-sync replica loses power after all others fell out of the ISR."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.conditions import Acknowledged, IsrIs, Whole
from chaos.nemesis.faults import Partition, PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.targets import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC
from checkers.verdict import Verdict

_LAST, _SECOND, _THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=Partition(target=_THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=Partition(target=_SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="last", fault=PowerOff(target=_LAST)),
        Rest(seconds=1.0),
        End(name="last"),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

LAST_REPLICA_STANDING = Scenario(
    name="last-replica-standing",
    story="the ISR shrinks to one broker, and then that one loses its power",
    description=(
        "With min ISR 2, every acknowledged record is on two disks at least. Brokers 3 and 2 are "
        "cut off, so the ISR shrinks to broker 1, which holds everything in its page cache. Then "
        "its power fails. Without eligible leader replicas (elr=off) it comes back as the only one "
        "who may lead, with an empty log, and the others throw away what they still have: all is "
        "lost although a single disk forgot anything. With them (elr=on) the controller sees that "
        "it was shut down uncleanly and elects broker 2 (KIP-966)."
    ),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    append=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="elr=off",
            settings={"elr": "off"},
            expected=Verdict.INVALID,
            promise="acknowledged records are lost",
        ),
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=Verdict.VALID,
            promise="none is lost",
        ),
    ),
)
