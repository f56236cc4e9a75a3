"""Committed offsets and deleted records: does a group keep the offsets that were committed, and no
others? Are the records that clients deleted gone, and no others?"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, Kind
from checkers.evidence.isr_history import LAG_NS
from checkers.evidence.log_starts import DELETE_RECORDS, AskedStarts
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

COMMIT, TOLD = "commit-offset", "committed-offset"
FINAL = "final"  # the phase
GROUPS = "__consumer_offsets"  # the topic
NOTHING = -1  # is committed
REFUSED = "error-"  # an answer of a node that refused begins so
_ENOUGH = 5  # commits that are tried, so that one of them succeeds
_LOST_BEFORE = "records may have been lost before each answer"
_SHOWN = ("op_id", "process", "node", "f", "key", "value")

_Operation = dict[str, Any]


def commits_offsets(info: RunInfo) -> bool:
    """Applies where a client commits offsets of a group."""
    return "committing-offsets" in info.load.get("chores", ())


@check(
    "committed-offsets-are-kept",
    applies=commits_offsets,
    source="KAFKA-20634; GroupCoordinator: a commit is answered once its record is committed",
    rests_on=(Kind.FAULTS,),
)
def committed_offsets_are_kept(evidence: Evidence) -> CheckResult:
    """A request for a group's committed offset is answered with the newest acknowledged offset, or
    with a later one if its commit was acknowledged or may have happened; never with one that was
    not asked to be committed.

    One client commits, a greater offset each time. A commit without an answer may be done late:
    until the links and processes that held it up have been well for a while. After a fault by which
    records may be lost, or if unclean elections were asked for, forgotten commits are not judged.
    Once all faults are over, commits are tried and succeed, and the group's offset is asked for at
    the end. (KAFKA-20634) Needs: ops.
    """
    ops = evidence.tables["ops"]
    commits = [row for row in _of(ops, COMMIT) if row["outcome"] != "fail"]
    told = [row for row in _of(ops, TOLD) if row["outcome"] == "ok"]
    until, looked_at = _losses_begin(evidence), 0
    violations: list[Violation] = []
    for row in told:
        newest = _newest_before(commits, row)
        if newest is not None and (until is None or row["t1"] < until):
            looked_at += 1
            late = _may_be_late(evidence, commits, newest)
            if row["value"] < newest["value"] and row["value"] not in late:
                violations.append(_forgotten(newest, row))
        if row["value"] not in _asked_before(commits, row) and row["value"] != NOTHING:
            violations.append(_made_up(row))
    return conclude(
        looked_at=looked_at,
        unit="answers with a committed offset",
        violations=violations,
        needs="acknowledged commits, and a request afterwards",
        holds="each had the newest acknowledged offset, or a later one",
        algorithm="commits of one client, in order, against the answers after each",
        gaps=[] if violations else [*_gaps(evidence, commits, told)],
        nothing=_LOST_BEFORE if commits and told and until is not None else "",
    )


def _losses_begin(evidence: Evidence) -> int | None:
    """From when on commits may be forgotten; None: never."""
    may_lose = [fault.t_start for fault in evidence.faults if fault.may_lose or fault.wipes]
    if evidence.promised.unclean(GROUPS):
        may_lose += [fault.t_start for fault in evidence.faults]
    return min(may_lose, default=None)


def _gaps(
    evidence: Evidence, commits: Sequence[_Operation], told: Sequence[_Operation]
) -> Iterator[str]:
    """What is missing for a loss to show."""
    over = max((fault.over_ns for fault in evidence.faults), default=-1)
    after = [row for row in _of(evidence.tables["ops"], COMMIT) if row["t0"] > over]
    if len(after) >= _ENOUGH and not any(row["outcome"] == "ok" for row in after):
        yield f"none of {len(after):,} commits succeeded that were tried when all was well again"
    if commits and not any(row["phase"] == FINAL for row in told):
        yield "no answer at the end has the committed offset"


def _of(ops: pa.Table, f: str) -> list[_Operation]:
    found: list[_Operation] = ops.filter(pc.equal(ops["f"], f)).to_pylist()
    return found


def _newest_before(commits: Sequence[_Operation], row: _Operation) -> _Operation | None:
    """The greatest that was acknowledged before this request."""
    before = [
        one
        for one in commits
        if one["outcome"] == "ok"
        and one["key"] == row["key"]
        and one["complete_index"] < row["invoke_index"]
    ]
    return max(before, key=lambda one: int(one["value"]), default=None)


def _may_be_late(evidence: Evidence, commits: Sequence[_Operation], newest: _Operation) -> set[int]:
    """Offsets of commits that may have taken effect after the newest acknowledged one."""
    return {
        int(one["value"])
        for one in commits
        if one["outcome"] == "info"
        and one["key"] == newest["key"]
        and newest["t0"] <= _settled_ns(evidence, one)
    }


def _settled_ns(evidence: Evidence, commit: _Operation) -> int:
    """When a commit without an answer has been done, if it ever is. One that was answered was in
    the log before; any other may be on its way while a link or a process is held up."""
    if commit["t1"] is not None and (commit["error"] or "").startswith(REFUSED):
        return int(commit["t1"])
    settled = int(commit["t0"] if commit["t1"] is None else commit["t1"]) + LAG_NS
    for fault in evidence.faults:  # in the order in which they began
        if fault.t_start <= settled and fault.over_ns > commit["t0"]:
            settled = max(settled, min(fault.over_ns, FOREVER_NS - LAG_NS) + LAG_NS)
    return settled


def _asked_before(commits: Sequence[_Operation], row: _Operation) -> set[int]:
    """The offsets that were asked to be committed by then."""
    return {
        int(one["value"])
        for one in commits
        if one["key"] == row["key"] and one["invoke_index"] < row["complete_index"]
    }


def _made_up(row: _Operation) -> Violation:
    return Violation(
        f"made-up commit of {row['key']}: node {row['node']} answers {row['value']:,}, which no "
        "client had committed",
        [{"what": row["f"], "t_ns": row["t0"], **{name: row[name] for name in _SHOWN}}],
    )


def _forgotten(commit: _Operation, row: _Operation) -> Violation:
    return Violation(
        f"lost commit of {row['key']}: offset {commit['value']:,} was acknowledged by node "
        f"{commit['node']}; asked afterwards, node {row['node']} answers {row['value']:,}",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (commit, row)
        ],
    )


# Deleted records: are those gone that clients deleted, and no others?


START = "log-start"


def deletes_records(info: RunInfo) -> bool:
    """Applies where a client deletes records."""
    return "deleting-records" in info.load.get("chores", ())


@check(
    "deleted-records-stay-deleted",
    applies=deletes_records,
    source="KIP-107: no record before the low watermark is there any more",
    rests_on=(Kind.FAULTS,),
)
def deleted_records_stay_deleted(evidence: Evidence) -> CheckResult:
    """A log begins no earlier than the offset up to which a deletion was acknowledged, and no later
    than clients' deletions and the configured retention allow.

    After a fault by which bytes may be lost, records that are back are not judged: the log start
    offset may be among the lost bytes. Needs: ops.
    """
    ops = evidence.tables["ops"]
    deleted, told = (_succeeded(ops, f) for f in (DELETE_RECORDS, START))
    until = min((f.t_start for f in evidence.faults if f.may_lose or f.wipes), default=None)
    asked = evidence.once(AskedStarts)
    looked_at = 0
    violations: list[Violation] = []
    for row in told:
        before = [
            one
            for one in deleted
            if one["key"] == row["key"] and one["complete_index"] < row["invoke_index"]
        ]
        if before and (until is None or row["t1"] < until):
            looked_at += 1
            last = max(before, key=lambda one: int(one["value"]))
            if row["value"] < last["value"]:
                violations.append(_back(last, row))
        most = asked.by(row["key"], row["t1"])
        if row["value"] > most:
            violations.append(_too_many(most, before, row))
    return conclude(
        looked_at=looked_at,
        unit="answers with a log start",
        violations=violations,
        needs="deleted records, no loss of bytes, and an answer afterwards",
        holds="each log begins behind its deleted records",
        algorithm="log starts against the offsets up to which records were deleted",
        nothing=_LOST_BEFORE if deleted and told and until is not None else "",
    )


def _succeeded(ops: pa.Table, f: str) -> list[_Operation]:
    ok = pc.and_(pc.equal(ops["f"], f), pc.equal(ops["outcome"], "ok"))
    found: list[_Operation] = ops.filter(ok).to_pylist()
    return found


def _back(deletion: _Operation, row: _Operation) -> Violation:
    return Violation(
        f"deleted records are back in {row['key']}: they were deleted before offset "
        f"{deletion['value']:,}, but the log begins at {row['value']:,}",
        _shown(deletion, row),
    )


def _too_many(most: int, deletions: Sequence[_Operation], row: _Operation) -> Violation:
    return Violation(
        f"records of {row['key']} are lost: the log begins at {row['value']:,}, but none from "
        f"offset {most:,} on was asked to be deleted",
        _shown(*deletions, row),
    )


def _shown(*rows: _Operation) -> list[dict[str, Any]]:
    return [
        {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
        for one in rows
    ]
