"""Brokers are stopped in good order, and the power fails before the kernel has written all out."""

from dataclasses import replace

from chaos.cluster.interface import NodeId, StoppedDisk
from chaos.nemesis.awaited import Acknowledged, PreferredLead, Whole
from chaos.nemesis.kinds.power import StopThenPowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, ScriptStep, Until
from chaos.nemesis.victims import AllBrokers, OneNode, Victim
from chaos.scenario import STOPPED_DISK, ExpectedOutcome, OnKafka, Scenario, Side
from chaos.scenarios.loads import (
    LOSES_NOTHING,
    PROMISED,
    SEE_LOST_REPLICAS,
    TWO_IN_SYNC,
    TWO_OF_THREE,
    loses_records,
)

_BROKERS = 3
_SMALL, _EACH = 30, 5  # partitions of few records, and how many each of them gets

# Few small records a partition, so that its time index has no entry before the log is closed; the
# first partition is written to all the time. Brokers set the timestamps, which retention goes by.
_FEW_RECORDS = replace(
    PROMISED,
    partitions=1 + _SMALL,
    most_each=_EACH,
    record_bytes=104,
    configs={**PROMISED.configs, "message.timestamp.type": "LogAppendTime"},
)

# Retention looks once a second, and 0.5 s after the start: Kafka's 5 minutes and 30 s only put off
# what it does. How long records are kept is Kafka's default, 7 days. The other one lets a leader be
# the preferred one soon.
_SETTINGS = {
    **TWO_IN_SYNC,
    STOPPED_DISK: StoppedDisk.UNSYNCED,
    "log.retention.check.interval.ms": "1000",
    "log.initial.task.delay.ms": "500",
    "leader.imbalance.check.interval.seconds": "1",
}
# Followers write down soon what they dropped; our own do so at once.
_ON_KAFKA = OnKafka(settings={"log.flush.start.offset.checkpoint.interval.ms": "1000"})


def _script(victim: Victim, *led: ScriptStep) -> Script:
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


_ALL = _script(AllBrokers())

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
    faults=_ALL.faults,
    script=_ALL,
    default_duration_s=30.0,
    load=_FEW_RECORDS,
    settings=_SETTINGS,
    on_kafka=_ON_KAFKA,
    sides=_sides(_SMALL),
)

_ONE = _script(OneNode(NodeId(1)), Until(condition=PreferredLead(), within_s=30.0))

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
    faults=_ONE.faults,
    script=_ONE,
    default_duration_s=30.0,
    load=_FEW_RECORDS,
    settings=_SETTINGS,
    on_kafka=_ON_KAFKA,
    sides=_sides(_SMALL // 3),
)
