"""The power of all brokers fails while transactions are open whose first records are synced."""

from dataclasses import replace

from chaos.nemesis.awaited import Acknowledged, Whole
from chaos.nemesis.kinds.power import PowerOff
from chaos.nemesis.script import Begin, End, Rest, Script, Until
from chaos.nemesis.victims import AllBrokers
from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, TWO_IN_SYNC
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

# All send in transactions, and none of them ends by itself. A segment is full after a second.
_OPEN = replace(
    PROMISED,
    producers=4,
    idempotent_share=1.0,
    transactional=True,
    rate=20.0,
    configs={**PROMISED.configs, "segment.ms": "1000"},
)

_SCRIPT = Script(
    steps=(
        Until(condition=Acknowledged(40)),
        Rest(seconds=4.0),  # in which the segment with the first records is full, and synced
        Begin(name="power", fault=PowerOff(victim=AllBrokers())),
        Rest(seconds=1.0),
        End(name="power"),
        Until(condition=Whole(3), within_s=60.0),
        Rest(seconds=3.0),
    )
)

HANGING_TRANSACTION = Scenario(
    name="hanging-transaction",
    summary="the power of all brokers fails while transactions are open",
    description=(
        "Kafka syncs a segment when it is full, and so the first records of a transaction may be "
        "on every disk while those of its coordinator, in a log that hardly grows, are on none. "
        "After a power cut of all brokers the log holds an open transaction of which no "
        "coordinator knows. Nobody ends it: not its time-out, and not a new producer with the "
        "same transactional id. Readers of committed transactions stand still before it. Where "
        "each message is synced (log.flush.interval.messages=1) the coordinator remembers, and "
        "the new producer ends it."
    ),
    faults=_SCRIPT.faults,
    script=_SCRIPT,
    default_duration_s=30.0,
    load=_OPEN,
    settings=TWO_IN_SYNC,
    sides=(
        Side(
            name="unsynced",
            settings={},
            expected=Expectation(
                verdict=Verdict.INVALID,
                check="ended-transactions-are-over",
                anomaly="hanging transaction",
            ),
            promise="readers of committed transactions stand still",
        ),
        Side(
            name="log.flush.interval.messages=1",
            settings={"log.flush.interval.messages": "1"},
            expected=AS_PROMISED,
            promise="they come to the end",
        ),
    ),
)
