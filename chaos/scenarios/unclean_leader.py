"""Unclean leader election, asked for: what it costs is counted."""

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, IsrIs, Led, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import LOSES_AS_ALLOWED, PROMISED, THREE_BROKERS

_LAST, _SECOND, _THIRD = (OneNode(NodeId(node)) for node in (1, 2, 3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Begin(name="third", fault=NetworkPartition(victim=_THIRD)),
        Begin(name="second", fault=NetworkPartition(victim=_SECOND)),
        Until(condition=IsrIs((1,))),
        Rest(seconds=3.0),  # with min ISR 1, records are acknowledged that only broker 1 has
        Begin(name="last", fault=NetworkPartition(victim=_LAST)),
        End(name="third"),
        End(name="second"),
        Until(condition=Led((2, 3)), within_s=30.0),
        Rest(seconds=2.0),
        End(name="last"),
        Until(condition=Whole(3), within_s=60.0),
    )
)

UNCLEAN_LEADER = Scenario(
    name="unclean-leader",
    summary="the only in-sync replica is away, and another replica may lead",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "With unclean.leader.election.enable and min ISR 1, broker 1 acknowledges records that "
        "no other has, and is cut off. Another is elected that never had them. The loss was "
        "asked for: it is counted, not accused."
    ),
    takes=THREE_BROKERS,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=PROMISED,
    settings={"min_isr": "1", "unclean": "on", "elr": "off", "quorum": "static"},
    sides=(
        Side(
            name="unclean=on",
            settings={"unclean": "on"},
            expected=LOSES_AS_ALLOWED,
            promise="records are lost, as was asked for",
        ),
    ),
)
