"""Keys on which a value was written twice, or deleted: searched instead of swept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from checkers.array_types import Flags, Ints
from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import DEFAULT, Decision, decide
from checkers.registers.register_anomalies import witness_row
from checkers.registers.register_columns import RegisterColumns
from checkers.verdict import EventValue, Verdict

WORK_PER_OPERATION = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """The results of the keys that were searched. `why` describes the worst of them."""

    keys: int = 0
    violated: int = 0  # keys without any order
    undecided: int = 0
    why: str = ""
    algorithm: str = ""
    witness: Sequence[Mapping[str, EventValue]] = ()
    facts: Mapping[str, EventValue] = field(default_factory=dict)


def search(
    ops: pa.Table, columns: RegisterColumns, keys: Sequence[int], left_out: Flags
) -> Searched:
    """Judge these keys, each by itself, without the operations that are known to be wrong."""
    if not keys:
        return Searched()
    rows = np.flatnonzero(np.isin(columns.key, keys) & ~left_out)
    work = max(DEFAULT.work, WORK_PER_OPERATION * len(rows))
    decision = decide(_as_calls(ops, columns, rows, keys), budget=replace(DEFAULT, work=work))
    verdicts = [key.verdict for key in decision.keys]
    undecided = verdicts.count(Verdict.UNKNOWN)
    facts: dict[str, EventValue] = {"searched_keys": len(keys), "steps": decision.work}
    facts |= {"undecided_keys": undecided} if undecided else {}
    return Searched(
        keys=len(keys),
        violated=verdicts.count(Verdict.INVALID),
        undecided=undecided,
        why=decision.message,
        algorithm=f"{decision.algorithm} where values repeat",
        witness=_witness(ops, rows, decision),
        facts=facts,
    )


def _as_calls(ops: pa.Table, columns: RegisterColumns, rows: Ints, keys: Sequence[int]) -> Calls:
    """Some operations of a run; their keys become 0, 1, ... in the order of `keys`."""
    from checkers.linearizability import zones

    kind = columns.kind[rows]
    pending = np.isin(kind, (zones.PENDING_WRITE, zones.PENDING_DELETE))
    happened = np.isin(kind, (zones.WRITE, zones.DELETE, zones.READ, zones.READ_NOTHING))
    outcome = np.where(happened, Outcome.OK, np.where(pending, Outcome.INFO, Outcome.FAIL))
    reads = np.isin(kind, (zones.READ, zones.READ_NOTHING, zones.IGNORED))
    nothing = np.isin(kind, (zones.READ_NOTHING, zones.DELETE, zones.PENDING_DELETE))
    values, code = np.unique(columns.value[rows], return_inverse=True)
    number = np.full(len(columns.keys), -1, np.int32)
    number[list(keys)] = np.arange(len(keys))
    return Calls(
        model=Model.REGISTER,
        process=ops.column("process").to_numpy()[rows].astype(np.int32),
        outcome=outcome.astype(np.int8),
        invoke=columns.invoke[rows],
        complete=np.where(happened, columns.complete[rows], NEVER),
        line=np.zeros(len(rows), np.int32),
        step_from=np.arange(len(rows) + 1, dtype=np.int32),
        kind=np.where(reads, Step.READ, Step.WRITE).astype(np.int8),
        key=number[columns.key[rows]],
        value=np.where(nothing, NIL, code).astype(np.int32),
        expected=np.full(len(rows), NIL, np.int32),
        keys=[columns.keys[key] for key in keys],
        values=[str(value) for value in values],
    )


def _witness(ops: pa.Table, rows: Ints, decision: Decision) -> list[Mapping[str, EventValue]]:
    found = decision.witness
    if found is None:
        return []
    parts = zip(found.calls, found.parts, strict=True)
    return [witness_row(ops, int(rows[call]), part) for call, part in parts]
