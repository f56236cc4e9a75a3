"""The brokers are stopped and started again one after another, over links that take their time."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.processes import Terminate
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC

_BROKERS = 3


def _turn(broker: int) -> tuple[ScriptStep, ...]:
    name = f"broker {broker}"
    return (
        Begin(name=name, fault=Terminate(victim=OneNode(NodeId(broker)))),
        Rest(seconds=1.0),
        End(name=name),
        Until(condition=Whole(_BROKERS), within_s=60.0),
        Until(condition=PreferredLead(), within_s=30.0),
    )


_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="links", fault=SlowLinks(latency_ms=200)),
        *(step for broker in range(1, _BROKERS + 1) for step in _turn(broker)),
        End(name="links"),
    )
)

SLOW_ROLL = Scenario(
    name="slow-roll",
    summary="the brokers are restarted one after another, and links between nodes are slow",
    description=(
        "Whoever is back and in sync is elected for the partitions that prefer it, while the "
        "others are well. Over slow links followers lag all the time: the leader that gives way "
        "has records that its successor lacks, and goes on for as long as it takes to hear of it. "
        "They are cut from its log by leader epoch before the successor counts on it (KIP-101)."
    ),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(PROMISED, partitions=3, producers=16, acks_leader_share=0.5),
    settings={**TWO_IN_SYNC, "leader.imbalance.check.interval.seconds": "1"},
)
