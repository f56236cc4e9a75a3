"""Registers: from the table of operations to a verdict that explains itself.

Sound treatment of what clients do not know: a `fail` did not happen (a read of its value is itself
the violation), an `info` write or delete may take effect at any time after its invocation, or
never; a read that did not succeed says nothing. A delete is a write of nothing.

Keys on which every value was written once are swept (`linearizability.zones`), the others searched
(`register_anomalies`).
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from checkers.check import check, of_registers
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.asked import asked_by_clients
from checkers.history.sealed_run import LINEARIZABLE_READS, Run
from checkers.registers.register_anomalies import (
    FAILED_WRITE_HAPPENED,
    FUTURE_READ,
    PHANTOM_READ,
    STALE_READ,
    RegisterColumns,
    SweptRegisters,
    register_columns,
    search,
    witness_row,
)
from checkers.verdict import CheckResult, EventValue, Verdict, counted

SWEEP = "zones of unique-valued registers, one pass over all keys"
PLURALS = {
    STALE_READ: "stale reads",
    FUTURE_READ: "future reads",
    PHANTOM_READ: "phantom reads",
    FAILED_WRITE_HAPPENED: "failed writes that happened",
}


@check(
    "linearizable",
    applies=of_registers,
    source="Herlihy and Wing, 1990; Raft thesis 6.4",
    rests_on=(Kind.OPERATIONS,),
)
def linearizable(evidence: Evidence) -> CheckResult:
    """Every read returns the value of the newest write, in some order that respects real time.

    Needs: ops. Unknown if the search of a key found no answer within its budget, or if nothing
    completed. A target that does not promise linearizable reads (Apache Kafka: a controller answers
    from what it has heard) may return an old value: such reads are counted and reported, and not
    held against it. Then every read must still return a value of a write that was invoked before
    the read returned and not refused; that is all that is left to ask for: if it holds, the writes
    can be put into the order of their invocations, and no read is of a value that was not there
    before.
    """
    return _Judged(evidence.run).result()


def swept(ops: pa.Table, columns: RegisterColumns) -> SweptRegisters:
    """All keys in one pass; those that it cannot decide are `repeated`."""
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
    return SweptRegisters(ops, columns, found)


class _Judged:
    """The findings on the registers of one run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ops = asked_by_clients(run.tables["ops"])
        self.columns = register_columns(self.ops)
        self.swept = swept(self.ops, self.columns)
        self.searched = search(
            self.ops, self.columns, self.swept.repeated, self.swept.wrong_by_themselves
        )
        self.looked_at = int(np.count_nonzero(self.columns.kind))
        self.counts = dict(self.swept.counts)
        if self.searched.violated:
            # Repeated keys without an order are so because of when their reads were.
            self.counts[STALE_READ] = self.counts.get(STALE_READ, 0) + self.searched.violated
        self.promised = LINEARIZABLE_READS in run.info.promises
        self.excused: dict[str, int] = {}
        if not self.promised and STALE_READ in self.counts:
            self.excused[STALE_READ] = self.counts[STALE_READ]
        self.accused = {name: n for name, n in self.counts.items() if name not in self.excused}

    def result(self) -> CheckResult:
        if self.accused:
            return self._violated()
        if self.searched.undecided and self.promised:
            return self._said(Verdict.UNKNOWN, self.searched.why)
        if not self.looked_at:
            return self._said(
                Verdict.UNKNOWN, "no operation completed, so there is nothing to judge"
            )
        if self.excused:
            message, witness = self._explained(self.excused)
            told = f"{_kinds(self.excused)}, which this target never promised to avoid: {message}"
            return self._said(Verdict.VALID, told, witness)
        operations = counted(self.looked_at, "operation")
        keys = counted(len(self.columns.keys), "key")
        if self.searched.undecided:
            left = counted(self.searched.undecided, "key")
            why = (
                f"no read is of what was not written before; stale ones were not counted on {left}"
            )
            return self._said(Verdict.VALID, f"{operations} on {keys}: {why}")
        return self._said(Verdict.VALID, f"{operations} on {keys} are linearizable")

    def _violated(self) -> CheckResult:
        message, witness = self._explained(self.accused)
        if self.run.truncated and (set(self.accused) == {PHANTOM_READ} or self.swept.repeated):
            cut = f"but the record was cut ({self.run.truncated[0]})"
            lost = "and the write may have been in the part that is lost"
            return self._said(Verdict.UNKNOWN, f"{message}; {cut}, {lost}")
        total = sum(self.accused.values())
        if sum(self.counts.values()) > 1:
            message = f"{message} ({_kinds(self.accused)}{self._not_held()})"
        return self._said(Verdict.INVALID, message, witness, total)

    def _not_held(self) -> str:
        return f"; not held against it: {_kinds(self.excused)}" if self.excused else ""

    def _explained(self, names: Mapping[str, int]) -> tuple[str, list[Mapping[str, EventValue]]]:
        """The first violation of these kinds: one of the sweep before one of the search."""
        of_sweep = {name: n for name, n in self.swept.counts.items() if name in names}
        if not of_sweep:
            return self.searched.why, list(self.searched.witness)
        first = self.swept.earliest(of_sweep)
        return first.message, [witness_row(self.ops, row, part) for row, part in first.rows]

    def _said(
        self,
        verdict: Verdict,
        message: str,
        witness: list[Mapping[str, EventValue]] | None = None,
        count: int = 0,
    ) -> CheckResult:
        found = {PLURALS[name].replace(" ", "_"): number for name, number in self.counts.items()}
        return CheckResult(
            verdict=verdict,
            message=message,
            looked_at=self.looked_at,
            count=count,
            witness=witness or (),
            algorithm=SWEEP + (f"; {self.searched.algorithm}" if self.searched.keys else ""),
            facts={"keys": len(self.columns.keys), **found, **self.searched.facts},
        )


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(number, name, PLURALS[name]) for name, number in counts.items())
