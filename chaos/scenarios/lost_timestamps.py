"""Without any fault, offsets are looked up by time in a log that is compacted."""

from dataclasses import replace

from chaos.scenario import Scenario, Side
from chaos.scenarios.loads import AS_PROMISED, PROMISED, THREE_BROKERS
from checkers.run.expectation import Expectation
from checkers.verdict import Verdict

_POLICY = "log.cleanup.policy"

# The load's own log is never compacted; that in which offsets are looked up is as brokers have it.
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
