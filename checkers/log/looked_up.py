"""Does a look-up by time find the existing records?"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

PUT, LOOK_UP = "put", "look-up"
NONE = -1  # the offset where there is no such record
_SHOWN = ("op_id", "process", "node", "f", "key", "value")

_Operation = dict[str, Any]


def looks_up(info: RunInfo) -> bool:
    """Applies where a client looks up offsets by time."""
    return "looking-up" in info.load.get("chores", ())


@check(
    "look-ups-find-records",
    applies=looks_up,
    source="KIP-79: the first offset with the timestamp that is asked for or a later one",
    rests_on=(Kind.FAULTS,),
)
def look_ups_find_records(evidence: Evidence) -> CheckResult:
    """Once a record was acknowledged, a look-up of a time before every record returns an offset:
    the newest record of a log is neither compacted away nor too old to be kept.

    After a fault by which records may be lost nothing is judged, nor if the run set a retention
    time. Needs: ops.
    """
    ops = evidence.tables["ops"]
    first = _first_puts(ops)
    until = min((f.t_start for f in evidence.faults if f.may_lose or f.wipes), default=None)
    told = [row for row in _succeeded(ops, LOOK_UP) if _comes_after(first.get(row["key"]), row)]
    sure = [row for row in told if until is None or row["t1"] < until]
    if any(name.startswith("log.retention.") for name in evidence.info.settings):
        sure = []
    return conclude(
        looked_at=len(sure),
        unit="look-ups by time",
        violations=[_blind(row, first[row["key"]]) for row in sure if row["value"] == NONE],
        needs="look-ups after a record was acknowledged",
        holds="each returned an offset",
        algorithm="look-ups after the first acknowledged record of a log",
    )


def _succeeded(ops: pa.Table, f: str) -> list[_Operation]:
    ok = pc.and_(pc.equal(ops["f"], f), pc.equal(ops["outcome"], "ok"))
    found: list[_Operation] = ops.filter(ok).to_pylist()
    return found


def _first_puts(ops: pa.Table) -> Mapping[str, _Operation]:
    """By log, the record that was acknowledged first."""
    found: dict[str, _Operation] = {}
    for row in sorted(_succeeded(ops, PUT), key=lambda row: row["complete_index"]):
        found.setdefault(row["key"], row)
    return found


def _comes_after(put: _Operation | None, row: _Operation) -> bool:
    return put is not None and bool(row["invoke_index"] > put["complete_index"])


def _blind(row: _Operation, put: _Operation) -> Violation:
    seconds = (row["t0"] - put["t1"]) / 1e9
    return Violation(
        f"lost timestamps in {row['key']}: node {row['node']} finds no record that is younger "
        f"than 1970, {seconds:.1f} s after one was acknowledged",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (put, row)
        ],
    )
