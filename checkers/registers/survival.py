"""Acknowledged writes are on the disks; and what became of those that nobody knows about."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.registers.stored_values import (
    StoredOn,
    Written,
    stored_on,
    told_whole,
    whole_disks,
)
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

CHECK = "durability"
ALGORITHM = "join of acknowledged values with records by key and value, copies by offset and epoch"


class Fate(StrEnum):
    """What the disks say of one write. `OPEN`: it timed out, and they do not tell. `OVERWRITTEN`:
    it is below a snapshot, which has what followed it, or nothing because that was a deletion."""

    SURVIVED = "survived"
    OVERWRITTEN = "overwritten"
    LOST = "lost"
    UNDECIDED = "undecided"
    RECOVERED = "recovered"
    NOT_HAPPENED = "not happened"
    OPEN = "open"
    UNEXPECTED = "unexpected"
    REFUSED = "refused"


_Row = dict[str, EventValue]
_Fates = Mapping[Fate, Sequence[_Row]]


@check(
    "durability",
    applies=of_registers,
    source="Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.TRACES),
)
def acknowledged_writes_survive(evidence: Evidence) -> CheckResult:
    """Every acknowledged write is in the committed log, on a majority of the nodes' disks.

    Needs: ops, log_records, disks; with traces, committed also means below the highest high
    watermark. An `info` write that is found there is recovered; a failed one is a violation. Where
    disks are missing or damaged, absence proves nothing: unknown. What counts are the disks of
    voters. A write that is sent again has the value of the first: a failed one happened if the
    value stands more often than all the others can have put it there.

    A log that begins behind a snapshot has what was cut if the snapshot has it, or what may have
    overwritten it: by other logs that hold the same, and else by when the writes were asked for and
    acknowledged. What must have been behind the cut is not excused, nor what nothing can have
    followed (`checkers.registers.cut_logs`).
    """
    fates: dict[Fate, list[_Row]] = {fate: [] for fate in Fate}
    for row, fate in fates_of_writes(evidence):
        fates[fate].append(row)
    return _result(evidence, fates)


def fates_of_writes(evidence: Evidence) -> Iterator[tuple[_Row, Fate]]:
    """Every write as a row of `OPS`, in their order, and what became of it."""
    writes = _writes(evidence)
    others = Counter(_written(row) for row in writes if row["outcome"] != "fail")
    for row in writes:
        begun = row.pop("invoke_index")
        assert isinstance(begun, int)
        stored = stored_on(evidence, _written(row), begun)
        least = others[_written(row)] if row["outcome"] == "fail" else 0
        yield row, _fate(row["outcome"], stored, found=stored.times > least)


def _written(row: _Row) -> Written:
    return str(row["key"]), str(row["value"])


def _writes(evidence: Evidence) -> list[_Row]:
    ops = evidence.tables["ops"]
    names = ["op_id", "process", "node", "key", "value", "outcome", "t0", "t1", "invoke_index"]
    rows: list[_Row] = ops.filter(pc.equal(ops["f"], "write")).select(names).to_pylist()
    return rows


def _fate(outcome: EventValue, stored: StoredOn, *, found: bool) -> Fate:
    match outcome:
        case "ok" if found:
            return Fate.SURVIVED
        case "ok" if stored.overwritten:
            return Fate.OVERWRITTEN
        case "ok":
            return Fate.UNDECIDED if stored.possible else Fate.LOST
        case "fail":
            return Fate.UNEXPECTED if found else Fate.REFUSED
    if found:
        return Fate.RECOVERED
    return Fate.OPEN if stored.possible or stored.overwritten else Fate.NOT_HAPPENED


def _result(evidence: Evidence, fates: _Fates) -> CheckResult:
    lost, unexpected, undecided = (
        fates[fate] for fate in (Fate.LOST, Fate.UNEXPECTED, Fate.UNDECIDED)
    )
    there, overwritten = len(fates[Fate.SURVIVED]), len(fates[Fate.OVERWRITTEN])
    acknowledged = there + overwritten + len(lost) + len(undecided)
    recovered = len(fates[Fate.RECOVERED])
    violations = lost or unexpected
    verdict, message = (
        Verdict.VALID,
        (
            f"{counted(there, 'acknowledged write is', 'acknowledged writes are')} in the "
            f"committed log on a majority of disks{_told_overwritten(overwritten)}; "
            f"of unknown ones {recovered:,} happened"
        ),
    )
    if violations:
        row = violations[0]
        what = "acknowledged, is lost" if lost else "refused, happened nevertheless"
        verdict = Verdict.INVALID
        message = f"the write of {row['value']} at {row['key']} by process {row['process']}, {what}"
        others = len(lost) + len(unexpected) - 1
        message += f" (and {others:,} more)" if others else ""
    elif not acknowledged:
        verdict, message = Verdict.UNKNOWN, "no write was acknowledged"
    elif undecided:
        verdict = Verdict.UNKNOWN
        message = f"{len(undecided):,} of {acknowledged:,} acknowledged writes were not found, "
        message += f"and only {told_whole(evidence)} could be read whole"
    return CheckResult(
        verdict=verdict,
        message=f"{message}{_damage(evidence)}",
        looked_at=acknowledged,
        count=len(lost) + len(unexpected),
        witness=[_shown(row) for row in violations[:WITNESS_LIMIT]],
        algorithm=ALGORITHM,
        facts={
            "acknowledged": acknowledged,
            "overwritten": overwritten,
            "lost": len(lost),
            "undecided": len(undecided),
            "recovered": recovered,
            "not_happened": len(fates[Fate.NOT_HAPPENED]),
            "failed_but_found": len(unexpected),
            "whole_disks": evidence.voters.newest.count(evidence.once(whole_disks)),
        },
    )


def _told_overwritten(overwritten: int) -> str:
    what = counted(overwritten, "was", "were")
    return f", {what} overwritten below a snapshot" if overwritten else ""


def _damage(evidence: Evidence) -> str:
    """What could not be read, so that it is never hidden behind a verdict."""
    problems = [
        f"node {row['node']}: {row['problem']}"
        for row in evidence.tables["disks"].to_pylist()
        if row["problem"] is not None
    ]
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return f"; damaged disks: {problems[0]}{more}" if problems else ""


def _shown(row: _Row) -> _Row:
    what = (
        "acknowledged, but on no majority of disks"
        if row["outcome"] == "ok"
        else "refused, but found"
    )
    times = {"t_ns": row["t0"], "t1_ns": row["t1"]}
    rest = {name: value for name, value in row.items() if name not in ("t0", "t1")}
    return {"what": what, **times, "f": "write", **rest}
