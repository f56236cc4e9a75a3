"""In one quorum of two programs, neither complains of the other, by its own log."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.check import Check
from checkers.evidence.faults import Kind
from checkers.evidence.missing import missing
from checkers.history.sealed_run import Run
from checkers.history.tables import LOG_ERRORS
from checkers.history.traces import LONGEST, error_rows
from checkers.run.complaints import EXPLAINED, Explained, no_complaint_in_logs
from checkers.suite import CHECKS, judge
from checkers.verdict import Verdict
from tests.support.histories import MS, NodeTrace, Row, fault, make_run, run_info

BEGAN = (
    "[1970-01-01 00:00:01,000] INFO [RaftManager id=3] Reading KRaft snapshot and log as part of "
    "the initialization (org.apache.kafka.raft.KafkaRaftClient)\n"
)
# As 4.0.2 wrote it, of a log without metadata.version (docs/results/findings.md, 18).
CANNOT_REPLAY = """\
[1970-01-01 00:00:04,500] ERROR Encountered fatal fault: Unhandled fault in \
MetadataLoader#handleCommit. Last image offset was 26 (ProcessTerminatingFaultHandler)
java.lang.IllegalStateException: Unknown metadata version for FeaturesImage
\tat org.apache.kafka.image.FeaturesImage.metadataVersionOrThrow
"""
# As 4.3.1 wrote them.
SLOW = """\
[1970-01-01 00:00:02,000] ERROR [QuorumController id=3] Exceptionally slow controller event \
writeNoOpRecord(12) took 2130 ms. (EventPerformanceMonitor)
"""
UNSEATED = """\
[1970-01-01 00:00:02,000] ERROR Encountered quorum controller fault: incrementalAlterConfigs: \
event failed with NullPointerException (treated as UnknownServerException) at epoch 5 in 1980 \
microseconds. Renouncing leadership and reverting to the last committed offset 99. (LoggingFault)
java.lang.NullPointerException: Cannot invoke "OpType.ordinal()"
"""
TOO_LATE = """\
[1970-01-01 00:00:02,000] ERROR [ControllerApis nodeId=3] Unexpected error handling request \
RequestHeader(apiKey=CONTROLLER_REGISTRATION, apiVersion=0, clientId=2) -- (ControllerApis)
java.util.concurrent.CompletionException: org.apache.kafka.common.errors.NotControllerException: \
The active controller appears to be node 1.
"""
UPDATED_LATER = """\
[1970-01-01 00:00:02,000] ERROR [RaftManager id=3] Unexpected error REQUEST_TIMED_OUT in \
UPDATE_RAFT_VOTER response: InboundResponse(correlationId=21) (KafkaRaftClient)
"""
REGISTERED_LATER = """\
[1970-01-01 00:00:02,000] ERROR [ControllerRegistrationManager id=3 incarnation=oN8g5s23S4eS9Re] \
RegistrationResponseHandler: channel manager timed out before sending the request. \
(ControllerRegistrationManager)
"""
SMALL_ISR = """\
[1970-01-01 00:00:02,000] ERROR [ReplicaManager broker=2] Error processing append operation on \
partition CfzuQQH8T_m_UaDrCkJIqw:append-0-1 (ReplicaManager)
org.apache.kafka.common.errors.NotEnoughReplicasException: The size of the current ISR : 1 is \
insufficient to satisfy the min.isr requirement of 2 for partition append-0-1
"""
OTHER_REASONS = (SLOW, UNSEATED, TOO_LATE, UPDATED_LATER, REGISTERED_LATER, SMALL_ISR)
PLANNED = (Kind.OPERATIONS, Kind.FAULTS, Kind.METADATA_LOGS, Kind.QUORUM_PROBES, Kind.NODE_LOGS)
STARTS = {"1": 1, "2": 1, "3": 1}


def logged(*pieces: str, node: int = 3) -> list[Row]:
    rows = error_rows("".join(pieces).splitlines(keepends=True), 0)
    return [{"node": node, **row} for row in rows]


def traced(*nodes: int) -> dict[int, NodeTrace]:
    return {node: NodeTrace(node).start() for node in nodes}


def mixed(errors: Sequence[Row], own: Sequence[NodeTrace] = (), faults: Sequence[Row] = ()) -> Run:
    """Nodes 1 and 2 are ours, 3 is Apache Kafka's."""
    traces = list(own) or list(traced(1, 2).values())
    run = make_run(traces=traces, faults=faults, gives=PLANNED, starts=STARTS)
    return replace(
        run,
        tables={**run.tables, "log_errors": pa.Table.from_pylist(list(errors), schema=LOG_ERRORS)},
    )


def test_where_nobody_complains_it_holds() -> None:
    result = no_complaint_in_logs(mixed(logged(BEGAN)))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 3)


def test_a_record_that_kafka_cannot_replay_is_told_with_the_exception() -> None:
    result = no_complaint_in_logs(mixed(logged(BEGAN, SLOW, CANNOT_REPLAY)))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert result.message.startswith(
        "node 3 complains after 4.5 s: ERROR Encountered fatal fault: Unhandled fault in "
        "MetadataLoader#handleCommit. Last image offset was 26"
    )
    assert "IllegalStateException: Unknown metadata version" in result.message
    assert [event["t_ns"] for event in result.witness] == [4_500 * MS] * 2


def test_any_error_that_nobody_has_explained_is_one() -> None:
    line = "[1970-01-01 00:00:02,000] FATAL of a kind that nobody has seen (Some)\n"
    assert no_complaint_in_logs(mixed(logged(BEGAN, line))).verdict is Verdict.INVALID


@pytest.mark.parametrize("line", OTHER_REASONS)
def test_errors_with_another_reason_are_counted_and_accuse_nobody(line: str) -> None:
    result = no_complaint_in_logs(mixed(logged(BEGAN, line)))
    assert result.verdict is Verdict.VALID
    assert "(1 error of other reasons)" in result.message


def test_heartbeats_of_brokers_may_come_too_late_as_well() -> None:
    """As 4.3.1 wrote it in a quorum of its own, with one broker."""
    line = TOO_LATE.replace(
        "CONTROLLER_REGISTRATION, apiVersion=0", "BROKER_HEARTBEAT, apiVersion=2"
    )
    result = no_complaint_in_logs(mixed(logged(BEGAN, line)))
    assert (line != TOO_LATE, result.verdict) == (True, Verdict.VALID)


@pytest.mark.parametrize("explained", EXPLAINED, ids=lambda each: each.text[:30])
def test_each_explanation_is_of_one_of_these_lines_alone(explained: Explained) -> None:
    rows = [row for line in OTHER_REASONS for row in logged(line)]
    assert sum(explained.explains(row) for row in rows) == 1


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (UNSEATED, UNSEATED.replace("NullPointer", "IllegalState")),
        (UNSEATED, UNSEATED.replace("quorum controller fault", "metadata loading fault")),
        (TOO_LATE, TOO_LATE.replace("NotController", "UnsupportedVersion")),
        (UPDATED_LATER, UPDATED_LATER.replace("REQUEST_TIMED_OUT", "INVALID_REQUEST")),
        (REGISTERED_LATER, REGISTERED_LATER.replace("before sending", "while waiting for")),
        (SMALL_ISR, SMALL_ISR.replace("NotEnoughReplicas", "KafkaStorage")),
    ],
)
def test_what_only_looks_like_one_of_them_is_a_complaint(line: str, other: str) -> None:
    assert other != line
    assert no_complaint_in_logs(mixed(logged(BEGAN, other))).verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("q.unfit", {"offset": 12, "record": "record of the unknown type 14"}),
        ("q.garbled", {"peer": 3, "reason": "cut short"}),
        ("n.unanswered", {"api": 82, "version": 0, "reason": "no such API"}),
        ("n.oversized", {"reason": "not a FetchRequest: more than 52000 elements"}),
    ],
)
def test_what_our_node_cannot_replay_read_or_answer_is_one(
    event: str, fields: dict[str, object]
) -> None:
    own = traced(1, 2)
    own[2].emit(event, 2000 * MS, **fields)
    result = no_complaint_in_logs(mixed(logged(BEGAN), list(own.values())))
    assert result.verdict is Verdict.INVALID
    assert f"node 2 complains after 2.0 s: {event}" in result.message


def test_what_was_cut_off_again_is_none() -> None:
    own = traced(1, 2)
    own[2].emit("q.unfit", 2000 * MS, offset=-1, record="")
    result = no_complaint_in_logs(mixed(logged(BEGAN), list(own.values())))
    assert result.verdict is Verdict.VALID


def test_a_log_that_is_not_there_is_unknown() -> None:
    gone = replace(mixed(logged(BEGAN)), differs={"logs/node-3.log": "is gone"})
    assert no_complaint_in_logs(gone).verdict is Verdict.UNKNOWN
    assert judge(gone).verdict is not Verdict.VALID


def test_a_process_that_answered_and_logged_nothing_is_missing() -> None:
    """As where a log was cut, or the configuration of the logger has another level."""
    silent = mixed([])
    (lacking,) = (each for each in missing(silent) if each.kind is Kind.NODE_LOGS)
    assert str(lacking) == "node 3: 1 of its processes answered, but 0 logged that they started"
    result = no_complaint_in_logs(silent)
    assert result.verdict is Verdict.UNKNOWN
    assert "not all of their logs is there" in result.message


def test_rows_that_are_not_there_any_more_are_missing() -> None:
    run = mixed(logged(BEGAN))
    fewer = replace(run, rows={"log_errors": {"3": 2}})
    assert no_complaint_in_logs(fewer).verdict is Verdict.UNKNOWN


def test_a_complaint_stays_one_where_other_logs_are_gone() -> None:
    run = replace(mixed(logged(BEGAN, CANNOT_REPLAY)), differs={"logs/node-1.log": "is gone"})
    assert no_complaint_in_logs(run).verdict is Verdict.INVALID


def test_a_power_cut_that_misfired_may_have_made_it_complain_of_its_disk() -> None:
    misfired = {**fault(1, "power-off", 4000, 5000, bit=False), "nodes": [3]}
    during = mixed(logged(BEGAN, CANNOT_REPLAY), faults=[misfired])
    assert no_complaint_in_logs(during).verdict is Verdict.VALID
    of_another = mixed(logged(BEGAN, CANNOT_REPLAY), faults=[{**misfired, "nodes": [1]}])
    assert no_complaint_in_logs(of_another).verdict is Verdict.INVALID


def test_it_judges_quorums_of_both_and_no_others() -> None:
    (row,) = (each for each in CHECKS if each.id == "no-complaint-in-logs")
    assert isinstance(row, Check)
    assert row.applies(run_info(gives=PLANNED))
    assert not row.applies(run_info(target="kafka 4.3.1"))
    assert not row.applies(run_info())


def test_lines_are_read_with_what_stands_below_them() -> None:
    between = '{"ev":"q.hwm","node":3,"mono":1}\n'
    rows = logged(BEGAN, CANNOT_REPLAY, SLOW, between, "[1970-01-01 00:00:09,000] WARN x (y)\n")
    assert [(row["level"], row["t"]) for row in rows] == [
        ("INFO", 1_000 * MS), ("ERROR", 4_500 * MS), ("ERROR", 2_000 * MS),
    ]  # fmt: skip
    assert [row["cause"] for row in rows] == [
        None,
        "java.lang.IllegalStateException: Unknown metadata version for FeaturesImage",
        None,
    ]


def test_long_lines_are_cut() -> None:
    (row,) = logged(f"[1970-01-01 00:00:02,000] ERROR {'x' * 9_000}\n{'y' * 9_000}\n")
    assert (len(str(row["text"])), len(str(row["cause"]))) == (LONGEST, LONGEST)
