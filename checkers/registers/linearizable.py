"""Registers: from the table of operations to a verdict that explains itself.

Sound treatment of what clients do not know: a `fail` did not happen (if somebody read its value,
that is itself the violation), an `info` write happened iff somebody read its value and may take
effect at any time after its invocation, a read that did not succeed says nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.check import check, of_registers, untraced
from checkers.evidence.evidence import Evidence
from checkers.evidence.kinds import Kind
from checkers.linearizability.columns import Columns, Ints, intern
from checkers.verdict import CheckResult, EventValue, Verdict

CHECK = "linearizable"
STALE_READ = "stale read"
ALGORITHM = "zones of unique-valued registers, one pass over all keys"


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One violation: what it is, in words, and the rows of the operations that show it."""

    name: str
    message: str
    event: int
    rows: tuple[tuple[int, str], ...]  # row of the table, part it plays


@check(
    "linearizable",
    applies=of_registers,
    source="Herlihy and Wing, 1990; Raft thesis 6.4",
    rests_on=(Kind.OPERATIONS,),
)
def linearizable(evidence: Evidence) -> CheckResult:
    """Every read returns the value of the newest write, in some order that respects real time.

    Needs: ops. Keys on which a value was written twice are searched, not swept. Unknown where
    that search found no answer within its budget, or where nothing completed. Apache Kafka promises
    no more than that a controller answers from what it has heard: its stale reads are told, and not
    held against it.
    """
    ops = evidence.tables["ops"]
    columns = intern(ops)
    count, anomalies, undecided = judge(ops, columns)
    looked_at = int(np.count_nonzero(columns.kind))
    if (
        evidence.run.truncated
        and anomalies
        and all(found.name == "phantom read" for found in anomalies)
    ):
        return _unknown(
            f"{anomalies[0].message}; but the record was cut ({evidence.run.truncated[0]}), "
            "and the write may have been in the part that is lost",
            looked_at,
        )
    if anomalies:
        stale = all(found.name == STALE_READ for found in anomalies)
        allowed = stale and untraced(evidence.info)
        told = f"{count:,} reads that nobody promised to be newer; {anomalies[0].message}"
        return CheckResult(
            verdict=Verdict.VALID if allowed else Verdict.INVALID,
            message=told if allowed else anomalies[0].message,
            looked_at=looked_at,
            count=0 if allowed else count,
            witness=[witness_row(ops, row, part) for row, part in anomalies[0].rows],
            algorithm=ALGORITHM,
            facts={"anomaly": anomalies[0].name, "keys": len(columns.keys), "anomalies": count},
        )
    if undecided:
        from checkers.linearizability.repeated import by_search

        return by_search(ops, columns, undecided, ALGORITHM, evidence.run.truncated)
    if not looked_at:
        return _unknown("no operation completed, so there is nothing to judge", 0)
    return CheckResult(
        verdict=Verdict.VALID,
        message=f"{looked_at:,} operations on {len(columns.keys):,} keys are linearizable",
        looked_at=looked_at,
        algorithm=ALGORITHM,
        facts={"keys": len(columns.keys)},
    )


def _unknown(message: str, looked_at: int) -> CheckResult:
    return CheckResult(
        verdict=Verdict.UNKNOWN,
        message=message,
        looked_at=looked_at,
        algorithm=ALGORITHM,
    )


def judge(ops: pa.Table, columns: Columns) -> tuple[int, list[Anomaly], list[int]]:
    """How many anomalies, the first ones explained in the order of events, and keys left out."""
    from checkers.linearizability import zones

    found = zones.check(
        columns.kind,
        columns.key,
        columns.value,
        columns.invoke,
        columns.complete,
        len(columns.keys),
        columns.events,
    )
    rows = sorted(found.anomalies.tolist(), key=lambda row: row[3])
    explained = [_explain(_History(ops, columns), *row) for row in rows[:8]]
    return found.total, explained, np.flatnonzero(found.repeated).tolist()


def _explain(history: "_History", kind: int, cluster: int, other: int, event: int) -> Anomaly:
    from checkers.linearizability import zones

    if kind == zones.PHANTOM:
        return _phantom(history, other, event)
    if kind == zones.FUTURE:
        message = (
            f"future read: {history.text(other)} completed before that value's write by "
            f"{history.who(cluster)} was invoked"
        )
        rows = ((other, "completed first"), (cluster, "was invoked only later"))
        return Anomaly(name="future read", message=message, event=event, rows=rows)
    return _contradiction(history, cluster, other, event)


def _phantom(history: "_History", read: int, event: int) -> Anomaly:
    failed = history.failed_writer(read)
    if failed is None:
        message = f"phantom read: {history.text(read)}, which nobody ever wrote"
        rows: tuple[tuple[int, str], ...] = ((read, "read what was never written"),)
        return Anomaly(name="phantom read", message=message, event=event, rows=rows)
    message = (
        f"a failed write happened: {history.text(read)}, whose write by {history.who(failed)} "
        "had been refused"
    )
    rows = ((failed, "was reported as failed"), (read, "read its value"))
    return Anomaly(name="failed write happened", message=message, event=event, rows=rows)


def _contradiction(history: "_History", one: int, two: int, event: int) -> Anomaly:
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
    return Anomaly(name=STALE_READ, message=message, event=event, rows=tuple(first.items()))


class _History:
    """Looks into the operations of a few clusters, for the sake of an explanation."""

    def __init__(self, ops: pa.Table, columns: Columns) -> None:
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
        """The row whose completion closes the cluster; none: before the history began."""
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

        Never of a value against the initial one: nothing comes back only by mistake.
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
