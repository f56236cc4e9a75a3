"""The Spark stages against plain loops over the same sealed runs."""

from bisect import bisect_left, bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checkers.evidence.voter_history import planned_voters
from checkers.history.sealed_run import Run
from checkers.history.store import read_run
from checkers.registers.survival import Fate
from spark_reports import availability
from spark_reports.ingest import Tables, read_tables
from tests.spark_reports import reference, register_fates
from tests.spark_reports.by_run_id import by_run_id
from tests.spark_reports.random_runs import seal_random_run
from tests.support.sealed_runs import Shape, seal_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

SEEDS = range(14)


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Random runs, and two of the model with a write lost and none; in a path full of traps."""
    base = tmp_path_factory.mktemp("run") / "a b+%20[x]{y}*"
    sealed = [seal_random_run(base / f"random-{seed}", seed) for seed in SEEDS]
    model = Shape(duration_s=6, faults=((2, 5),))
    sealed.append(seal_run(base / "whole", model))
    sealed.append(seal_run(base / "lossy", model, "lost-write"))
    return sealed


@pytest.fixture(scope="module")
def runs(directories: list[Path]) -> list[Run]:
    return [read_run(directory) for directory in directories]


@pytest.fixture(scope="module")
def tables(spark: "SparkSession", directories: list[Path]) -> Tables:
    sealed = by_run_id(directories)
    return read_tables(spark, sealed)


@pytest.fixture(scope="module")
def registers(spark: "SparkSession", directories: list[Path]) -> register_fates.RegisterTables:
    return register_fates.read_register_tables(spark, by_run_id(directories))


def test_every_written_value_has_the_fate_that_loops_find(
    registers: register_fates.RegisterTables, runs: list[Run]
) -> None:
    found = {
        (row.run_id, row.key, row.value): (row.fault_phase, row.fate)
        for row in register_fates.fates(registers).collect()
    }
    expected = {
        (run.info.run_id, *value): told
        for run in runs
        for value, told in reference.fates(run).items()
    }
    assert found == expected
    told = {Fate(fate) for _, fate in found.values()}
    # What logs stand for that begin at snapshots the check alone judges; no disk was lost in these.
    assert told == set(Fate) - {Fate.OVERWRITTEN, Fate.GONE}


def test_voters_are_those_of_the_evidence(
    registers: register_fates.RegisterTables, runs: list[Run]
) -> None:
    found = {
        row.run_id: sorted(voter.node for voter in row.voters) for row in registers.runs.collect()
    }
    assert found == {run.info.run_id: sorted(reference.voters_of(run)) for run in runs}
    planned = {run.info.run_id: list(planned_voters(run.info)) for run in runs}
    assert sum(found[run] != planned[run] for run in found) >= 3


def test_the_planted_loss_is_the_only_one_of_the_model(
    registers: register_fates.RegisterTables,
) -> None:
    classified = register_fates.fates(registers).where("run_id IN ('whole', 'lossy')")
    rows = classified.where("fate IN ('lost', 'unexpected')").collect()
    assert [(row.run_id, row.fate) for row in rows] == [("lossy", "lost")]


def test_gaps_are_those_that_loops_find(tables: Tables, runs: list[Run]) -> None:
    rows = availability.gaps(tables.ops).collect()
    found = sorted((row.run_id, row.t_from, row.t_to, row.attempts) for row in rows)
    expected = sorted((run.info.run_id, *gap) for run in runs for gap in reference.gaps(run))
    assert found == expected


def test_unavailable_time_counts_only_long_gaps(tables: Tables, runs: list[Run]) -> None:
    found = {
        row.run_id: (row.longest_ns, row.unavailable_ns)
        for row in availability.unavailability(tables).collect()
    }
    for run in runs:
        lengths = [end - start for start, end, _ in reference.gaps(run)]
        if lengths:
            counted = sum(ns for ns in lengths if ns >= availability.UNAVAILABLE_FROM_NS)
            assert found[run.info.run_id] == (max(lengths), counted)


def test_elections_are_those_that_loops_find(tables: Tables, runs: list[Run]) -> None:
    found = {
        (row.run_id, row.fault_id): (row.elected_ns, row.active_ns)
        for row in availability.elections(tables).collect()
    }
    expected = {
        (run.info.run_id, fault_id): times
        for run in runs
        for fault_id, times in reference.elections(run).items()
    }
    assert found == expected
    assert None in {elected for elected, _ in found.values()}


def test_latency_sketches_keep_counts_exactly_and_ranks_within_two_percent(
    tables: Tables, runs: list[Run]
) -> None:
    rows = availability.latency(availability.latency_sketches(tables)).collect()
    expected = reference.latencies(runs)
    assert {(row.scenario, row.fault_phase) for row in rows} == set(expected)
    for row in rows:
        ok, fail, info, took = expected[row.scenario, row.fault_phase]
        assert (row.ok, row.fail, row.info) == (ok, fail, info)
        assert row.max_ns == (took[-1] if took else None)
        for share, value in ((0.50, row.p50_ns), (0.99, row.p99_ns)):
            if not took:
                assert value is None
                continue
            low, high = bisect_left(took, value) / ok, bisect_right(took, value) / ok
            assert low - 0.02 <= share <= high + 0.02


def test_no_stage_multiplies_rows_without_a_key(
    tables: Tables, registers: register_fates.RegisterTables
) -> None:
    stages = (
        register_fates.fates(registers),
        availability.unavailability(tables),
        availability.elections(tables),
        availability.latency_sketches(tables),
    )
    for stage in stages:
        plan = stage._jdf.queryExecution().toString()
        assert "BroadcastNestedLoopJoin" not in plan
        assert "CartesianProduct" not in plan
