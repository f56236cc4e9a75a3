"""The anomalies in a history of registers, by kind; and one case in a few rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from checkers.array_types import Flags, Ints
from checkers.registers.register_columns import RegisterColumns
from checkers.verdict import EventValue

if TYPE_CHECKING:  # the import compiles
    from checkers.linearizability.zones import Zones

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
        f"a failed write happened: {history.text(read)}, whose write by {history.who(failed)} "
        "had been refused"
    )
    rows = ((failed, "was reported as failed"), (read, "read its value"))
    return RegisterAnomaly(name=FAILED_WRITE_HAPPENED, message=message, rows=rows)


def _future(history: "_History", read: int, writer: int) -> RegisterAnomaly:
    message = (
        f"future read: {history.text(read)} completed before that value's write by "
        f"{history.who(writer)} was invoked"
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

    def who(self, row: int) -> str:
        return f"process {self.field(row, 'process')}"

    def text(self, row: int | None) -> str:
        assert row is not None
        value = self.field(row, "value")
        said = "nothing" if value is None else str(value)
        verb = "read" if self.field(row, "f") == "read" else "wrote"
        return f"{self.who(row)} {verb} {said} at {self.field(row, 'key')}"

    def done(self, row: int | None) -> str:
        assert row is not None
        return f"the {self.name(row)} by {self.who(row)}"

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
