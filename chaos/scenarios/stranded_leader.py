"""A leader is cut off from all nodes, and clients that ask little go on writing to it."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import PartitionLeader
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE

# Most producers are content with the leader: they stay with one that no node hears. The others
# find the next leader, whose log so grows more slowly.
_CONTENT = replace(PROMISED, partitions=3, producers=16, acks_leader_share=0.75)


def _turn(number: int) -> tuple[ScriptStep, ...]:
    name = f"leader {number}"
    return (
        Begin(name=name, fault=NetworkPartition(victim=PartitionLeader())),
        Rest(seconds=7.0),  # longer than its session
        End(name=name),
        Until(condition=Whole(3), within_s=60.0),
    )


_SCRIPT = Script(steps=(Until(condition=Acknowledged(100)), *_turn(1), *_turn(2)))

STRANDED_LEADER = Scenario(
    name="stranded-leader",
    summary="a leader is cut off from all nodes, and most clients go on writing to it",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Its session ends, and another broker leads. Producers that ask for acks of the leader "
        "alone have an answer each time and stay, so its log grows faster than that of its "
        "successor. Then it is back: it follows, with a log that is longer than its leader's and "
        "has parted from it. Nothing of it counts before it is cut by leader epoch "
        "(KIP-101, KIP-279)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=_CONTENT,
    settings=TWO_IN_SYNC,
)
