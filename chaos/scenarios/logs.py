"""Scenarios of replicas on disks: clean stops before power failures, moves, deletion,
compaction."""

from dataclasses import replace

from chaos.cluster.interface import MovedReplica, NodeId, StoppedDisk
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.kinds.power import PowerOff, StopThenPowerOff
from chaos.nemesis.kinds.processes import Kill, Pause
from chaos.nemesis.kinds.upkeep import MoveReplicas, SyncDisks
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import AllBrokers, OneNode, Victim
from chaos.scenario import MOVED_REPLICA as SETTING
from chaos.scenario import STOPPED_DISK, ExpectedOutcome, OnKafka, Scenario, Side, Takes
from chaos.scenarios.loads import (
    AS_PROMISED,
    LOSES_NOTHING,
    ONE_BROKER,
    PROMISED,
    SEE_LOST_REPLICAS,
    THREE_BROKERS,
    TWO_IN_SYNC,
    TWO_OF_THREE,
    loses_records,
)
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# Brokers are stopped in good order, and the power fails before the kernel has written all out.


_BROKERS = 3
_SMALL, _EACH = 30, 5  # partitions of few records, and the number of records of each

# Few small records a partition, so that its time index has no entry before the log is closed;
# clients write to the first partition all the time. Brokers set the timestamps, which decide
# retention.
_FEW_RECORDS = replace(
    PROMISED,
    partitions=1 + _SMALL,
    most_each=_EACH,
    record_bytes=104,
    configs={**PROMISED.configs, "message.timestamp.type": "LogAppendTime"},
)

# Retention runs once a second, and 0.5 s after the start: Kafka's 5 minutes and 30 s only delay it.
# Records are kept for Kafka's default, 7 days. The other setting makes a leader the preferred one
# soon.
_SETTINGS = {
    **TWO_IN_SYNC,
    STOPPED_DISK: StoppedDisk.UNSYNCED,
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
    "leader.imbalance.check.interval.seconds": "1",
}
# Followers checkpoint soon what they deleted; our own do so at once.
_ON_KAFKA = OnKafka(settings={"log.flush.start.offset.checkpoint.interval.ms": "1000"})


def _script_clean_stop_power_off(victim: Victim, *led: ScriptStep) -> Script:
    """The small partitions are full long before twice their records are acknowledged."""
    return Script(
        steps=(
            Until(condition=Acknowledged(2 * _SMALL * _EACH)),
            Begin(name="power", fault=StopThenPowerOff(victim=victim)),
            Rest(seconds=1.0),
            End(name="power"),
            Until(condition=Whole(_BROKERS), within_s=60.0),
            *led,
            Rest(seconds=4.0),  # some rounds of retention
        )
    )


def _sides(least: int) -> tuple[Side, ...]:
    lost = loses_records(least, also=SEE_LOST_REPLICAS)
    return (
        Side(
            name=f"{STOPPED_DISK}={StoppedDisk.UNSYNCED}",
            settings={STOPPED_DISK: StoppedDisk.UNSYNCED},
            expected=lost,
            promise="acknowledged records are deleted after the start",
            own=ExpectedOutcome(
                expected=LOSES_NOTHING, promise="none is: what is vouched for is synced"
            ),
        ),
        Side(
            name=f"{STOPPED_DISK}={StoppedDisk.SYNCED}",
            settings={STOPPED_DISK: StoppedDisk.SYNCED},
            expected=LOSES_NOTHING,
            promise="none is",
        ),
    )


_CLEAN_STOP_POWER_OFF_ALL = _script_clean_stop_power_off(AllBrokers())

CLEAN_STOP_POWER_OFF = Scenario(
    name="clean-stop-power-off",
    summary="all brokers are stopped in good order, and at once the power fails",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "A broker that was stopped in good order has flushed its logs and says so by a file; when "
        "it starts again it trusts what is on its disk. Apache Kafka writes the last entry of a "
        "time index after that flush, and does not sync it. If the power fails within the half "
        "minute in which the kernel keeps it to itself, the entry is zeros: the newest record of "
        "the segment is of 1970, and retention deletes it, on every replica. It hits partitions "
        "of few records. The other side syncs the disks between the end of the processes and that "
        "of the power."
    ),
    takes=TWO_OF_THREE,
    faults=_CLEAN_STOP_POWER_OFF_ALL.faults,
    script=_CLEAN_STOP_POWER_OFF_ALL,
    default_duration_s=30.0,
    load=_FEW_RECORDS,
    settings=_SETTINGS,
    on_kafka=_ON_KAFKA,
    sides=_sides(_SMALL),
)

_CLEAN_STOP_POWER_OFF_ONE = _script_clean_stop_power_off(
    OneNode(NodeId(1)), Until(condition=PreferredLead(), within_s=30.0)
)

CLEAN_STOP_THEN_LEAD = Scenario(
    name="clean-stop-then-lead",
    summary="one broker is stopped in good order, its power fails at once, and later it leads",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=(
        "As clean-stop-power-off, but one broker alone is hit. It deletes its copies of few "
        "records, joins the ISR with an empty log that ends where the others do, and becomes the "
        "leader of the partitions that prefer it. The others, which hold every record, take over "
        "where its log begins."
    ),
    takes=TWO_OF_THREE,
    faults=_CLEAN_STOP_POWER_OFF_ONE.faults,
    script=_CLEAN_STOP_POWER_OFF_ONE,
    default_duration_s=30.0,
    load=_FEW_RECORDS,
    settings=_SETTINGS,
    on_kafka=_ON_KAFKA,
    sides=_sides(_SMALL // 3),
)


# Replicas with synced records move to another log directory, and the power fails.


_SYNCED = 500  # acknowledged records before all disks are synced


def _script_moved_replica(brokers: int) -> Script:
    return Script(
        steps=(
            Until(condition=Acknowledged(_SYNCED)),
            Begin(name="sync", fault=SyncDisks(victim=AllBrokers())),
            End(name="sync"),
            Begin(name="move", fault=MoveReplicas(victim=AllBrokers())),
            End(name="move"),
            Rest(seconds=1.0),
            Begin(name="power", fault=PowerOff(victim=AllBrokers())),
            Rest(seconds=1.0),
            End(name="power"),
            Until(condition=Whole(brokers), within_s=60.0),
        )
    )


_SIDES = (
    Side(
        name=f"{SETTING}={MovedReplica.UNSYNCED}",
        settings={SETTING: MovedReplica.UNSYNCED},
        expected=loses_records(_SYNCED, also=SEE_LOST_REPLICAS),
        promise="records that were on every disk are gone",
    ),
    Side(
        name=f"{SETTING}={MovedReplica.SYNCED}",
        settings={SETTING: MovedReplica.SYNCED},
        expected=AS_PROMISED,
        promise="none is",
    ),
)

_DESCRIPTION = (
    "All disks are synced, then every replica moves to the other log directory of its broker "
    "(AlterReplicaLogDirs), and the power of all brokers fails. Apache Kafka copies a replica, and "
    "marks the one that it was copied from for deletion before it has synced the copy. Records "
    "that were acknowledged before the sync were on every disk; nothing may take them. The other "
    "side syncs the disks as soon as the move is done."
)

_MOVED_REPLICA_ALL, _MOVED_REPLICA_ONE = _script_moved_replica(3), _script_moved_replica(1)

MOVED_REPLICAS = Scenario(
    name="moved-replicas",
    summary="all replicas move to another log directory, and the power of all brokers fails",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=_DESCRIPTION,
    takes=THREE_BROKERS,
    faults=_MOVED_REPLICA_ALL.faults,
    script=_MOVED_REPLICA_ALL,
    default_duration_s=30.0,
    load=replace(PROMISED, partitions=2),
    settings={**TWO_IN_SYNC, SETTING: MovedReplica.UNSYNCED, "log_dirs": "2"},
    sides=_SIDES,
)

MOVED_REPLICA = Scenario(
    name="moved-replica",
    summary="the replicas of one broker move to another log directory, and its power fails",
    exists_for=("log-durability", "P10-leaders-hold-acknowledged"),
    description=f"{_DESCRIPTION} Here there is one broker, and one copy of each record.",
    takes=Takes(brokers=range(1, 2)),
    faults=_MOVED_REPLICA_ONE.faults,
    script=_MOVED_REPLICA_ONE,
    default_duration_s=30.0,
    load=replace(PROMISED, partitions=2),
    settings={
        SETTING: MovedReplica.UNSYNCED,
        **ONE_BROKER,
        "quorum": "static",
        "log_dirs": "2",
    },
    sides=_SIDES,
)


# All brokers are killed after records of a log were deleted.


_INTERVAL = "log.flush.start.offset.checkpoint.interval.ms"

_UNDELETED_RECORDS_DELETING = replace(
    PROMISED, producers=4, rate=40.0, chores=("deleting-records",), timeout_s=3.0
)

_UNDELETED_RECORDS_SCRIPT = Script(
    steps=(
        # Long after the first 20 records of the other log, half of which are deleted.
        Until(condition=Acknowledged(200), within_s=60.0),
        Rest(seconds=4.0),
        Begin(name="kill", fault=Kill(victim=AllBrokers())),
        Rest(seconds=1.0),
        End(name="kill"),
        Until(condition=Whole(3), within_s=60.0),
        Rest(seconds=2.0),
    )
)

UNDELETED_RECORDS = Scenario(
    name="undeleted-records",
    summary="all brokers are killed soon after records were deleted",
    exists_for=("deleted-records-stay-deleted",),
    description=(
        "A client deletes the first records of a log (DeleteRecords), which is acknowledged when "
        "all replicas that live have moved the start of their logs. Apache Kafka writes that start "
        "down now and then: each minute, unless it is told otherwise. When all brokers are killed "
        "before, the log begins where its first segment does, and the records are back. Here it "
        "does so each ten minutes, for a run not to depend on when a minute is over; on the other "
        "side each second."
    ),
    takes=THREE_BROKERS,
    faults=_UNDELETED_RECORDS_SCRIPT.faults,
    script=_UNDELETED_RECORDS_SCRIPT,
    default_duration_s=30.0,
    load=_UNDELETED_RECORDS_DELETING,
    # Kafka first does it half a minute after the start, which may be just after the deletion.
    settings={**TWO_IN_SYNC, "log.initial.task.delay.ms": "500"},
    sides=(
        Side(
            name=f"{_INTERVAL}=600000",
            settings={},
            on_kafka={_INTERVAL: "600000"},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="deleted-records-stay-deleted",
                anomaly="deleted records are back",
            ),
            promise="deleted records are back",
            own=ExpectedOutcome(
                expected=AS_PROMISED, promise="they stay deleted: that is durable at once"
            ),
        ),
        Side(
            name=f"{_INTERVAL}=1000",
            settings={},
            on_kafka={_INTERVAL: "1000"},
            expected=AS_PROMISED,
            promise="they stay deleted",
        ),
    ),
)


# Without any fault, offsets are looked up by time in a log that is compacted.


_POLICY = "log.cleanup.policy"

# The load's own log is never compacted; the looked-up log has the brokers' default.
_LOOKED_UP = replace(
    PROMISED,
    producers=2,
    consumers=1,
    rate=20.0,
    configs={**PROMISED.configs, "cleanup.policy": "delete"},
    chores=("looking-up",),
    timeout_s=3.0,
)

LOST_TIMESTAMPS = Scenario(
    name="lost-timestamps",
    summary="offsets are looked up by time in a compacted log, without any fault",
    exists_for=("look-ups-find-records",),
    description=(
        "A few keys are written again and again, so that compaction leaves old segments without a "
        "record, and the offset of the first record after a time is asked for (ListOffsets by "
        "timestamp). Apache Kafka takes the time of an empty segment to be that of its file, looks "
        "into it first, and answers -1, that there is no such record, although the segments that "
        "follow have some. The other side keeps all records."
    ),
    takes=THREE_BROKERS,
    faults=(),
    default_duration_s=25.0,
    load=_LOOKED_UP,
    settings={"min_isr": "2", "quorum": "static", "log.cleaner.backoff.ms": "200"},
    sides=(
        Side(
            name="compacted",
            settings={_POLICY: "compact"},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="look-ups-find-records",
                anomaly="lost timestamps",
            ),
            promise="a look-up by time finds no record, although there are some",
        ),
        Side(
            name="not compacted",
            settings={_POLICY: "delete"},
            expected=AS_PROMISED,
            promise="each finds one",
        ),
    ),
)


# Topics come and go and min.insync.replicas is changed while a broker does not hear of it.


_GHOST_TOPIC_DELETING = replace(
    PROMISED, producers=2, consumers=1, rate=20.0, chores=("deleting-topics",), timeout_s=8.0
)
_STALE = OneNode(NodeId(3))

_GHOST_TOPIC_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(40)),
        # The broker replays all that happens meanwhile at once, as one change.
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
        # a broker that missed a change answers with the old state
        also=("P18-told-partitions-are-new",),
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
    faults=_GHOST_TOPIC_SCRIPT.faults,
    script=_GHOST_TOPIC_SCRIPT,
    default_duration_s=20.0,
    load=_GHOST_TOPIC_DELETING,
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
