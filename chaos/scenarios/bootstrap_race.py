"""The first leader resigns before its first records are in its log, and is elected again."""

from chaos.cluster.interface import NodeId
from chaos.conditions import Conditions
from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.cuts import NetworkPartition, OtherSide
from chaos.nemesis.script import Begin, End, Rest, Script, StartAll, Until, UntilLed
from chaos.nemesis.victims import OneNode, RandomFollower
from chaos.scenario import OnKafka, Scenario, Side
from chaos.scenarios.loads import (
    AS_PROMISED,
    ONE_BROKER,
    PROMISED,
    THREE_VOTERS_ONE_BROKER,
    ends_by_itself,
)

_COMING_UP = Script(
    steps=(
        # Its log stays empty, so that it cannot be elected before one that has a record.
        Begin(
            name="late",
            fault=NetworkPartition(victim=OneNode(NodeId(4)), peers=OtherSide.CONTROLLERS),
        ),
        StartAll(),
        UntilLed(within_s=60.0),
        # The only one that follows: now every node is alone.
        Begin(
            name="follower",
            fault=NetworkPartition(victim=RandomFollower(), peers=OtherSide.CONTROLLERS),
        ),
        Rest(seconds=2.5),  # after 1.5 s without a majority the leader resigns
        End(name="late"),
        UntilLed(anew=True, within_s=60.0),
        End(name="follower"),
    )
)
_SCRIPT = Script(steps=(Until(condition=Acknowledged(50)), Until(condition=Whole(1))))

BOOTSTRAP_RACE = Scenario(
    name="bootstrap-race",
    summary="the first leader resigns before its first records are in the log, and leads again",
    exists_for=("nodes-kept-running",),
    description=(
        "The first leader of a new cluster writes what it was formatted with, metadata.version "
        "before all else. Records wait a while before they go into the log "
        "(controller.quorum.append.linger.ms, here longer than usual), and meanwhile the two "
        "others are cut off. The leader resigns, and what waited is gone; then the one that never "
        "heard of it is back and elects it again. Its log has no record of the controller's, "
        "though it had replayed some. Releases that ask whether anything was ever replayed write "
        "no metadata.version then (KAFKA-20839), and every node that reads that log ends."
    ),
    takes=THREE_VOTERS_ONE_BROKER,
    faults=_COMING_UP.faults,
    coming_up=_COMING_UP,
    script=_SCRIPT,
    default_duration_s=30.0,
    conditions=Conditions(append_linger_ms=5000, fetch_timeout_ms=1000),
    load=PROMISED,
    settings={
        **ONE_BROKER,
        "quorum": "dynamic",
        "controllers": "3",
    },
    # What a broker waits for takes several writes, each of which waits for its time.
    on_kafka=OnKafka(settings={"initial.broker.registration.timeout.ms": "180000"}),
    sides=(
        Side(
            name="kafka 4.0.2",
            release="4.0.2",
            settings={},
            expected=ends_by_itself("Unknown metadata version"),
            promise="controllers end by themselves, and there never is a cluster",
        ),
        Side(
            name="kafka 4.2.1",
            release="4.2.1",
            settings={},
            expected=AS_PROMISED,
            promise="the first records are written by the second time, and all is well",
        ),
    ),
)
