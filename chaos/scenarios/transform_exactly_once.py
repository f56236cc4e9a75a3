"""Members of a group transform records in transactions while brokers are killed and members come,
go and fall silent."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.fault import Fault
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import InSyncFollower, PartitionLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE


def _turn(number: int, fault: Fault) -> tuple[ScriptStep, ...]:
    name = f"broker {number}"
    return (
        Begin(name=name, fault=fault),
        Rest(seconds=4.0),
        End(name=name),
        Until(condition=Whole(3), within_s=90.0),
        Rest(seconds=6.0),
    )


# By then members have joined; each of them falls silent, comes and goes meanwhile.
_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=12.0),
        *_turn(1, Kill(victim=PartitionLeader())),
        *_turn(2, Kill(victim=InSyncFollower())),
    )
)

TRANSFORM_EXACTLY_ONCE = Scenario(
    name="transform-exactly-once",
    summary="brokers are killed while members of a group transform records in transactions",
    exists_for=("each-record-is-processed-once",),
    description=(
        "Members of a group consume what clients send, transform it, and put out what comes of it "
        "in transactions that commit the group's offsets with it (KIP-98, KIP-447). One of them "
        "comes and goes, and one falls silent for longer than its session in the midst of a "
        "transaction: others process the same records by then, and it must not commit any more. "
        "Some transactions are aborted. Brokers that lead, or coordinate, are killed meanwhile. "
        "At the end each record that the group has come past is in the committed output once. "
        "Our own brokers know no transactions: this is for Apache Kafka."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=60.0,
    load=replace(
        PROMISED, partitions=3, producers=6, rate=30.0, timeout_s=2.0, chores=("transforming",)
    ),
    settings=TWO_IN_SYNC,
)
