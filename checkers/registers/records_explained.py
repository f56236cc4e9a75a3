"""Every record on the disks was asked for by an operation of the history."""

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

CHECK = "records-explained"
CLIENT_METRICS = 16  # the resource type that registers are made of


@check(
    "records-explained",
    applies=of_registers,
    source="Raft, State Machine Safety",
    rests_on=(Kind.OPERATIONS,),
)
def records_were_asked_for(evidence: Evidence) -> CheckResult:
    """Every value of a register on any disk was written by an operation.

    Needs: ops, log_records.

    Whether the write was acknowledged, or the record committed, does not matter: a value that
    nobody sent was made up by a node, or the history has lost an operation. Either way nothing that
    other checks say can be trusted, so it is invalid; but of a record that is known to be cut, that
    is what was expected: unknown.
    """
    ops, records = evidence.tables["ops"], evidence.tables["log_records"]
    writes = ops.filter(pc.equal(ops["f"], "write"))
    written = set(
        zip(writes["key"].to_pylist(), map(str, writes["value"].to_pylist()), strict=True)
    )
    configs = records.filter(pc.equal(records["type"], "Config"))
    registers = configs.filter(pc.equal(configs["resource_type"], CLIENT_METRICS))
    valued = registers.filter(registers["value"].is_valid())
    found = valued.select(["node", "offset", "epoch", "resource", "value"]).to_pylist()
    strange = [row for row in found if (row["resource"], row["value"]) not in written]
    cut = bool(evidence.run.truncated) or not evidence.info.finished
    verdict = Verdict.VALID
    if strange:
        verdict = Verdict.UNKNOWN if cut else Verdict.INVALID
    elif not found:
        verdict = Verdict.UNKNOWN
    return CheckResult(
        verdict=verdict,
        message=_message(found, strange, cut=cut),
        looked_at=len(found),
        count=len(strange) if verdict is Verdict.INVALID else 0,
        witness=[_shown(row) for row in strange[:WITNESS_LIMIT]] if not cut else (),
        algorithm="join of records with writes by key and value",
    )


def _message(
    found: list[dict[str, EventValue]], strange: list[dict[str, EventValue]], *, cut: bool
) -> str:
    if not found:
        return "no disk holds a record that a client asked for"
    if not strange:
        return f"{counted(len(found), 'record')} on the disks: a write of the history explains each"
    first = strange[0]
    what = f"{first['resource']} = {first['value']} on node {first['node']}"
    more = f" (and {len(strange) - 1:,} more)" if len(strange) > 1 else ""
    tail = ", but the history is cut" if cut else ""
    return f"no write asked for {what}{more}{tail}"


def _shown(row: dict[str, EventValue]) -> dict[str, EventValue]:
    rest = {name: row[name] for name in ("node", "offset", "epoch", "value")}
    return {"what": "on a disk, and never written by a client", "key": row["resource"], **rest}
