"""A leader is cut off before anything of its epoch is committed: the whole epoch is truncated."""

from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep
from chaos.nemesis.victims import ControllerLeader
from chaos.scenario import Scenario, Takes

_ROUNDS = 3
# Four trips lie between an election and the commit of its LeaderChange: time enough to find the new
# leader and to cut it off.
_SLOW = SlowLinks(latency_ms=150)
_KILL = Kill(victim=ControllerLeader())
_CUT = NetworkPartition(victim=ControllerLeader())  # the next leader
_STEPS: tuple[ScriptStep, ...] = (
    Rest(seconds=1.5),
    Begin(name="slow", fault=_SLOW),
    Rest(seconds=1.0),
    Begin(name="kill", fault=_KILL),
    Begin(name="cut", fault=_CUT),
    Rest(seconds=1.0),  # clients send to it what it cannot commit
    End(name="kill"),  # of three nodes, two can elect again
    Rest(seconds=3.5),
    End(name="cut"),
    Rest(seconds=1.0),
    End(name="slow"),
)

FRESH_LEADER = Scenario(
    name="fresh-leader",
    summary="over slow links, the leader is killed and its successor cut off as soon as it leads",
    exists_for=("durability", "Q7-quorum-high-watermark", "Q11-leader-completeness"),
    description=(
        "The successor has appended the LeaderChange of its epoch, and what clients sent to it, "
        "before any node could fetch it. The others elect a third leader. When the successor is "
        "back it must truncate its whole epoch, not only a tail of it: its log ends in an epoch "
        "that no other node has (KIP-595, truncation by epoch and offset)."
    ),
    takes=Takes(voters=range(3, 8)),
    faults=(_SLOW, _KILL, _CUT),
    script=Script(steps=_STEPS * _ROUNDS),
    default_duration_s=45.0,
)
