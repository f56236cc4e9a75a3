"""Acknowledged writes are on the disks; and the fate of those with an unknown outcome."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.registers.log_times import deletes_of, log_times, lost_deletes
from checkers.registers.stored_values import (
    StoredOn,
    Written,
    complete_disks,
    highest_high_watermark,
    stored_on,
    whole_disks,
)
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict, counted

CHECK = "durability"
ALGORITHM = (
    "join of acknowledged values with records by key and value, copies by offset and epoch; of "
    "deletes with deletions by when those can have been written"
)


class Fate(StrEnum):
    """The fate of one write by the disks. `OPEN`: it timed out, and they do not say. `OVERWRITTEN`:
    it is below a snapshot, which has a later value, or none because that was a deletion. `GONE`:
    acknowledged, and only on disks that were lost, with a majority of the voters'."""

    SURVIVED = "survived"
    OVERWRITTEN = "overwritten"
    LOST = "lost"
    GONE = "gone with the disks"
    UNDECIDED = "undecided"
    RECOVERED = "recovered"
    NOT_HAPPENED = "not happened"
    OPEN = "open"
    UNEXPECTED = "unexpected"
    REFUSED = "refused"


_NEVER_CUT = (1 << 63) - 1  # for a write that cannot have been overwritten below a snapshot

_Row = dict[str, EventValue]
_Fates = Mapping[Fate, Sequence[_Row]]


@check(
    "durability",
    applies=of_registers,
    source="Raft, Leader Completeness",
    rests_on=(Kind.METADATA_LOGS, Kind.OPERATIONS, Kind.TRACES),
)
def acknowledged_writes_survive(evidence: Evidence) -> CheckResult:
    """Every acknowledged write or delete is in the committed log, on a majority of the disks.

    Needs: ops, log_records, disks; with traces, committed also means below the highest high
    watermark. An `info` write that is found there is recovered; a failed one is a violation. If
    disks are missing or damaged, absence proves nothing: unknown. The disks of voters count. A
    write that is sent again has the value of the first: a failed one happened if the value is there
    more often than all the others can have put it there.

    A delete has no value: it is there if the log has a deletion of that register for it alone that
    can have been written while the delete was under way (`checkers.registers.log_times`), or if the
    register had no value then.

    A log that begins behind a snapshot counts as having a write that the snapshot has, or may have
    overwritten: by other logs that hold the same, and else by when the writes were asked for and
    acknowledged. A write that must have been above the cut is not excused, nor one that nothing can
    have overwritten (`checkers.registers.stored_values`).

    A voter that lost its disk counts with that disk's contents. If the disks of a majority of the
    voters are lost, a write that only they have may be gone; but once the remaining voters were
    just a majority, each of them must have what clients asked for from then on, and all that had
    been acknowledged before (`checkers.evidence.voter_history`).
    """
    fates: dict[Fate, list[_Row]] = {fate: [] for fate in Fate}
    for row, fate in chain(fates_of_writes(evidence), _fates_of_deletes(evidence)):
        fates[fate].append(row)
    return _result(evidence, fates)


def fates_of_writes(evidence: Evidence) -> Iterator[tuple[_Row, Fate]]:
    """Every write as a row of `OPS`, in order, and its fate."""
    writes = _writes(evidence)
    others = Counter(_written(row) for row in writes if row["outcome"] != "fail")
    needed = _needed_by_all(evidence, writes)
    for row in writes:
        begun, done = row.pop("invoke_index"), row.pop("complete_index")
        assert isinstance(begun, int)
        stored = stored_on(evidence, _written(row), begun)
        least = others[_written(row)] if row["outcome"] == "fail" else 0
        fate = _fate(row["outcome"], stored, found=stored.times > least)
        if row["outcome"] == "ok" and fate is Fate.SURVIVED:
            assert isinstance(done, int)
            fate = _fate_of_committed(evidence, stored, needed=done <= needed)
        yield row, fate


def _fates_of_deletes(evidence: Evidence) -> Iterator[tuple[_Row, Fate]]:
    """Of the acknowledged ones."""
    times = evidence.once(log_times)
    if times is None:
        acknowledged = [
            row
            for deletes in evidence.once(deletes_of).values()
            for row in deletes
            if row["outcome"] == "ok"
        ]
        yield from ((row, Fate.UNDECIDED) for row in acknowledged)
        return
    absent = Fate.LOST if times.complete else Fate.UNDECIDED
    for row, there in lost_deletes(evidence, highest_high_watermark(evidence)):
        yield row, Fate.SURVIVED if there else absent


def _needed_by_all(evidence: Evidence, writes: Sequence[_Row]) -> int:
    """The event up to which each remaining voter must have every acknowledged write: the end of the
    last write that was asked for when they were just a majority. -1: not at all."""
    lost = evidence.lost_majority
    if lost is None:
        return -1
    return max(
        (
            int(str(row["complete_index"]))
            for row in writes
            if row["outcome"] == "ok" and int(str(row["t0"])) > lost.each_needed_ns
        ),
        default=-1,
    )


def _fate_of_committed(evidence: Evidence, stored: StoredOn, *, needed: bool) -> Fate:
    """The fate of an acknowledged write that a majority had: which of them have lost their disks
    since?"""
    if needed and stored.lacking:
        return Fate.LOST
    if stored.kept:
        return Fate.SURVIVED
    unread = evidence.voters.newest.keys - evidence.once(whole_disks)
    return Fate.UNDECIDED if unread else Fate.GONE


def _written(row: _Row) -> Written:
    return str(row["key"]), str(row["value"])


def _writes(evidence: Evidence) -> list[_Row]:
    ops = evidence.tables["ops"]
    names = ["op_id", "process", "node", "key", "f", "value", "outcome", "t0", "t1"]
    names += ["invoke_index", "complete_index"]
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
    gone = fates[Fate.GONE]
    acknowledged = there + overwritten + len(lost) + len(undecided) + len(gone)
    recovered = len(fates[Fate.RECOVERED])
    violations = lost or unexpected
    verdict, message = (
        Verdict.VALID,
        (
            f"{counted(there, 'acknowledged write is', 'acknowledged writes are')} in the "
            f"committed log on {_told_where(evidence)}{_told_overwritten(overwritten)}"
            f"{_told_gone(gone)}; of unknown ones {recovered:,} happened"
        ),
    )
    if violations:
        row = violations[0]
        what = "acknowledged, is lost" if lost else "refused, happened nevertheless"
        verdict = Verdict.INVALID
        message = f"the {_named(row)} by process {row['process']}, {what}"
        others = len(lost) + len(unexpected) - 1
        message += f" (and {others:,} more)" if others else ""
        message += _told_held(evidence, row) if lost and row["f"] == "write" else ""
    elif not acknowledged:
        verdict, message = Verdict.UNKNOWN, "no write was acknowledged"
    elif undecided:
        verdict = Verdict.UNKNOWN
        message = f"{len(undecided):,} of {acknowledged:,} acknowledged writes were not found, "
        message += f"and only {complete_disks(evidence)} could be read completely"
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
            "lost_deletes": sum(row["f"] == "delete" for row in lost),
            "gone_with_disks": len(gone),
            "undecided": len(undecided),
            "recovered": recovered,
            "not_happened": len(fates[Fate.NOT_HAPPENED]),
            "failed_but_found": len(unexpected),
            "whole_disks": evidence.voters.newest.count(
                evidence.once(whole_disks) - evidence.lost_logs.keys()
            ),
        },
    )


def _told_overwritten(overwritten: int) -> str:
    what = counted(overwritten, "was", "were")
    return f", {what} overwritten below a snapshot" if overwritten else ""


def _told_where(evidence: Evidence) -> str:
    """The disks that the writes are on."""
    if evidence.lost_majority is None:
        return "a majority of disks"
    left = counted(len(evidence.lost_majority.left), "disk that is", "disks that are")
    return f"a majority of disks, and on the {left} left since {evidence.lost_majority}"


def _told_gone(gone: Sequence[_Row]) -> str:
    if not gone:
        return ""
    what = counted(len(gone), "acknowledged write is", "acknowledged writes are")
    return f", except for {what} allowed: they are only on lost disks"


def _told_held(evidence: Evidence, row: _Row) -> str:
    """The lost disks that have a write that is lost."""
    held = stored_on(evidence, _written(row), _NEVER_CUT).lost
    if not held:
        return ""
    nodes = ", ".join(f"node {replica.node}" for replica in sorted(held))
    return f"; the lost disks of {nodes} have the first"


def _damage(evidence: Evidence) -> str:
    """Disks that could not be read, so that a verdict never hides them."""
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
    names = ("op_id", "process", "node", "key", "f", "value", "outcome")
    return {"what": what, **times, **{name: row[name] for name in names}}


def _named(row: _Row) -> str:
    if row["f"] == "delete":
        return f"delete of {row['key']}"
    return f"write of {row['value']} at {row['key']}"
