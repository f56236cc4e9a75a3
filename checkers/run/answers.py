"""Nodes' answers, whatever they say: they follow Kafka's protocol, and refuse wrong requests.

A client cannot distinguish a promise from an answer that it cannot read: such an operation is in
doubt or failed, and no other check would ever miss it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, everywhere, of_registers
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.history.events import (
    ACCEPTED,
    MALFORMED,
    REFUSED,
    SET_TO_NULL,
    TWICE_IN_RESOURCE,
    UNANSWERED,
)
from checkers.history.sealed_run import STRICT_CONFIGS
from checkers.registers.requests import committed_values
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict, counted

_Row = dict[str, EventValue]
_NO_NODE = -1  # the node of an operation that a library sent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sighting:
    """A malformed answer. `process`: of the operation that it was to answer, if there was one."""

    t: int
    node: int
    what: str  # API and problem, as far as known
    head: str
    process: int | None

    def as_witness(self) -> Mapping[str, EventValue]:
        return {
            "what": self.what,
            "t_ns": self.t,
            "node": self.node,
            "process": self.process,
            "first_bytes": self.head,
        }


@check("answers-well-formed", applies=everywhere, source="Kafka protocol, KIP-482")
def answers_are_well_formed(evidence: Evidence) -> CheckResult:
    """Every answer of a node can be read by clients, and was asked for.

    Except of a node with stored bytes that a fault may have damaged before. A client library
    reports an unreadable answer to a send, or unreadable records, without the node; other
    unreadable answers it hides, and asks again. Needs: ops, malformed, faults.
    """
    damaging = [fault for fault in evidence.faults if fault.damages_bytes and fault.may_have_bitten]
    seen = sorted(_sightings(evidence), key=lambda each: each.t)
    blamed = [each for each in seen if not any(_excuses(fault, each) for fault in damaging)]
    answered = pc.sum(evidence.tables["ops"]["t1"].is_valid()).as_py() or 0
    excused = f"; {len(seen) - len(blamed)} of nodes with bytes that a fault had damaged"
    if not blamed:
        return CheckResult(
            verdict=Verdict.VALID,
            message=f"no malformed answer among {counted(answered, 'operation')}"
            f"{excused * bool(seen)}",
            looked_at=answered,
        )
    first = blamed[0]
    to = f" to process {first.process}" if first.process is not None else ""
    nodes = ", ".join(_named(node) for node in sorted({each.node for each in blamed}))
    return CheckResult(
        verdict=Verdict.INVALID,
        message=f"{counted(len(blamed), 'malformed answer')} of {nodes}: the first, of "
        f"{_named(first.node)}{to}: {first.what}",
        looked_at=answered,
        count=len(blamed),
        witness=[each.as_witness() for each in blamed[:WITNESS_LIMIT]],
    )


def _excuses(fault: FaultFact, sighting: _Sighting) -> bool:
    """Damage stays when the fault is over. A report by a library may be about any node's answer."""
    if sighting.node == _NO_NODE:
        return fault.t_start <= sighting.t
    return sighting.node in fault.nodes and fault.t_start <= sighting.t


def _named(node: int) -> str:
    return "a node that its client does not name" if node == _NO_NODE else f"node {node}"


def _sightings(evidence: Evidence) -> Iterator[_Sighting]:
    """Those that were recorded as they came, and those that only operations report."""
    ops = evidence.tables["ops"]
    told = ops.filter(pc.starts_with(ops["error"], MALFORMED))
    columns = ["t0", "t1", "node", "process", "f", "error"]
    untold = [row for row in told.select(columns).to_pylist() if row["t1"] is not None]
    for row in evidence.tables["malformed"].sort_by("t").to_pylist():
        of = next((each for each in untold if _is_of(row, each)), None)
        if of is not None:
            untold.remove(of)
        what = f"{row['api']}: {row['problem']}" if row["api"] else row["problem"]
        process = of["process"] if of is not None else None
        yield _Sighting(t=row["t"], node=row["node"], what=what, head=row["head"], process=process)
    for each in untold:
        problem = each["error"].removeprefix(MALFORMED)
        what, process = f"{each['f']}: {problem}", each["process"]
        yield _Sighting(t=each["t1"], node=each["node"], what=what, head="", process=process)


def _is_of(row: Mapping[str, EventValue], operation: Mapping[str, EventValue]) -> bool:
    """Whether this answer ended that operation."""
    t, t0, t1 = row["t"], operation["t0"], operation["t1"]
    assert isinstance(t, int)
    assert isinstance(t0, int)
    assert isinstance(t1, int)
    same = (operation["node"], operation["error"]) == (row["node"], f"{MALFORMED}{row['problem']}")
    return same and t0 <= t <= t1


# Tolerated for a target that does not promise `STRICT_CONFIGS`.
_TOLERATED = tuple(
    f"{begins}{what}"
    for begins in (ACCEPTED, UNANSWERED)
    for what in (SET_TO_NULL, TWICE_IN_RESOURCE)
)


@check(
    "wrong-requests-refused",
    applies=of_registers,
    source="ConfigurationControlManager",
)
def wrong_requests_are_refused(evidence: Evidence) -> CheckResult:
    """A request that must be refused is answered by an error, and changes nothing.

    These have impossible values, configs and resources. A null value, and a config that stands
    twice in a resource, may be accepted by a target that does not promise otherwise. The outcome of
    a refused write is `fail`, and the checks of reads and disks accuse if its value is found; the
    value of one with an answer that says nothing is looked for here. Needs: ops, log_records.
    """
    ops = evidence.tables["ops"]
    refused = pc.sum(pc.starts_with(ops["error"], REFUSED)).as_py() or 0
    tolerated = () if STRICT_CONFIGS in evidence.info.promises else _TOLERATED
    accepted, lenient = _split(ops, ACCEPTED, tolerated)
    unanswered, _ = _split(ops, UNANSWERED, tolerated)
    found = evidence.once(committed_values)
    done = [row for row in unanswered if (row["key"], str(row["value"])) in found]
    looked_at = refused + len(accepted) + len(unanswered)
    if not accepted and not done:
        message = f"{counted(refused, 'wrong request was', 'wrong requests were')} refused, "
        message += f"{len(unanswered):,} had no answer and no effect"
        if lenient:
            message += f"; {len(lenient):,} were accepted that this target never promised to "
            message += "refuse"
        return CheckResult(verdict=Verdict.VALID, message=message, looked_at=looked_at)
    return CheckResult(
        verdict=Verdict.INVALID,
        message=_not_refused(accepted, done),
        looked_at=looked_at,
        count=len(accepted) + len(done),
        witness=[_wrong_request(row) for row in (*accepted, *done)[:WITNESS_LIMIT]],
    )


def _split(ops: pa.Table, begins: str, tolerated: tuple[str, ...]) -> tuple[list[_Row], list[_Row]]:
    """The operations with an error that begins so, and then those that may have happened."""
    rows = ops.filter(pc.starts_with(ops["error"], begins)).to_pylist()
    fine = [str(row["error"]).startswith(tolerated) for row in rows]
    accused = [row for row, may_be in zip(rows, fine, strict=True) if not may_be]
    return accused, [row for row, may_be in zip(rows, fine, strict=True) if may_be]


def _not_refused(accepted: list[_Row], done: list[_Row]) -> str:
    if accepted:
        first = accepted[0]
        what = str(first["error"]).removeprefix(ACCEPTED)
        return (
            f"node {first['node']} answered process {first['process']} that a write of "
            f"{first['key']} had happened: {what}"
        )
    what = str(done[0]["error"]).removeprefix(UNANSWERED)
    return (
        f"{done[0]['value']} is in the committed log of {done[0]['key']}, but must not be: {what}"
    )


def _wrong_request(row: _Row) -> _Row:
    names = ("node", "process", "key", "value")
    return {"what": row["error"], "t_ns": row["t1"], **{name: row[name] for name in names}}
