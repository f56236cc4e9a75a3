"""A broker is paused just as it leads, with the questions of its followers before it."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.kinds.links import SlowLinks
from chaos.nemesis.kinds.processes import Pause, Terminate
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC, TWO_OF_THREE

_FIRST = OneNode(NodeId(1))


def _turn(number: int) -> tuple[ScriptStep, ...]:
    away, held = f"away {number}", f"held {number}"
    return (
        Begin(name=away, fault=Terminate(victim=_FIRST)),
        Rest(seconds=1.0),
        End(name=away),
        Rest(seconds=1.5),  # until it has heard of the leader
        Until(condition=PreferredLead(), within_s=30.0),
        Rest(seconds=0.6),  # until its followers are connected, and their questions on the way
        Begin(name=held, fault=Pause(victim=_FIRST)),
        Rest(seconds=5.5),  # a session, and time for its successor to go on
        End(name=held),
        Until(condition=Whole(3), within_s=60.0),
    )


_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="links", fault=SlowLinks(latency_ms=250)),
        *_turn(1),
        *_turn(2),
        End(name="links"),
    )
)

LATE_ANSWER = Scenario(
    name="late-answer",
    summary="a broker is paused just as it leads, and answers its followers when another leads",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "Broker 1 was away, and is elected where it is preferred, over slow links: those that led "
        "and followed before have records that it lacks, and ask it where their logs part. It is "
        "paused before it answers; another leads, and its followers have gone on when the answer "
        "comes. It says where to cut, and counts for nothing (KAFKA-18991)."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    # Many partitions, so that broker 1 has less of one of them than a mere follower.
    load=replace(PROMISED, partitions=12, producers=24, acks_leader_share=0.5, rate=240.0),
    needs_its_load=True,
    settings={**TWO_IN_SYNC, "leader.imbalance.check.interval.seconds": "1"},
)
