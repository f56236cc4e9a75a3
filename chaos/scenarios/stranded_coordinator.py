"""The coordinator of a group is cut off from all nodes while a client commits offsets."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import PartitionLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE


def _turn(number: int) -> tuple[ScriptStep, ...]:
    """The first partition of all, by name, is that of the groups."""
    name = f"coordinator {number}"
    return (
        Begin(name=name, fault=NetworkPartition(victim=PartitionLeader())),
        Rest(seconds=5.0),  # longer than a session
        End(name=name),
        Until(condition=Whole(3), within_s=60.0),
    )


_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=2.0),
        *(step for number in (1, 2, 3) for step in _turn(number)),
    )
)

STRANDED_COORDINATOR = Scenario(
    name="stranded-coordinator",
    summary="the coordinator of a group is cut off from all nodes while offsets are committed",
    exists_for=("committed-offsets-are-kept",),
    description=(
        "A commit is on its log and on no other when it is cut off. Another broker leads that "
        "partition then, and coordinates the group by what it has. When the first one hears of "
        "it, the commit is lost: what it says of that may be anything but that it succeeded "
        "(KAFKA-20634)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, rate=40.0, chores=("committing-offsets",), timeout_s=20.0),
    # A commit waits for longer than the cut lasts.
    settings={
        **TWO_IN_SYNC,
        "offsets.topic.num.partitions": "1",
        "offsets.commit.timeout.ms": "20000",
    },
)
