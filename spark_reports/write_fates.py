"""Every written value of every run, classified in SQL in one pass (after Jepsen's set-full).

The second opinion on what `fate_counts` counts of registers run by run, by the rule of the check
`durability`: a write is *there* if a majority of the voters' disks has its record at one offset,
and *possible* as long as the disks that were not read whole could make up a majority. Voters are
here the nodes of the run's newest set: of sets that change while it lasts, of disks that are no
voter's any more, and of what logs that begin behind snapshots stand for, only the check knows.

    ok     there -> survived       possible -> undecided           else lost
    info   there -> recovered      possible -> open                else not happened
    fail   there -> unexpected                                     else refused
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from checkers.registers.survival import Fate
from spark_reports.fault_phases import with_phase
from spark_reports.ingest import Tables

_VALUE = ["run_id", "key", "value"]
_CLIENT_METRICS = 16  # the resource type that registers are made of


def fates(tables: Tables) -> DataFrame:
    """One row a written value: run_id, scenario, key, value, outcome, fault_phase, t0, fate."""
    writes = attempted(tables.ops, tables.faults)
    known = (
        writes.join(copies(tables), on=_VALUE, how="left")
        .join(F.broadcast(quorums(tables)), on="run_id", how="inner")
        .withColumn("fate", _fate())
    )
    return known.select(
        "run_id", "scenario", "key", "value", "outcome", "fault_phase", "t0", "fate"
    )


def attempted(ops: DataFrame, faults: DataFrame) -> DataFrame:
    """One row a written value with the best outcome it had (a value is written once)."""
    writes = ops.where((F.col("f") == "write") & F.col("value").isNotNull())
    rank = F.when(F.col("outcome") == "ok", 0).when(F.col("outcome") == "info", 1).otherwise(2)
    first = F.struct(rank, "t0", "op_id")
    return (
        with_phase(writes, faults)
        .groupBy(*_VALUE)
        .agg(
            *(F.min_by(name, first).alias(name) for name in ("outcome", "fault_phase", "t0")),
        )
    )


def copies(tables: Tables) -> DataFrame:
    """One row a stored value: `copies`, the most voters that have it at one offset and epoch.

    With traces, only what is below the highest high watermark that any of them tells.
    """
    told = tables.node_events.where(F.col("event") == "q.hwm")
    highest = told.groupBy("run_id").agg(F.max("hwm").alias("highest"))
    register = (F.col("type") == "Config") & (F.col("resource_type") == _CLIENT_METRICS)
    stored = (
        tables.log_records.where(register)
        .select(
            "run_id",
            F.col("resource").alias("key"),
            F.expr("try_cast(value AS BIGINT)").alias("value"),
            "offset",
            "epoch",
            "node",
        )
        .join(F.broadcast(highest), on="run_id", how="left")
        .join(tables.runs.select("run_id", "voters"), on="run_id", how="inner")
    )
    committed = F.col("highest").isNull() | (F.col("offset") < F.col("highest"))
    votes = F.array_contains("voters", F.col("node").cast("int"))
    return (
        stored.where(committed & votes & F.col("value").isNotNull())
        .groupBy(*_VALUE, "offset", "epoch")
        .agg(F.count_distinct("node").alias("copies"))
        .groupBy(*_VALUE)
        .agg(F.max("copies").alias("copies"))
    )


def quorums(tables: Tables) -> DataFrame:
    """One row a run: its voters, and how many of their disks were read whole from offset 0 on."""
    begins = tables.log_batches.groupBy("run_id", "node").agg(F.min("base_offset").alias("begin"))
    voter = F.explode(F.col("voters").cast("array<smallint>")).alias("node")
    voters = tables.runs.select("run_id", voter)
    read = (
        tables.disks.where(F.col("problem").isNull())
        .join(voters, on=["run_id", "node"], how="inner")
        .join(begins, on=["run_id", "node"], how="left")
        .where(F.coalesce("begin", F.lit(0)) == 0)
        .groupBy("run_id")
        .agg(F.count("*").alias("complete"))
    )
    return tables.runs.join(read, on="run_id", how="left").select(
        "run_id",
        "scenario",
        F.size("voters").alias("of"),
        F.coalesce("complete", F.lit(0)).alias("complete"),
    )


def _fate() -> Column:
    having = F.coalesce("copies", F.lit(0))
    majority = F.floor(F.col("of") / 2) + 1
    there = having >= majority
    possible = having + F.col("of") - F.col("complete") >= majority
    ok, info, fail = (F.col("outcome") == word for word in ("ok", "info", "fail"))
    return (
        F.when(ok & there, F.lit(Fate.SURVIVED.value))
        .when(ok & possible, F.lit(Fate.UNDECIDED.value))
        .when(ok, F.lit(Fate.LOST.value))
        .when(info & there, F.lit(Fate.RECOVERED.value))
        .when(info & possible, F.lit(Fate.OPEN.value))
        .when(info, F.lit(Fate.NOT_HAPPENED.value))
        .when(fail & there, F.lit(Fate.UNEXPECTED.value))
        .when(fail, F.lit(Fate.REFUSED.value))
    )
