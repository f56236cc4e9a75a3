"""KIP-966: the last in-sync replica loses power after all others fell out of the ISR."""

from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.scenario import Scenario, Side
from chaos.scenarios.last_in_isr import SECOND, THIRD, last_loses_power
from chaos.scenarios.loads import LOSES_NOTHING, LOSES_RECORDS, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_SCRIPT = last_loses_power(
    third=NetworkPartition(victim=THIRD), second=NetworkPartition(victim=SECOND)
)

LAST_REPLICA_STANDING = Scenario(
    name="last-replica-standing",
    summary="the ISR shrinks to one broker, and then that one loses its power",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "With min ISR 2, every acknowledged record is on two disks at least. Brokers 3 and 2 are "
        "cut off, so the ISR shrinks to broker 1, which holds everything in its page cache. Then "
        "its power fails. Without eligible leader replicas (elr=off) it comes back as the only one "
        "that may lead, with an empty log, and the others throw away what they still have: all is "
        "lost although a single disk forgot anything. With them (elr=on) the controller sees that "
        "it was shut down uncleanly and elects broker 2 (KIP-966)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="elr=off",
            settings={"elr": "off"},
            expected=LOSES_RECORDS,
            promise="acknowledged records are lost",
        ),
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_NOTHING,
            promise="none is lost",
        ),
    ),
)
