"""KIP-966: an operator takes eligible leader replicas away while one of them holds the records."""

from chaos.cluster.interface import ElrLevel
from chaos.nemesis.awaited import Acknowledged, IsrIs, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.kinds.upkeep import SetElrLevel
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.scenario import ELR_LEVEL, Scenario, Side
from chaos.scenarios.last_in_isr import LAST, SECOND, THIRD
from chaos.scenarios.loads import LOSES_NOTHING, LOSES_RECORDS, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(300)),
        Begin(name="third", fault=NetworkPartition(victim=THIRD)),
        Until(condition=IsrIs((1, 2))),
        Begin(name="second", fault=NetworkPartition(victim=SECOND)),
        Until(condition=IsrIs((1,))),
        Begin(name="level", fault=SetElrLevel(victim=LAST)),
        End(name="level"),
        Begin(name="last", fault=PowerOff(victim=LAST)),
        Rest(seconds=1.0),
        End(name="last"),
        End(name="third"),
        End(name="second"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

ELR_DOWNGRADE = Scenario(
    name="elr-downgrade",
    summary="eligible leader replicas are switched off just before they are needed",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As last-replica-standing: the ISR has shrunk to broker 1, and broker 2 is eligible. Then "
        "an operator finalizes level 0 of eligible.leader.replicas.version, which empties every "
        "ELR, and the power of broker 1 fails. It is the only one that may lead, with an empty "
        "log, and what broker 2 still has is thrown away. On the other side the level stays as it "
        "is, and nothing is lost."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on", ELR_LEVEL: ElrLevel.NONE},
    sides=(
        Side(
            name=f"{ELR_LEVEL}={ElrLevel.NONE}",
            settings={ELR_LEVEL: ElrLevel.NONE},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost",
        ),
        Side(
            name=f"{ELR_LEVEL}={ElrLevel.SAME}",
            settings={ELR_LEVEL: ElrLevel.SAME},
            expected=LOSES_NOTHING,
            promise="none is lost",
        ),
    ),
)
