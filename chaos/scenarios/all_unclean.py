"""What part one of KIP-966 cannot save: every member of ISR and ELR was shut down uncleanly."""

from chaos.nemesis.kinds.processes import Kill
from chaos.scenario import Scenario, Side
from chaos.scenarios.last_in_isr import SECOND, THIRD, last_loses_power
from chaos.scenarios.loads import LOSES_AS_ALLOWED, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_SCRIPT = last_loses_power(third=Kill(victim=THIRD), second=Kill(victim=SECOND))

ALL_UNCLEAN = Scenario(
    name="all-unclean",
    summary="two brokers are killed, the third loses its power: loss, although two hold everything",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As last-replica-standing, but brokers 3 and 2 are killed instead of cut off. Their disks "
        "hold every record, but a process that was killed left no sign of a clean shutdown, so "
        "each of them leaves the ELR as it registers. The last known leader is elected, which lost "
        "its page cache: more unclean shutdowns than min ISR - 1, so the loss is allowed and "
        "counted apart. Comparing logs would have saved them (KIP-966 part two)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={**TWO_IN_SYNC, "elr": "on"},
    sides=(
        Side(
            name="elr=on",
            settings={"elr": "on"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, and more disks than allowed were shut down uncleanly",
        ),
    ),
)
