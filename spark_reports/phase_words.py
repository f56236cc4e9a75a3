"""Before, during and after faults: the words, and the phase of each operation of one run.

During: it was under way in a fault's window, ends included; one that never completed counts from
its invocation only. Else before: invoked before the first window; else after.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
