"""Are the records deleted that were to be, and no others?"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.log_starts import DELETE_RECORDS, AskedStarts
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

START = "log-start"
_SHOWN = ("op_id", "process", "node", "f", "key", "value")

_Operation = dict[str, Any]


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
        looked_at += bool(before)
        last = max(before, key=lambda one: int(one["value"]), default=None)
        if last is not None and until is None and row["value"] < last["value"]:
            violations.append(_back(last, row))
        most = asked.by(row["key"], row["t1"])
        if row["value"] > most:
            violations.append(_too_many(most, before, row))
    return conclude(
        looked_at=looked_at if until is None else 0,
        unit="answers with a log start",
        violations=violations,
        needs="deleted records, no loss of bytes, and an answer afterwards",
        holds="each log begins behind its deleted records",
        algorithm="log starts against the offsets up to which records were deleted",
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
