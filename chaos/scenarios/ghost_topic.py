"""Topics come and go and min.insync.replicas is changed while a broker does not hear of it."""

from dataclasses import replace

from chaos.cluster.interface import NodeId
from chaos.nemesis.awaited import Acknowledged
from chaos.nemesis.kinds.processes import Pause
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import OneNode
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, TWO_OF_THREE
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_DELETING = replace(
    PROMISED, producers=2, consumers=1, rate=20.0, chores=("deleting-topics",), timeout_s=8.0
)
_STALE = OneNode(NodeId(3))

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(40)),
        # What happens meanwhile is one change to the broker: it replays all of it at once.
        Begin(name="pause", fault=Pause(victim=_STALE)),
        Rest(seconds=4.0),
        End(name="pause"),
        Rest(seconds=2.0),
        Begin(name="again", fault=Pause(victim=_STALE)),
        Rest(seconds=4.0),
        End(name="again"),
        Rest(seconds=2.0),
    )
)

# The broker stays in all ISRs: how partitions fare without it is another matter.
_PATIENT = {"broker.session.timeout.ms": "15000", "replica.lag.time.max.ms": "30000"}


def _differs(anomaly: str) -> Expectation:
    return Expectation(
        verdict=Verdict.INVALID,
        check="brokers-know-the-topics",
        anomaly=anomaly,
        also=("P18-told-partitions-are-new",),  # a broker that dropped a change tells what was
    )


GHOST_TOPIC = Scenario(
    name="ghost-topic",
    summary="topics come and go and min.insync.replicas changes while a broker is paused",
    exists_for=("brokers-know-the-topics",),
    description=(
        "A change of min.insync.replicas empties the ELRs of all topics (ClearElrRecord). A "
        "broker that was paused replays at once what happened meanwhile. Apache Kafka 4.0.0 "
        "empties in it the ELRs of all topics that the broker knew before, those included that "
        "were deleted in the same change, and so knows them again (KAFKA-19383). From "
        "4.0.1 on it also tries so with topics that were created and deleted in the same change, "
        "and fails: the broker drops the whole change, and goes on without it (KAFKA-19497, fixed "
        "in 4.2.0). At the end every broker is asked for all topics."
    ),
    takes=TWO_OF_THREE,
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=20.0,
    load=_DELETING,
    settings={"min_isr": "2", "quorum": "static", "elr": "on", **_PATIENT},
    sides=(
        Side(
            name="kafka 4.0.0",
            release="4.0.0",
            settings={},
            expected=_differs("ghost topic"),
            promise="a broker knows a topic that was deleted",
        ),
        Side(
            name="kafka 4.1.0",
            release="4.1.0",
            settings={},
            expected=_differs("topic"),
            promise="a broker does not know a topic that exists, or one that was deleted",
        ),
        Side(
            name="kafka 4.2.0",
            release="4.2.0",
            settings={},
            expected=AS_PROMISED,
            promise="every broker knows the topics that there are",
        ),
    ),
)
