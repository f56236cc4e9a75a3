"""Before, during and after faults: which phase of its run an operation belongs to."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from spark_reports.phase_words import AFTER, BEFORE, DURING, NO_FAULT

_FOR_EVER = 2**63 - 1


def windows_of(faults: DataFrame) -> DataFrame:
    """One row a run: `windows`, an array of (t_start, t_end). A fault never healed never ends."""
    t_end = F.coalesce("t_healed", F.lit(_FOR_EVER)).alias("t_end")
    return (
        faults.where(F.col("t_start").isNotNull())
        .groupBy("run_id")
        .agg(F.collect_list(F.struct("t_start", t_end)).alias("windows"))
    )


def with_phase(ops: DataFrame, faults: DataFrame) -> DataFrame:
    """Every operation with its `fault_phase`, exactly one, so that phases add up to the run.

    During: it was under way in a fault's window, ends included; one that never completed counts
    from its invocation only. Else before: invoked before the first window; else after. The join is
    a broadcast on the run id; the ranges are looked at in the array, which multiplies no rows.
    """
    windows = windows_of(faults)
    joined = ops.join(F.broadcast(windows), on="run_id", how="left")
    return joined.withColumn("fault_phase", _phase()).drop("windows")


def _phase() -> Column:
    done = F.coalesce("t1", "t0")
    during = F.exists(
        "windows", lambda window: (window["t_start"] <= done) & (window["t_end"] >= F.col("t0"))
    )
    first = F.array_min(F.transform("windows", lambda window: window["t_start"]))
    return (
        F.when(F.col("windows").isNull(), F.lit(NO_FAULT))
        .when(during, F.lit(DURING))
        .when(F.col("t0") < first, F.lit(BEFORE))
        .otherwise(F.lit(AFTER))
    )
