"""Answers that nobody can read, and requests that were not refused, are held against the node."""

from dataclasses import replace

import pyarrow as pa
import pytest

from checkers.history.events import (
    ACCEPTED,
    MALFORMED,
    REFUSED,
    SET_TO_NULL,
    TWICE_IN_RESOURCE,
)
from checkers.history.sealed_run import Run
from checkers.history.tables import MALFORMED as MALFORMED_ANSWERS
from checkers.registers.linearizable import linearizable
from checkers.run.answers import answers_are_well_formed, wrong_requests_are_refused
from checkers.run.sufficiency import workload_succeeded
from checkers.suite import judge
from checkers.verdict import Verdict
from tests.support.histories import MS, Row, fault, make_run, read, write

PROBLEM = "a record ends behind its 3 bytes"


def garbled(t_ms: int, *, node: int = 1, api: str = "DESCRIBE_CONFIGS") -> Row:
    return {"t": t_ms * MS, "node": node, "api": api, "problem": PROBLEM, "head": "0a0b0c"}


def run_with(rows: list[Row], ops: list[Row], faults: list[Row] | None = None) -> Run:
    run = make_run(ops=ops, faults=faults or [])
    table = pa.Table.from_pylist(rows, schema=MALFORMED_ANSWERS)
    return replace(run, tables={**run.tables, "malformed": table})


def test_a_run_whose_answers_can_all_be_read_is_valid() -> None:
    result = answers_are_well_formed(make_run(ops=[write(100, 0, 1), read(100, 2, 3)]))
    assert (result.verdict, result.looked_at) == (Verdict.VALID, 2)


def test_a_third_of_all_reads_garbled_is_invalid_though_no_promise_shows_it() -> None:
    ops: list[Row] = []
    for number in range(200):
        at = 6 * number
        ops.append(write(100 + number, at, at + 1))
        ops.append(read(None, at + 2, at + 3, outcome="fail", error=f"{MALFORMED}{PROBLEM}"))
        ops.append(read(100 + number, at + 4, at + 5))
    run = make_run(ops=ops)
    assert linearizable(run).verdict is Verdict.VALID
    assert workload_succeeded(run).verdict is Verdict.VALID
    assert judge(run).verdict is Verdict.INVALID
    result = answers_are_well_formed(run)
    assert (result.verdict, result.count) == (Verdict.INVALID, 200)
    assert "200 malformed answers of node 1" in result.message
    assert PROBLEM in result.message


def test_what_a_library_could_not_read_was_some_nodes_answer() -> None:
    """It may be that of a node whose bytes were damaged: then nobody is blamed."""
    sent = write(100, 40, 41, outcome="info", error=f"{MALFORMED}_BAD_MSG") | {"node": -1}
    result = answers_are_well_formed(make_run(ops=[write(1, 0, 1), sent]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert "1 malformed answer of a node that its client does not name" in result.message
    rotten = fault(2, "kill", 10, 20) | {"damages_bytes": True}
    excused = answers_are_well_formed(make_run(ops=[write(1, 0, 1), sent], faults=[rotten]))
    assert excused.verdict is Verdict.VALID
    later = fault(2, "kill", 50, 60) | {"damages_bytes": True}
    blamed = answers_are_well_formed(make_run(ops=[write(1, 0, 1), sent], faults=[later]))
    assert blamed.verdict is Verdict.INVALID


def test_the_witness_names_node_process_api_and_the_first_bytes() -> None:
    error = f"{MALFORMED}{PROBLEM}"
    doubt = write(100, 10, 20, process=7, outcome="info", error=error, node=2)
    rows = [garbled(18, node=2, api="INCREMENTAL_ALTER_CONFIGS")]
    result = answers_are_well_formed(run_with(rows, [doubt, read(None, 30, 31)]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    (event,) = result.witness
    assert (event["node"], event["process"], event["first_bytes"]) == (2, 7, "0a0b0c")
    assert event["what"] == f"INCREMENTAL_ALTER_CONFIGS: {PROBLEM}"


def test_answers_to_the_harness_itself_count_as_well() -> None:
    rows = [garbled(5, node=3, api="DESCRIBE_QUORUM"), garbled(6, node=2, api="METADATA")]
    result = answers_are_well_formed(run_with(rows, [read(None, 0, 1)]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 2)
    assert [event["process"] for event in result.witness] == [None, None]
    assert "node 2, node 3" in result.message


@pytest.mark.parametrize(
    ("damages", "at_ms", "node", "verdict"),
    [
        (True, 1500, 1, Verdict.VALID),
        (True, 9000, 1, Verdict.VALID),  # what is damaged stays so
        (True, 500, 1, Verdict.INVALID),
        (True, 1500, 2, Verdict.INVALID),
        (False, 1500, 1, Verdict.INVALID),
    ],
)
def test_only_a_fault_that_damages_bytes_excuses_its_victims_from_then_on(
    damages: bool, at_ms: int, node: int, verdict: Verdict
) -> None:
    lied = {**fault(1, "power-off", 1000, 2000), "damages_bytes": damages}
    result = answers_are_well_formed(run_with([garbled(at_ms, node=node)], [], [lied]))
    assert result.verdict is verdict


def test_a_wrong_request_that_is_told_to_have_happened_is_invalid() -> None:
    refused = write(
        100, 0, 1, outcome="fail", error=f"{REFUSED}interval.ms is no number (error-40)"
    )
    valid = wrong_requests_are_refused(make_run(ops=[refused]))
    assert (valid.verdict, valid.looked_at) == (Verdict.VALID, 1)
    taken = write(101, 2, 3, outcome="info", error=f"{ACCEPTED}interval.ms is no number", node=2)
    result = wrong_requests_are_refused(make_run(ops=[refused, taken]))
    assert (result.verdict, result.count) == (Verdict.INVALID, 1)
    assert result.message.startswith("node 2 answered process 0 that a write of r-0 had happened")


@pytest.mark.parametrize("what", [SET_TO_NULL, TWICE_IN_RESOURCE])
def test_what_a_target_may_accept_is_told_and_accuses_nobody(what: str) -> None:
    """Controllers of Kafka, asked directly, do not look at what their brokers refuse."""
    taken = write(101, 2, 3, outcome="info", error=f"{ACCEPTED}{what}", node=2)
    strict = wrong_requests_are_refused(make_run(ops=[taken]))
    assert (strict.verdict, strict.count) == (Verdict.INVALID, 1)
    lenient = wrong_requests_are_refused(make_run(ops=[taken], promises=[]))
    assert lenient.verdict is Verdict.VALID
    assert "1 were accepted that this target never promised to refuse" in lenient.message


def test_a_value_that_was_refused_and_is_read_is_a_failed_write_that_happened() -> None:
    refused = write(3_600_001, 0, 1, outcome="fail", error=f"{REFUSED}out of its bounds")
    result = linearizable(make_run(ops=[refused, read(3_600_001, 2, 3)]))
    assert result.verdict is Verdict.INVALID
    assert "a failed write happened" in result.message
