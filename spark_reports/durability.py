"""Every written value of every run, classified in one pass (set-full, after Jepsen's checker).

A value is *present* if a final read returned it or a majority of the disks holds it; *proved
absent* if so many disks lack it that no majority can hold it. So lost is told from overwritten,
from late, and from not looked at:

    ok     present -> survived      proved absent -> lost          else undecided
    info   present or read once -> recovered (it happened)         else not applied, or undecided
    fail   present or read once -> unexpected (it must not have)   else refused
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from spark_reports.ingest import Tables
from spark_reports.phases import with_phase

SURVIVED, LOST, UNDECIDED = "survived", "lost", "undecided"
RECOVERED, NOT_APPLIED = "recovered", "not applied"
UNEXPECTED, REFUSED = "unexpected", "refused"
FATES = (SURVIVED, LOST, UNDECIDED, RECOVERED, NOT_APPLIED, UNEXPECTED, REFUSED)

_VALUE = ["run_id", "key", "value"]


def fates(tables: Tables) -> DataFrame:
    """One row a written value: run_id, scenario, key, value, outcome, fault_phase, t0, fate."""
    writes = attempted(tables.ops, tables.faults)
    known = (
        writes.join(sightings(tables.ops, tables.log_records), on=_VALUE, how="left")
        .join(F.broadcast(quorums(tables.runs, tables.disks)), on="run_id", how="inner")
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


def sightings(ops: DataFrame, log_records: DataFrame) -> DataFrame:
    """One row a value that was seen: on how many disks (`copies`), read finally, read at all."""
    reads = ops.where(
        (F.col("f") == "read") & (F.col("outcome") == "ok") & F.col("value").isNotNull()
    ).select(*_VALUE, F.lit(None).cast("smallint").alias("disk"), "phase")
    register = (F.col("type") == "Config") & (F.col("name") == "interval.ms")
    stored = log_records.where(register).select(
        "run_id",
        F.col("resource").alias("key"),
        F.expr("try_cast(value AS BIGINT)").alias("value"),
        F.col("node").alias("disk"),
        F.lit(None).cast("string").alias("phase"),
    )
    return (
        reads.unionByName(stored)
        .groupBy(*_VALUE)
        .agg(
            F.count_distinct("disk").alias("copies"),
            F.count_if(F.col("phase") == "final").alias("final_reads"),
            F.count("phase").alias("reads"),
        )
    )


def quorums(runs: DataFrame, disks: DataFrame) -> DataFrame:
    """One row a run: its majority, and how many disks were read without a problem."""
    read = disks.groupBy("run_id").agg(F.count_if(F.col("problem").isNull()).alias("disks_read"))
    majority = (F.floor(F.col("nodes") / 2) + 1).alias("majority")
    return runs.join(read, on="run_id", how="left").select(
        "run_id",
        "scenario",
        "nodes",
        majority,
        F.coalesce("disks_read", F.lit(0)).alias("disks_read"),
    )


def _fate() -> Column:
    copies = F.coalesce("copies", F.lit(0))
    read_finally = F.coalesce("final_reads", F.lit(0)) > 0
    present = read_finally | (copies >= F.col("majority"))
    happened = present | (F.coalesce("reads", F.lit(0)) > 0)
    lacking = F.col("disks_read") - copies
    absent = lacking > F.col("nodes") - F.col("majority")
    ok, info, fail = (F.col("outcome") == word for word in ("ok", "info", "fail"))
    return (
        F.when(ok & present, F.lit(SURVIVED))
        .when(ok & absent, F.lit(LOST))
        .when(info & happened, F.lit(RECOVERED))
        .when(info & absent, F.lit(NOT_APPLIED))
        .when(fail & happened, F.lit(UNEXPECTED))
        .when(fail, F.lit(REFUSED))
        .when(ok | info, F.lit(UNDECIDED))
    )


def counts(classified: DataFrame) -> DataFrame:
    """Values by scenario, phase and fate."""
    return classified.groupBy("scenario", "fault_phase", "fate").agg(F.count("*").alias("values"))


def culprits(classified: DataFrame, *, limit: int) -> DataFrame:
    """The lost and the unexpected values, at most `limit`, in a fixed order."""
    return (
        classified.where(F.col("fate").isin(LOST, UNEXPECTED))
        .orderBy("run_id", "t0", "key", "value")
        .limit(limit)
    )
