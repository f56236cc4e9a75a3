"""Does a group keep the offsets that were committed?"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

COMMIT, TOLD = "commit-offset", "committed-offset"
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
    """Who asks for what a group has committed is told the newest offset that was acknowledged, or
    one that was committed since, or of which nobody knows.

    One client commits, an offset that is greater each time. After a fault by which records may be
    lost nothing is said. (KAFKA-20634) Needs: ops.
    """
    ops = evidence.tables["ops"]
    commits = _of(ops, COMMIT)
    told = [row for row in _of(ops, TOLD) if row["outcome"] == "ok"]
    until = min((f.t_start for f in evidence.faults if f.may_lose or f.wipes), default=None)
    looked_at, violations = 0, []
    for row in told:
        newest = _newest_before(commits, row)
        if newest is None or (until is not None and row["t1"] >= until):
            continue
        looked_at += 1
        if row["value"] < newest["value"] and row["value"] not in _unknown(commits, row):
            violations.append(_forgotten(newest, row))
    return conclude(
        looked_at=looked_at,
        unit="answers to what is committed",
        violations=violations,
        needs="commits that were acknowledged, and a question afterwards",
        holds="each had the newest offset that was acknowledged, or a later one",
        algorithm="commits of one client, in their order, against what it is told after each",
    )


def _of(ops: pa.Table, f: str) -> list[_Operation]:
    found: list[_Operation] = ops.filter(pc.equal(ops["f"], f)).to_pylist()
    return found


def _newest_before(commits: Sequence[_Operation], row: _Operation) -> _Operation | None:
    """The greatest that was acknowledged before this was asked."""
    before = [
        one
        for one in commits
        if one["outcome"] == "ok"
        and one["key"] == row["key"]
        and one["complete_index"] < row["invoke_index"]
    ]
    return max(before, key=lambda one: int(one["value"]), default=None)


def _unknown(commits: Sequence[_Operation], row: _Operation) -> set[int]:
    """Offsets whose commits may take effect at any time."""
    return {
        int(one["value"])
        for one in commits
        if one["outcome"] == "info" and one["key"] == row["key"]
    }


def _forgotten(commit: _Operation, row: _Operation) -> Violation:
    return Violation(
        f"lost commit of {row['key']}: offset {commit['value']:,} was acknowledged by node "
        f"{commit['node']}; asked afterwards, node {row['node']} says {row['value']:,}",
        [
            {"what": one["f"], "t_ns": one["t0"], **{name: one[name] for name in _SHOWN}}
            for one in (commit, row)
        ],
    )
