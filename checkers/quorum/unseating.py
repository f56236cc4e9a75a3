"""Requests of clients do not unseat the leader of the quorum."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.verdict import CheckResult

ALTER, EPOCH = "alter-configs", "quorum-epoch"
UNEXPECTED = "UNKNOWN_SERVER_ERROR"
_CHORES = {"known-operations", "unknown-operations"}
_SHOWN = ("op_id", "process", "node", "f", "key", "value", "error")

_Operation = dict[str, Any]


def alters_configs(info: RunInfo) -> bool:
    """Applies where a client alters configurations and asks for the quorum's epoch."""
    return bool(_CHORES & set(info.load.get("chores", ())))


@check(
    "no-request-unseats",
    applies=alters_configs,
    source="Raft thesis 3.4: a leader leads until it fails, or hears of a later epoch",
    rests_on=(Kind.FAULTS,),
)
def no_request_unseats(evidence: Evidence) -> CheckResult:
    """No request of a client unseats the leader of the quorum.

    A request is accused if it was answered with UNKNOWN_SERVER_ERROR, the error of a controller
    that failed in it, and the leader's next answer had a later epoch, before the first fault. A
    leader that lost its followers on a slow machine answers with another error, or not at all.
    Needs: ops.
    """
    until = min((fault.t_start for fault in evidence.faults), default=None)
    sure = [
        (before, request, after)
        for before, request, after in _between_questions(evidence.tables["ops"])
        if until is None or after["t1"] < until
    ]
    violations = [
        _unseated(before, request, after)
        for before, request, after in sure
        if request["error"] == UNEXPECTED and after["value"] > before["value"]
    ]
    return conclude(
        looked_at=len(sure),
        unit="requests",
        violations=violations,
        needs="requests between two answers to the quorum's epoch, before the first fault",
        holds="none of them was followed by a failed controller and another epoch",
        algorithm="epochs of the quorum before and after each request",
    )


def _between_questions(ops: pa.Table) -> Iterator[tuple[_Operation, _Operation, _Operation]]:
    """Requests that were answered, each with the last epoch before it and the first one after."""
    rows = _rows(ops)
    epochs = [row for row in rows if row["f"] == EPOCH and row["outcome"] == "ok"]
    for request in rows:
        if request["f"] != ALTER or request["complete_index"] is None:
            continue
        earlier = [e for e in epochs if e["complete_index"] < request["invoke_index"]]
        later = [e for e in epochs if e["invoke_index"] > request["complete_index"]]
        if earlier and later:
            yield earlier[-1], request, later[0]


def _rows(ops: pa.Table) -> Sequence[_Operation]:
    about = pc.is_in(ops["f"], value_set=pa.array([ALTER, EPOCH]))
    found: list[_Operation] = ops.filter(about).sort_by("invoke_index").to_pylist()
    return found


def _unseated(before: _Operation, request: _Operation, after: _Operation) -> Violation:
    return Violation(
        f"unseated controller: node {request['node']} answered a request with {request['error']}, "
        f"and the quorum went from epoch {before['value']} to {after['value']}",
        [
            {"what": row["f"], "t_ns": row["t0"], **{name: row[name] for name in _SHOWN}}
            for row in (before, request, after)
        ],
    )
