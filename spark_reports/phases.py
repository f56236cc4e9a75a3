"""Before, during and after faults: the words, and the phase of each operation of one run.

During: it was under way in a fault's window, ends included; one that never completed counts from
its invocation only. Else before: invoked before the first window; else after.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

NO_FAULT, BEFORE, DURING, AFTER = "no fault", "before", "during", "after"
PHASES = (NO_FAULT, BEFORE, DURING, AFTER)

_FOR_EVER = np.iinfo(np.int64).max


def phases_of(ops: pa.Table, faults: pa.Table) -> NDArray[np.str_]:
    """The phase of each row of `OPS`; in SQL this is `fault_phases.with_phase`."""
    windows = faults.filter(faults["t_start"].is_valid())
    if not windows.num_rows:
        return np.full(ops.num_rows, NO_FAULT)
    began = ops["t0"].to_numpy()
    done = pc.coalesce(ops["t1"], ops["t0"]).to_numpy()
    starts = windows["t_start"].to_numpy()
    during = np.zeros(ops.num_rows, np.bool_)
    ends = windows["t_healed"].fill_null(_FOR_EVER).to_numpy()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        during |= (start <= done) & (end >= began)
    return np.where(during, DURING, np.where(began < starts.min(), BEFORE, AFTER))


# Which phase of its run an operation belongs to.


_UNTIL_THE_END = 2**63 - 1


def windows_of(faults: DataFrame) -> DataFrame:
    """One row a run: `windows`, an array of (t_start, t_end). A fault never healed never ends."""
    t_end = F.coalesce("t_healed", F.lit(_UNTIL_THE_END)).alias("t_end")
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
