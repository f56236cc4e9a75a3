"""Changes of the voters come to an end, and the quorum goes on after them: V11."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.planned import Kind
from checkers.history.error_words import is_kafkas
from checkers.history.tables import VOTER_CHANGES
from checkers.quorum.leadership import SECOND, bounds_of
from checkers.run.recovery import why_in_doubt
from checkers.verdict import CheckResult, EventValue

_VOTERS_AFTER = "voters_after"  # the suffix of a fact that only changes of voters have
_Row = Mapping[str, Any]


@check(
    "V11-changes-come-to-an-end",
    applies=everywhere,
    source="KR ReconfigurationNotStuck; KAFKA-17608",
    rests_on=(Kind.OPERATIONS, Kind.FAULTS),
)
def changes_come_to_an_end(evidence: Evidence) -> CheckResult:
    """V11: A leader answers each request to change the voters; and once the change is done, the
    quorum acknowledges an operation within the time of an election.

    If nothing else is done to the cluster meanwhile, and the machine had time for the nodes. From
    the operations of operators and clients. (KR ReconfigurationNotStuck)
    """
    rows = evidence.tables["ops"]
    asked = rows.filter(pc.is_in(rows["f"], pa.array(VOTER_CHANGES))).to_pylist()
    undisturbed = [row for row in asked if not _is_disturbed(evidence, row, _end(evidence, row))]
    found = [_unanswered(row) for row in undisturbed if _lacks_answer(row)]
    found += _standstills(evidence, rows, asked)
    doubt = why_in_doubt(evidence.info.pressure) if found and evidence.info.runtime != "sim" else ""
    return conclude(
        looked_at=len(undisturbed),
        unit="changes of voters, with nothing else done to the cluster",
        violations=[] if doubt else found,
        gaps=[f"{found[0].message}; but {doubt}"] if doubt else [],
        needs="operations",
        holds="each was answered, and the quorum went on",
        algorithm="answers of the leader, and the next acknowledgement after each",
        nothing="no change was asked for while nothing else was done",
    )


def _end(evidence: Evidence, row: _Row) -> int:
    """When it was answered, or by when it should have been: later events are no excuse."""
    within_ns = int(bounds_of(evidence).leader_within_s * SECOND)
    due = min(evidence.info.duration_ns, int(row["t0"]) + within_ns)
    return due if row["t1"] is None else int(row["t1"])


def _is_disturbed(evidence: Evidence, row: _Row, until: int) -> bool:
    """Whether anything is wrong from the request on, except the fault that it is itself a part
    of."""
    return any(
        fault.may_harm and fault.overlaps(row["t0"], until) and not _is_part_of(fault, row)
        for fault in evidence.faults
    )


def _is_part_of(fault: FaultFact, row: _Row) -> bool:
    """Whether the change was requested to inject the fault, or to cure it. A fault that ends a
    process, or changes no voters, requests none: an operator may be waiting for a leader's answer
    at the moment when it is killed."""
    if not any(name.endswith(_VOTERS_AFTER) for name in fault.facts):
        return False
    asked = int(row["t0"])
    injects = not fault.ends_process and fault.t_start <= asked <= fault.begin_ns
    return injects or fault.end_ns <= asked <= fault.over_ns


def _lacks_answer(row: _Row) -> bool:
    return not is_kafkas(row["error"]) and str(row["outcome"]) == "info"


def _unanswered(row: _Row) -> Violation:
    text = f"node {row['node']} led, but never answered the request for {row['f']} of {row['key']}"
    return Violation(f"{text}: {row['error'] or 'no answer'}", [_shown(row, "asked for")])


def _standstills(evidence: Evidence, rows: pa.Table, asked: list[_Row]) -> Iterator[Violation]:
    """Changes after which nothing is acknowledged any more."""
    within_s = bounds_of(evidence).leader_within_s
    done = rows.filter(pc.equal(rows["outcome"], "ok"))
    began, ended = done["t0"].to_numpy(), done["t1"].to_numpy()
    tried = rows["t0"].to_numpy()
    for row in (row for row in asked if row["outcome"] == "ok"):
        since, until = int(row["t1"]), int(row["t1"]) + int(within_s * SECOND)
        is_over = until > evidence.info.duration_ns or _is_disturbed(evidence, row, until)
        if is_over or not ((since < tried) & (tried < until)).any():
            continue
        if not ((since <= began) & (ended <= until)).any():
            text = f"{row['f']} of {row['key']} was acknowledged, but nothing that was asked for "
            text += f"in the {within_s:g} s after it"
            yield Violation(text, [_shown(row, "acknowledged")])


def _shown(row: _Row, what: str) -> dict[str, EventValue]:
    shown = {name: row[name] for name in ("f", "key", "outcome", "node", "process")}
    return {"what": what, "t_ns": row["t0"], **shown}
