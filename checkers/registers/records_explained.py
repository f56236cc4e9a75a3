"""Every record on the disks was asked for by an operation of the history."""

from collections import Counter
from collections.abc import Iterator

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.registers.deletions import deletes_of, unasked_deletions
from checkers.registers.log_times import log_times
from checkers.registers.stored_records import CLIENT_METRICS, stored_records
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict

CHECK = "records-explained"
_Row = dict[str, EventValue]


@check(
    "records-explained",
    applies=of_registers,
    source="Raft, State Machine Safety",
    rests_on=(Kind.OPERATIONS,),
)
def records_were_asked_for(evidence: Evidence) -> CheckResult:
    """Every value of a register on any disk was written by an operation, and every deletion in the
    committed log belongs to a delete of its own that was not refused and can have been done at that
    time.

    Needs: ops, log_records. On any disk there are no more deletions of a register than clients
    asked for.

    Whether the write was acknowledged, or the record committed, does not matter: a value that no
    client sent was made up by a node, or the history has lost an operation. Either way no other
    check can be trusted, so it is invalid; but if the history is known to be cut, such a record is
    expected: unknown.
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
    strange: list[_Row] = [row for row in found if (row["resource"], row["value"]) not in written]
    deleted = registers.num_rows - valued.num_rows
    strange += _unasked(evidence) if deleted else []
    cut = bool(evidence.run.truncated) or not evidence.info.finished
    verdict = Verdict.VALID
    if strange:
        verdict = Verdict.UNKNOWN if cut else Verdict.INVALID
    elif not found and not deleted:
        verdict = Verdict.UNKNOWN
    return CheckResult(
        verdict=verdict,
        message=_message(len(found) + deleted, strange, cut=cut),
        looked_at=len(found) + deleted,
        count=len(strange) if verdict is Verdict.INVALID else 0,
        witness=[_shown(row) for row in strange[:WITNESS_LIMIT]] if not cut else (),
        algorithm="join of records with writes by key and value; of deletions with deletes by when "
        "they can have been written",
    )


def _unasked(evidence: Evidence) -> list[_Row]:
    """The deletions in the committed log that belong to no delete; else those that are too many on
    any disks."""
    times = evidence.once(log_times)
    deletes = evidence.once(deletes_of)
    found = unasked_deletions(times, deletes) if times is not None else ()
    rows = [_deletion(each.node, each.offset, each.epoch, each.key) for each in found]
    return rows or list(_too_many(evidence))


def _too_many(evidence: Evidence) -> Iterator[_Row]:
    """The deletions of each register at different offsets beyond the number that was asked for,
    refused or not."""
    ops = evidence.tables["ops"]
    asked = Counter(ops.filter(pc.equal(ops["f"], "delete"))["key"].to_pylist())
    places: dict[tuple[str, int, int], int] = {}
    for record in evidence.once(stored_records):
        if record.value is None and not record.in_snapshot:
            places.setdefault((record.key, record.offset, record.epoch), record.node)
    for (key, offset, epoch), node in sorted(places.items()):
        asked[key] -= 1
        if asked[key] < 0:
            yield _deletion(node, offset, epoch, key)


def _deletion(node: int, offset: int, epoch: int, key: str) -> _Row:
    return {"node": node, "offset": offset, "epoch": epoch, "resource": key, "value": None}


def _message(found: int, strange: list[_Row], *, cut: bool) -> str:
    if not found:
        return "no disk holds a record that a client asked for"
    if not strange:
        return f"{counted(found, 'record')} on the disks: a write of the history explains each"
    first = strange[0]
    what = f"{first['resource']} = {first['value']} on node {first['node']}"
    if first["value"] is None:
        what = f"the deletion of {first['resource']} at offset {first['offset']} on node "
        what += f"{first['node']}"
    more = f" (and {len(strange) - 1:,} more)" if len(strange) > 1 else ""
    tail = ", but the history is cut" if cut else ""
    verb = "write" if first["value"] is not None else "delete"
    return f"no {verb} asked for {what}{more}{tail}"


def _shown(row: _Row) -> _Row:
    rest = {name: row[name] for name in ("node", "offset", "epoch", "value")}
    return {"what": "on a disk, and never asked for by a client", "key": row["resource"], **rest}
