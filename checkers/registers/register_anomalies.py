"""The anomalies in a history of registers, by kind, each in a few rows; the operations as arrays;
keys that are searched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Flags, Ints
from checkers.history.calls import NEVER, NIL, Calls, Model, Outcome, Step
from checkers.linearizability import DEFAULT, Decision, decide
from checkers.verdict import EventValue, Verdict

if TYPE_CHECKING:
    from checkers.linearizability.zones import Zones


# The operations of a run as arrays: keys interned, outcomes turned into kinds.


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


# Keys on which a value was written twice, or deleted: searched instead of swept.


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


STALE_READ = "stale read"
FUTURE_READ = "future read"
PHANTOM_READ = "phantom read"
FAILED_WRITE_HAPPENED = "failed write happened"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterAnomaly:
    """One violation, in words, and the rows of the operations that show it."""

    name: str
    message: str
    rows: tuple[tuple[int, str], ...]  # row of the table, part it plays


class SweptRegisters:
    """The operations of a run with the sweep's anomalies, by kind."""

    def __init__(self, ops: pa.Table, columns: RegisterColumns, found: "Zones") -> None:
        from checkers.linearizability import zones

        self._columns = columns
        self._found = found
        self._history = _History(ops, columns)
        # Rows of reads, and for STALE_READ the clusters that contradict another.
        self._of: dict[str, Ints] = {
            STALE_READ: np.flatnonzero(found.against >= 0),
            FUTURE_READ: np.flatnonzero(found.stray == zones.FUTURE),
            PHANTOM_READ: np.flatnonzero(found.stray == zones.PHANTOM),
            FAILED_WRITE_HAPPENED: np.empty(0, np.int64),
        }
        if len(reads := self._of[PHANTOM_READ]):
            refused = _were_refused(columns, reads)
            self._of |= {PHANTOM_READ: reads[~refused], FAILED_WRITE_HAPPENED: reads[refused]}

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each kind that occurs."""
        return {name: len(which) for name, which in self._of.items() if len(which)}

    @property
    def repeated(self) -> list[int]:
        """The keys on which only reads were found that are wrong by themselves."""
        return np.flatnonzero(self._found.repeated).tolist()

    @property
    def wrong_by_themselves(self) -> Flags:
        """The reads of values that were never written, or only after they had returned."""
        flags: Flags = self._found.stray != 0
        return flags

    def earliest(self, names: Mapping[str, int]) -> RegisterAnomaly:
        """The first of these kinds in the order of events, explained."""
        firsts = [(*self._first(name), name) for name in names]
        _, which, name = min(firsts)
        if name == STALE_READ:
            return _contradiction(self._history, int(self._found.against[which]), which)
        if name == FUTURE_READ:
            return _future(self._history, which, int(self._found.cluster[which]))
        return _phantom(self._history, which)

    def _first(self, name: str) -> tuple[int, int]:
        """The event at which the first of a kind shows, and its row or cluster."""
        which = self._of[name]
        shows = self._columns.complete[which] if name != STALE_READ else self._shows(which)
        at = int(np.argmin(shows))
        return int(shows[at]), int(which[at])

    def _shows(self, clusters: Ints) -> Ints:
        return np.maximum(self._found.first[clusters], self._found.last[clusters])


def _were_refused(columns: RegisterColumns, reads: Ints) -> Flags:
    """Which of these reads of unwritten values returned the value of a write that had failed."""
    from checkers.linearizability import zones

    failed = np.flatnonzero(columns.kind == zones.FAILED_WRITE)
    written = set(zip(columns.key[failed].tolist(), columns.value[failed].tolist(), strict=True))
    seen = zip(columns.key[reads].tolist(), columns.value[reads].tolist(), strict=True)
    return np.array([each in written for each in seen], np.bool_)


def _phantom(history: "_History", read: int) -> RegisterAnomaly:
    failed = history.failed_writer(read)
    if failed is None:
        message = f"phantom read: {history.text(read)}, which was never written"
        rows: tuple[tuple[int, str], ...] = ((read, "read a value that was never written"),)
        return RegisterAnomaly(name=PHANTOM_READ, message=message, rows=rows)
    message = (
        f"a failed write happened: {history.text(read)}, but the write by "
        f"{history.process_of(failed)} had been refused"
    )
    rows = ((failed, "was reported as failed"), (read, "read its value"))
    return RegisterAnomaly(name=FAILED_WRITE_HAPPENED, message=message, rows=rows)


def _future(history: "_History", read: int, writer: int) -> RegisterAnomaly:
    message = (
        f"future read: {history.text(read)} completed before that value's write by "
        f"{history.process_of(writer)} was invoked"
    )
    rows = ((read, "completed first"), (writer, "was invoked only later"))
    return RegisterAnomaly(name=FUTURE_READ, message=message, rows=rows)


def _contradiction(history: "_History", one: int, two: int) -> RegisterAnomaly:
    """Two values each of which must come before the other: the last read of one is stale."""
    stale, newer = (two, one) if history.is_later(two, one) else (one, two)
    read = history.last_invoked(stale)
    seen = history.first_completed(newer)
    early, late = history.first_completed(stale), history.last_invoked(newer)
    parts = [
        (early, f"completed before {history.name(late)} began: so {history.pair(stale, newer)}"),
        (late, "began after that"),
        (seen, f"completed before {history.name(read)} began: so {history.pair(newer, stale)}"),
        (read, "began after that, and returned the older value"),
        (history.creator(stale), "wrote the older value"),
        (history.creator(newer), "wrote the newer value"),
    ]
    first: dict[int, str] = {}
    for row, part in parts:
        if row is not None:
            first[row] = f"{first[row]}; {part}" if row in first else part
    message = f"stale read: {history.text(read)} after {history.done(seen)} had completed"
    return RegisterAnomaly(name=STALE_READ, message=message, rows=tuple(first.items()))


class _History:
    """Looks into the operations of a few clusters, for the sake of an explanation."""

    def __init__(self, ops: pa.Table, columns: RegisterColumns) -> None:
        self.ops = ops
        self.columns = columns

    def creator(self, cluster: int) -> int | None:
        """The row of the write; none for the initial value."""
        return cluster if cluster < len(self.columns.kind) else None

    def members(self, cluster: int) -> Ints:
        """Rows of the write and of the reads of its value."""
        from checkers.linearizability import zones

        columns, writer = self.columns, self.creator(cluster)
        if writer is None:
            on_key = columns.key == cluster - len(columns.kind)
            return np.flatnonzero(on_key & (columns.kind == zones.READ_NOTHING))
        same = (columns.key == columns.key[writer]) & (columns.value == columns.value[writer])
        reads = np.flatnonzero(same & (columns.kind == zones.READ))
        return np.append(reads, writer)

    def first_completed(self, cluster: int) -> int | None:
        """The row that closes the cluster with its completion; none: before the history began."""
        from checkers.linearizability import zones

        if self.creator(cluster) is None:
            return None
        rows = self.members(cluster)
        pending = self.columns.kind[rows] == zones.PENDING_WRITE
        ends = np.where(pending, zones.NEVER, self.columns.complete[rows])
        return int(rows[np.argmin(ends)])

    def last_invoked(self, cluster: int) -> int | None:
        rows = self.members(cluster)
        return int(rows[np.argmax(self.columns.invoke[rows])]) if len(rows) else None

    def is_later(self, one: int, other: int) -> bool:
        """Whether the last operation of `one` is a read that began after the last of `other`.

        Never for a value against the initial one: the initial value returns only by mistake.
        """
        from checkers.linearizability import zones

        a, b = self.last_invoked(one), self.last_invoked(other)
        if a is None or b is None or self.creator(other) is None:
            return False
        return bool(
            self.columns.kind[a] >= zones.READ and self.columns.invoke[a] > self.columns.invoke[b]
        )

    def failed_writer(self, read: int) -> int | None:
        from checkers.linearizability import zones

        columns = self.columns
        same = (columns.key == columns.key[read]) & (columns.value == columns.value[read])
        rows = np.flatnonzero(same & (columns.kind == zones.FAILED_WRITE))
        return int(rows[0]) if len(rows) else None

    def field(self, row: int, name: str) -> EventValue:
        value = self.ops.column(name)[row].as_py()
        assert value is None or isinstance(value, int | str)
        return value

    def process_of(self, row: int) -> str:
        return f"process {self.field(row, 'process')}"

    def text(self, row: int | None) -> str:
        assert row is not None
        value = self.field(row, "value")
        said = "nothing" if value is None else str(value)
        verb = "read" if self.field(row, "f") == "read" else "wrote"
        return f"{self.process_of(row)} {verb} {said} at {self.field(row, 'key')}"

    def done(self, row: int | None) -> str:
        assert row is not None
        return f"the {self.name(row)} by {self.process_of(row)}"

    def name(self, row: int | None) -> str:
        if row is None:
            return "anything"
        value = self.field(row, "value")
        return f"{self.field(row, 'f')} of {'nothing' if value is None else value}"

    def pair(self, before: int, after: int) -> str:
        return f"{self._value(before)} before {self._value(after)}"

    def _value(self, cluster: int) -> str:
        writer = self.creator(cluster)
        return "nothing" if writer is None else str(self.field(writer, "value"))


def witness_row(ops: pa.Table, row: int, part: str) -> Mapping[str, EventValue]:
    """An operation as a row of a witness."""
    return {"what": part, **dict(_fields(ops, row))}


def _fields(ops: pa.Table, row: int) -> Iterator[tuple[str, EventValue]]:
    names = {"t0": "t_ns", "t1": "t1_ns"}
    for column in ("t0", "t1", "process", "node", "key", "f", "value", "outcome", "op_id"):
        yield names.get(column, column), ops.column(column)[row].as_py()
