"""Times without a success, the duration of elections, and latency."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spark_reports.ingest import Tables
from spark_reports.phases import with_phase

# A shorter wait between two successes is latency, not unavailability.
UNAVAILABLE_FROM_NS = 500_000_000


def gaps(ops: DataFrame) -> DataFrame:
    """Times between successive ok completions in which something was attempted.

    One row a gap: run_id, t_from, t_to, gap_ns, attempts. Only the main phase counts, from its
    first invocation to its last event, so that a cluster that never answers again is one long gap.
    """
    main = ops.where(F.col("phase") == "main")
    order = Window.partitionBy("run_id").orderBy("t", "rank", "op_id")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marks = (
        _moments(main)
        .withColumn("invoked", F.count_if(F.col("rank") == 1).over(so_far))
        .where(F.col("rank") != 1)
        .withColumn("t_from", F.lag("t").over(order))
        .withColumn("attempts", F.col("invoked") - F.lag("invoked").over(order))
    )
    return marks.where(F.col("attempts") > 0).select(
        "run_id",
        "t_from",
        F.col("t").alias("t_to"),
        (F.col("t") - F.col("t_from")).alias("gap_ns"),
        "attempts",
    )


def _moments(ops: DataFrame) -> DataFrame:
    """rank 0: the phase begins; 1: an invocation; 2: a success; 3: the phase ends."""
    invoked = ops.select("run_id", F.col("t0").alias("t"), F.lit(1).alias("rank"), "op_id")
    succeeded = ops.where((F.col("outcome") == "ok") & F.col("t1").isNotNull()).select(
        "run_id", F.col("t1").alias("t"), F.lit(2).alias("rank"), "op_id"
    )
    no_operation = F.lit(-1).cast("bigint").alias("op_id")
    edges = ops.groupBy("run_id").agg(
        F.min("t0").alias("first"), F.max(F.coalesce("t1", "t0")).alias("last")
    )
    begins = edges.select("run_id", F.col("first").alias("t"), F.lit(0).alias("rank"), no_operation)
    ends = edges.select("run_id", F.col("last").alias("t"), F.lit(3).alias("rank"), no_operation)
    return invoked.unionByName(succeeded).unionByName(begins).unionByName(ends)


def unavailability(tables: Tables) -> DataFrame:
    """One row a run: run_id, scenario, its longest gap, and the sum of gaps above the threshold."""
    counted = F.when(F.col("gap_ns") >= UNAVAILABLE_FROM_NS, F.col("gap_ns"))
    per_run = (
        gaps(tables.ops)
        .groupBy("run_id")
        .agg(
            F.max("gap_ns").alias("longest_ns"),
            F.coalesce(F.sum(counted), F.lit(0)).alias("unavailable_ns"),
        )
    )
    return tables.runs.join(per_run, on="run_id", how="inner").select(
        "run_id", "scenario", "longest_ns", "unavailable_ns"
    )


def elections(tables: Tables) -> DataFrame:
    """One row for each fault that hit the current leader: the time to the next leader.

    From the moment the fault was in force: until a node leads in a later epoch (`elected_ns`), and
    until the first controller is active in one (`active_ns`); 0 if that was while the fault was
    still being injected, null if it did not happen before the run ended. The leader is that of the
    highest epoch when injection began: one that was cut off before may not know yet that it is
    deposed.
    """
    began = F.coalesce("t_bit", "t_start").alias("began")
    faults = tables.faults.select("run_id", "fault_id", "kind", "nodes", "t_start", began)
    leaders = _claims(tables.node_events, (F.col("event") == "q.state") & _leads())
    active = _claims(tables.node_events, F.col("event") == "c.active")
    hit = (
        faults.join(leaders, on="run_id", how="inner")
        .where(F.col("t") <= F.col("t_start"))
        .groupBy("run_id", "fault_id", "kind", "nodes", "t_start", "began")
        .agg(F.max_by("node", "claimed").alias("node"), F.max("claimed").alias("lost_epoch"))
        .where(F.array_contains("nodes", F.col("node")))
        .select("run_id", "fault_id", "kind", "t_start", "began", "lost_epoch")
    )
    answered = hit.transform(_with_first, claims=leaders, name="elected_ns").transform(
        _with_first, claims=active, name="active_ns"
    )
    return answered.join(tables.runs, on="run_id", how="inner").select(
        "run_id", "scenario", "fault_id", "kind", "elected_ns", "active_ns"
    )


def _leads() -> Column:
    return F.lower("state") == "leader"


def _claims(node_events: DataFrame, which: Column) -> DataFrame:
    return node_events.where(which).select("run_id", "t", "node", F.col("epoch").alias("claimed"))


def _with_first(hit: DataFrame, *, claims: DataFrame, name: str) -> DataFrame:
    """The time from each fault to the first claim to a later epoch."""
    own = ["run_id", "fault_id"]
    waits = (
        hit.select(*own, "t_start", "began", "lost_epoch")
        .join(claims, on="run_id", how="inner")
        .where((F.col("t") > F.col("t_start")) & (F.col("claimed") > F.col("lost_epoch")))
        .groupBy(*own)
        .agg(F.min(F.greatest(F.col("t") - F.col("began"), F.lit(0))).alias(name))
    )
    return hit.join(waits, on=own, how="left")


def latency_sketches(tables: Tables) -> DataFrame:
    """One row a run and fault phase: outcomes, and a KLL sketch of the latency of ok operations.

    Sketches of runs merge into those of scenarios and nights; percentiles could not be averaged.
    """
    main = tables.ops.where(F.col("phase") == "main")
    took = F.when(F.col("outcome") == "ok", F.col("t1") - F.col("t0"))
    per_run = (
        with_phase(main, tables.faults)
        .groupBy("run_id", "fault_phase")
        .agg(
            *(F.count_if(F.col("outcome") == word).alias(word) for word in ("ok", "fail", "info")),
            F.kll_sketch_agg_bigint(took).alias("sketch"),
            F.max(took).alias("max_ns"),
        )
    )
    runs = tables.runs.select("run_id", "scenario")
    return per_run.join(runs, on="run_id", how="inner")


def latency(sketches: DataFrame) -> DataFrame:
    """One row a scenario and fault phase, the sketches of its runs merged. Quantiles in ns."""
    merged = sketches.groupBy("scenario", "fault_phase").agg(
        *(F.sum(word).alias(word) for word in ("ok", "fail", "info")),
        F.kll_merge_agg_bigint("sketch").alias("sketch"),
        F.max("max_ns").alias("max_ns"),
    )
    return merged.select(
        "scenario",
        "fault_phase",
        "ok",
        "fail",
        "info",
        _quantile(0.50).alias("p50_ns"),
        _quantile(0.99).alias("p99_ns"),
        "max_ns",
    )


def _quantile(share: float) -> Column:
    """Null where nothing succeeded: an empty sketch has no quantiles."""
    found = F.kll_sketch_get_quantile_bigint("sketch", F.lit(share))
    return F.when(F.col("ok") > 0, found)
