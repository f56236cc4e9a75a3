"""One broker after another is stopped in good order and started again, under load: also over links
that take their time."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.processes import Terminate
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario
from chaos.scenarios.loads import MIXED, PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_BROKERS = 3


def _restarted(*then: ScriptStep) -> tuple[ScriptStep, ...]:
    """Each in its turn, until all are in sync again."""
    steps: list[ScriptStep] = []
    for broker in range(1, _BROKERS + 1):
        name = f"broker {broker}"
        steps += [
            Begin(name=name, fault=Terminate(victim=OneNode(NodeId(broker)))),
            Rest(seconds=1.0),
            End(name=name),
            Until(condition=Whole(_BROKERS), within_s=60.0),
            *then,
        ]
    return tuple(steps)


_UNDER_LOAD = Until(condition=Acknowledged(100))
_SCRIPT = Script(steps=(_UNDER_LOAD, *_restarted()))

CONTROLLED_SHUTDOWN_ROLL = Scenario(
    name="controlled-shutdown-roll",
    summary="the brokers are stopped in good order and started again, one after another",
    exists_for=("log-durability", "E6-clean-as-vouched"),
    description=(
        "What every upgrade does. A broker that is going hands its partitions over first, is never "
        "brought back into an ISR while it shuts down (KIP-841), and writes down that it ended "
        "well; nothing is lost, and every partition goes on."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=MIXED,
    settings=TWO_IN_SYNC,
)

_OVER_SLOW_LINKS = Script(
    steps=(
        _UNDER_LOAD,
        Begin(name="links", fault=SlowLinks(latency_ms=200)),
        *_restarted(Until(condition=PreferredLead(), within_s=30.0)),
        End(name="links"),
    )
)

SLOW_ROLL = Scenario(
    name="slow-roll",
    summary="the brokers are restarted one after another, and links between nodes are slow",
    exists_for=("log-durability", "E6-clean-as-vouched"),
    description=(
        "A broker that is back and in sync is elected for the partitions that prefer it, while the "
        "others are well. Over slow links followers lag all the time: the leader that gives way "
        "has records that its successor lacks, and goes on for as long as it takes to hear of it. "
        "They are cut from its log by leader epoch before the successor counts on it (KIP-101)."
    ),
    takes=TWO_OF_THREE,
    faults=_OVER_SLOW_LINKS.faults,
    script=_OVER_SLOW_LINKS,
    default_duration_s=40.0,
    load=replace(PROMISED, partitions=3, producers=16, acks_leader_share=0.5),
    settings={**TWO_IN_SYNC, "leader.imbalance.check.interval.seconds": "1"},
)
