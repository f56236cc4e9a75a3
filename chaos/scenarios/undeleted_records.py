"""All brokers are killed after records of a log were deleted."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.processes import Kill
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllBrokers
from chaos.scenario import ExpectedOutcome, Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS, TWO_IN_SYNC
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_INTERVAL = "log.flush.start.offset.checkpoint.interval.ms"

_DELETING = replace(PROMISED, producers=4, rate=40.0, chores=("deleting-records",), timeout_s=3.0)

_SCRIPT = Script(
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
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=_DELETING,
    # Kafka's first time is half a minute after the start, which may be just after the deletion.
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
