"""Keys of a run on which a value was written twice: by the search instead of the sweep."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import Decision, decide, zones
from checkers.linearizability.columns import Columns, Ints
from checkers.verdict import CheckResult, EventValue, Verdict

_OUTCOME = {
    zones.WRITE: Outcome.OK,
    zones.PENDING_WRITE: Outcome.INFO,
    zones.FAILED_WRITE: Outcome.FAIL,
    zones.READ: Outcome.OK,
    zones.READ_NOTHING: Outcome.OK,
    zones.IGNORED: Outcome.FAIL,
}


def as_calls(ops: pa.Table, columns: Columns, rows: Ints, keys: Sequence[int]) -> Calls:
    """Some operations of a run; their keys become 0, 1, ... in the order of `keys`."""
    kind = columns.kind[rows]
    reads = (kind == zones.READ) | (kind == zones.READ_NOTHING) | (kind == zones.IGNORED)
    values, code = np.unique(columns.value[rows], return_inverse=True)
    outcome = np.array([_OUTCOME[k] for k in range(len(_OUTCOME))], np.int8)[kind]
    number = np.full(len(columns.keys), -1, np.int32)
    number[list(keys)] = np.arange(len(keys))
    return Calls(
        model=Model.REGISTER,
        process=ops.column("process").to_numpy()[rows].astype(np.int32),
        outcome=outcome,
        invoke=columns.invoke[rows],
        complete=np.where(outcome == Outcome.OK, columns.complete[rows], NEVER),
        line=np.zeros(len(rows), np.int32),
        step_from=np.arange(len(rows) + 1, dtype=np.int32),
        kind=np.where(reads, Step.READ, Step.WRITE).astype(np.int8),
        key=number[columns.key[rows]],
        value=np.where(kind == zones.READ_NOTHING, NIL, code).astype(np.int32),
        expected=np.full(len(rows), NIL, np.int32),
        keys=[columns.keys[key] for key in keys],
        values=[str(value) for value in values],
    )


def by_search(
    ops: pa.Table, columns: Columns, keys: Sequence[int], swept: str, truncated: Sequence[str]
) -> CheckResult:
    """The result for a run whose other keys are linearizable by the algorithm named `swept`."""
    rows = np.flatnonzero(np.isin(columns.key, keys))
    decision = decide(as_calls(ops, columns, rows, keys))
    verdict, message = decision.verdict, decision.message
    if truncated and verdict is Verdict.INVALID:
        # Any value may have been written in what is lost, so nothing can be stale for certain.
        verdict, message = Verdict.UNKNOWN, f"{message}; but the record was cut ({truncated[0]})"
    looked_at = int(np.count_nonzero(columns.kind))
    if verdict is Verdict.VALID:
        message = f"{looked_at:,} operations on {len(columns.keys):,} keys are linearizable"
    invalid = verdict is Verdict.INVALID
    return CheckResult(
        check="linearizable",
        verdict=verdict,
        message=message,
        looked_at=looked_at,
        count=sum(key.verdict is Verdict.INVALID for key in decision.keys) if invalid else 0,
        witness=list(_rows(ops, rows, decision)) if invalid else (),
        algorithm=f"{swept}; {decision.algorithm} where values repeat",
        facts={"keys": len(columns.keys), "searched_keys": len(keys), "steps": decision.work},
    )


def _rows(ops: pa.Table, rows: Ints, decision: Decision) -> list[dict[str, EventValue]]:
    from checkers.registers.linearizable import witness_row

    found = decision.witness
    if found is None:
        return []
    parts = zip(found.calls, found.parts, strict=True)
    return [dict(witness_row(ops, int(rows[call]), part)) for call, part in parts]
