"""The operations of a run as arrays: keys interned, outcomes turned into kinds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_SPARSE = 8  # event indices per operation, above which they are ranked first

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The operations as the sweep takes them: `keys` names key codes, `events` bounds indices."""

    kind: NDArray[np.int8]
    key: NDArray[np.int32]
    value: Ints
    invoke: Ints
    complete: Ints
    keys: Sequence[str]
    events: int


def intern(ops: pa.Table) -> Columns:
    """OPS as arrays: keys become codes, kinds small integers, a missing completion never comes."""
    from checkers.linearizability import zones

    encoded = ops.column("key").combine_chunks().dictionary_encode()
    written = ops.column("value").is_valid().to_numpy()
    ok = pc.equal(ops.column("outcome"), "ok").to_numpy()
    fail = pc.equal(ops.column("outcome"), "fail").to_numpy()
    write = pc.equal(ops.column("f"), "write").to_numpy()
    if not written[write].all():
        raise ValueError("not a history of registers: a write without a value")
    writes = np.where(ok, zones.WRITE, np.where(fail, zones.FAILED_WRITE, zones.PENDING_WRITE))
    reads = np.where(ok, np.where(written, zones.READ, zones.READ_NOTHING), zones.IGNORED)
    invoke = ops.column("invoke_index").to_numpy()
    complete = ops.column("complete_index").fill_null(zones.NEVER).to_numpy()
    invoke, complete, events = _dense(invoke, complete, zones.NEVER)
    return Columns(
        kind=np.where(write, writes, reads).astype(np.int8),
        key=encoded.indices.to_numpy().astype(np.int32, copy=False),
        value=ops.column("value").fill_null(0).to_numpy(),
        invoke=invoke,
        complete=complete,
        keys=encoded.dictionary.to_pylist(),
        events=events,
    )


def _dense(invoke: Ints, complete: Ints, never: int) -> tuple[Ints, Ints, int]:
    """Indices from 0 on, and their bound. Recorded ones are dense; others are ranked."""
    if not len(invoke):
        return invoke, complete, 0
    ended = complete != never
    low = int(invoke.min())
    high = max(int(invoke.max()), int(complete[ended].max(initial=low)))
    if low >= 0 and high < _SPARSE * len(invoke) + _SPARSE:
        return invoke, complete, high + 1
    known = np.unique(np.concatenate([invoke, complete[ended]]))
    ranked = np.full(len(complete), never, np.int64)
    ranked[ended] = np.searchsorted(known, complete[ended])
    return np.searchsorted(known, invoke), ranked, len(known)
