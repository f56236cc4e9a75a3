"""Do records that were deleted stay deleted?"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

DELETE, START = "delete-records", "log-start"
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
    """A log begins no earlier than where its records were acknowledged as deleted.

    After a fault by which bytes may be lost nothing is said: what told where the log begins may be
    among them. Needs: ops.
    """
    ops = evidence.tables["ops"]
    deleted, told = (_succeeded(ops, f) for f in (DELETE, START))
    until = min((f.t_start for f in evidence.faults if f.may_lose or f.wipes), default=None)
    looked_at = 0
    violations: list[Violation] = []
    for row in told if until is None else ():
        before = [
            one
            for one in deleted
            if one["key"] == row["key"] and one["complete_index"] < row["invoke_index"]
        ]
        looked_at += bool(before)
        last = max(before, key=lambda one: int(one["value"]), default=None)
        if last is not None and row["value"] < last["value"]:
            violations.append(_back(last, row))
    return conclude(
        looked_at=looked_at,
        unit="answers to where a log begins",
        violations=violations,
        needs="records that were deleted, no loss of bytes, and an answer afterwards",
        holds="none before the records that were deleted",
        algorithm="log starts against the offsets up to which records were deleted",
    )


def _succeeded(ops: pa.Table, f: str) -> list[_Operation]:
    ok = pc.and_(pc.equal(ops["f"], f), pc.equal(ops["outcome"], "ok"))
    found: list[_Operation] = ops.filter(ok).to_pylist()
    return found


def _back(deletion: _Operation, row: _Operation) -> Violation:
    return Violation(
        f"deleted records are back in {row['key']}: they were deleted before offset "
        f"{deletion['value']:,}, and the log begins at {row['value']:,}",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (deletion, row)
        ],
    )
