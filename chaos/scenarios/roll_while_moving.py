"""One broker after another is killed while a partition moves from broker to broker, members of a
group come and go, and records are deleted."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Takes
from chaos.scenarios.loads import PROMISED, TWO_IN_SYNC

_BROKERS = 4


def _killed(broker: int) -> tuple[ScriptStep, ...]:
    name = f"broker {broker}"
    return (
        Begin(name=name, fault=Kill(victim=OneNode(NodeId(broker)))),
        Rest(seconds=2.0),
        End(name=name),
        Until(condition=Whole(_BROKERS), within_s=60.0),
        Rest(seconds=1.0),
    )


_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(100)),
        Rest(seconds=6.0),  # the first members are waited for
        *(step for broker in range(1, _BROKERS + 1) for step in _killed(broker)),
    )
)

ROLL_WHILE_MOVING = Scenario(
    name="roll-while-moving",
    summary="the brokers are killed one after another while a partition moves and members join",
    exists_for=(
        "log-durability",
        "reassigned-when-in-sync",
        "P18-reassignments-end",
        "deleted-records-stay-deleted",
        "committed-offsets-are-kept",
    ),
    description=(
        "All that changes under clients is under way while brokers go and come: an operator adds "
        "partitions and moves one of them to other brokers (KIP-195, KIP-455), members join a "
        "group, leave it or fall silent, a client commits offsets, another one deletes records "
        "(KIP-107), and consumers ask where epochs end (KIP-320). A reassignment is done once all "
        "that are to keep the partition are in sync, and nothing is forgotten on the way."
    ),
    takes=Takes(brokers=range(4, 6), settings={"replication": ("3",), "min_isr": ("2",)}),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=40.0,
    load=replace(
        PROMISED,
        producers=4,
        rate=40.0,
        chores=(
            "asking-epochs",
            "committing-offsets",
            "deleting-records",
            "joining-groups",
            "reshaping-topics",
        ),
    ),
    settings={"brokers": "4", **TWO_IN_SYNC},
)
