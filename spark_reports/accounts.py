"""The fate of all writes, run by run: the kernel mapped over run directories.

A task reads some runs and returns a row for each, so only those rows are shuffled. They serve for
both counts and culprits.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from checkers.evidence.evidence import Evidence
from checkers.history.store import read_run
from spark_reports.fate_counts import COUNTS, Account, account_of
from spark_reports.sealed_archive import SealedRun

_RUNS_A_TASK = 8  # runs differ in length: small tasks keep all executors busy to the end
_COUNTED = "".join(f", {name}: BIGINT" for name in COUNTS)
SCHEMA = (
    "run_id STRING, problem STRING, "
    f"counts ARRAY<STRUCT<kind: STRING, fault_phase: STRING{_COUNTED}>>, "
    "culprits ARRAY<STRUCT<run_id: STRING, kind: STRING, key: STRING, value: STRING, "
    "outcome: STRING, fault_phase: STRING, t0: BIGINT, fate: STRING>>"
)


def accounts(session: SparkSession, runs: Iterable[SealedRun]) -> DataFrame:
    """One row a run, as `Account`."""
    rows = [(str(run.directory), run.key) for run in runs]
    tasks = max(len(rows) // _RUNS_A_TASK, session.sparkContext.defaultParallelism)
    paths = session.createDataFrame(rows, "directory STRING, run_id STRING")
    return paths.repartition(min(tasks, len(rows))).mapInArrow(_counted, SCHEMA)


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for row in batch.to_pylist():
            account = _account(Path(row["directory"]), row["run_id"])
            yield pa.RecordBatch.from_pylist([asdict(account)], schema=_ARROW)


def _account(directory: Path, key: str) -> Account:
    """With the run's key in place of its run id."""
    try:
        found = account_of(Evidence(read_run(directory)))
    except Exception as error:  # noqa: BLE001 - whatever it is, the report says it of this run
        return Account(run_id=key, problem=f"{type(error).__name__}: {error}")
    culprits = tuple(replace(culprit, run_id=key) for culprit in found.culprits)
    return replace(found, run_id=key, culprits=culprits)


def _struct(**columns: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(columns.items())))


_ARROW = pa.schema(
    [
        ("run_id", pa.string()),
        ("problem", pa.string()),
        (
            "counts",
            _struct(
                kind=pa.string(),
                fault_phase=pa.string(),
                **dict.fromkeys(COUNTS, pa.int64()),
            ),
        ),
        (
            "culprits",
            _struct(
                **dict.fromkeys(("run_id", "kind", "key", "value", "outcome"), pa.string()),
                fault_phase=pa.string(),
                t0=pa.int64(),
                fate=pa.string(),
            ),
        ),
    ]
)


def cells(counted: DataFrame, runs: DataFrame) -> DataFrame:
    """Sums by kind, scenario (with its side), target version and fault phase."""
    each = counted.select("run_id", F.explode("counts").alias("counts")).select(
        "run_id", "counts.*"
    )
    group = ("kind", "scenario", "version", "fault_phase")
    return (
        each.join(runs, on="run_id", how="inner")
        .groupBy(*group)
        .agg(*(F.sum(name).alias(name) for name in COUNTS))
    )


def lost(counted: DataFrame) -> DataFrame:
    """By run, the number of lost ones that were acknowledged or polled."""
    each = counted.where(F.col("problem") == "").select(
        "run_id", F.explode_outer("counts").alias("n")
    )
    count = F.coalesce(F.col("n.lost"), F.lit(0)) + F.coalesce(F.col("n.polled_lost"), F.lit(0))
    return each.groupBy("run_id").agg(F.sum(count).alias("lost"))


def culprits(counted: DataFrame, runs: Sequence[SealedRun], *, limit: int) -> DataFrame:
    """The lost and the unexpected, at most `limit`. First come those that were not expected; among
    them the first one of each run, the newest run first, then the second one of each.

    So no run hides another one, and what is old or expected hides nothing.
    """
    newest = sorted(runs, key=lambda run: (run.began, run.key), reverse=True)
    order = [(run.key, run.is_expected_invalid, place) for place, run in enumerate(newest)]
    session = counted.sparkSession
    known = session.createDataFrame(order, "run_id STRING, expected BOOLEAN, place BIGINT")
    each = counted.select(F.posexplode("culprits").alias("nth", "culprit"))
    placed = each.select("nth", "culprit.*").join(F.broadcast(known), on="run_id", how="inner")
    ordered = placed.orderBy("expected", "nth", "place").limit(limit)
    return ordered.drop("expected", "nth", "place")


def problems(counted: DataFrame) -> DataFrame:
    """The runs that could not be counted, and why."""
    return counted.where(F.col("problem") != "").select("run_id", "problem")
