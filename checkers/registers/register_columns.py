"""The operations of a run as arrays: keys interned, outcomes turned into kinds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Flags, Ints

_SPARSE = 8  # event indices per operation, above which they are ranked first


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterColumns:
    """The operations as the sweep takes them: `keys` names key codes, `events` bounds indices."""

    kind: NDArray[np.int8]  # of `zones`
    key: NDArray[np.int32]
    value: Ints
    invoke: Ints
    complete: Ints
    keys: Sequence[str]
    events: int


def register_columns(ops: pa.Table) -> RegisterColumns:
    """OPS as arrays: keys become codes, kinds small integers, a missing completion never comes.

    Raises ValueError for an operation that is not on a register.
    """
    from checkers.linearizability import zones

    encoded = ops.column("key").combine_chunks().dictionary_encode()
    invoke = ops.column("invoke_index").to_numpy()
    complete = ops.column("complete_index").fill_null(zones.NEVER).to_numpy()
    invoke, complete, events = _dense(invoke, complete, zones.NEVER)
    return RegisterColumns(
        kind=_kinds(ops),
        key=encoded.indices.to_numpy().astype(np.int32, copy=False),
        value=ops.column("value").fill_null(0).to_numpy(),
        invoke=invoke,
        complete=complete,
        keys=encoded.dictionary.to_pylist(),
        events=events,
    )


def _kinds(ops: pa.Table) -> NDArray[np.int8]:
    from checkers.linearizability import zones

    valued = ops.column("value").is_valid().to_numpy()
    write, delete, read = (_is(ops, "f", word) for word in ("write", "delete", "read"))
    if not (write | delete | read).all():
        raise ValueError(
            "not a history of registers: an operation neither reads, writes nor deletes"
        )
    if not valued[write].all() or valued[delete].any():
        raise ValueError("not a history of registers: a write without a value, or a delete of one")
    ok, fail = _is(ops, "outcome", "ok"), _is(ops, "outcome", "fail")
    writes = np.where(ok, zones.WRITE, np.where(fail, zones.FAILED_WRITE, zones.PENDING_WRITE))
    deletes = np.where(ok, zones.DELETE, np.where(fail, zones.IGNORED, zones.PENDING_DELETE))
    reads = np.where(ok, np.where(valued, zones.READ, zones.READ_NOTHING), zones.IGNORED)
    return np.where(write, writes, np.where(delete, deletes, reads)).astype(np.int8)


def _is(ops: pa.Table, column: str, word: str) -> Flags:
    flags: Flags = pc.equal(ops.column(column), word).to_numpy()
    return flags


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
