"""The power fails soon after the disks were formatted."""

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllBrokers
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS, TWO_IN_SYNC, ends_by_itself

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(1)),
        Begin(name="power", fault=PowerOff(victim=AllBrokers())),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

FORMAT_POWER_OFF = Scenario(
    name="format-power-off",
    summary="the power of all brokers fails soon after their disks were formatted",
    exists_for=("nodes-kept-running",),
    description=(
        "A node that was formatted has to start, whenever its power fails. Apache Kafka's format "
        "writes one of its files without syncing it: a power cut within the half minute in which "
        "the kernel keeps such data to itself leaves it empty, and the node never starts again. "
        "Other scenarios sync the disks after the format (synced_format=on)."
    ),
    takes=THREE_BROKERS,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=15.0,
    load=PROMISED,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="synced_format=off",
            settings={"synced_format": "off"},
            expected=ends_by_itself("No FeatureLevelRecord for metadata.version"),
            promise="brokers do not start again",
        ),
        Side(
            name="synced_format=on",
            settings={"synced_format": "on"},
            expected=AS_PROMISED,
            promise="all come back; what they lost was allowed",
        ),
    ),
)
