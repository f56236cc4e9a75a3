"""Requests and records: a request is done once, and completely or not at all; every record on the
disks was requested."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.history.events import ACCEPTED, UNANSWERED
from checkers.registers.log_times import LogTimes, deletes_of, log_times, unasked_deletions
from checkers.registers.stored_values import CLIENT_METRICS, StoredRecord, Written, stored_records
from checkers.verdict import WITNESS_LIMIT, CheckResult, EventValue, Verdict, counted

# Every record on the disks was requested by an operation of the history.


CHECK = "records-explained"
_RecordRow = dict[str, EventValue]


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
    strange: list[_RecordRow] = [
        row for row in found if (row["resource"], row["value"]) not in written
    ]
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
        witness=[_shown_record(row) for row in strange[:WITNESS_LIMIT]] if not cut else (),
        algorithm="join of records with writes by key and value; of deletions with deletes by when "
        "they can have been written",
    )


def _unasked(evidence: Evidence) -> list[_RecordRow]:
    """The deletions in the committed log that belong to no delete; else those that are too many on
    any disks."""
    times = evidence.once(log_times)
    deletes = evidence.once(deletes_of)
    found = unasked_deletions(times, deletes) if times is not None else ()
    rows = [_deletion(each.node, each.offset, each.epoch, each.key) for each in found]
    return rows or list(_too_many(evidence))


def _too_many(evidence: Evidence) -> Iterator[_RecordRow]:
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


def _deletion(node: int, offset: int, epoch: int, key: str) -> _RecordRow:
    return {"node": node, "offset": offset, "epoch": epoch, "resource": key, "value": None}


def _message(found: int, strange: list[_RecordRow], *, cut: bool) -> str:
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


def _shown_record(row: _RecordRow) -> _RecordRow:
    rest = {name: row[name] for name in ("node", "offset", "epoch", "value")}
    return {"what": "on a disk, and never asked for by a client", "key": row["resource"], **rest}


_SHOWN = ("op_id", "process", "node", "key", "f", "value", "outcome", "request")

_Row = dict[str, Any]


def committed_values(evidence: Evidence) -> Mapping[Written, list[int]]:
    """The offsets of each value of each key in the committed log, each once; if the log begins
    behind a snapshot, in what is left of it, which begins with a complete batch."""
    log = evidence.committed_log
    if log is None:
        return {}
    found: dict[Written, list[int]] = defaultdict(list)
    for record in evidence.once(stored_records):
        mine = record.node == log.node and record.offset < log.end and not record.in_snapshot
        if mine and record.value is not None:
            found[record.key, record.value].append(record.offset)
    return found


@check(
    "written-once",
    applies=of_registers,
    source="KIP-595: an append that was answered is not appended again",
    rests_on=(Kind.OPERATIONS, Kind.METADATA_LOGS),
)
def written_once(evidence: Evidence) -> CheckResult:
    """The committed log has a value no more often than clients asked to write it.

    A write that was not answered may have happened once; one that was refused did not happen. From
    the committed log and the operations.
    """
    asked = Counter(
        (row["key"], str(row["value"])) for row in _writes(evidence) if row["outcome"] != "fail"
    )
    found = evidence.once(committed_values)
    violations = [
        _too_often(written, offsets, asked[written])
        for written, offsets in found.items()
        if 0 < asked[written] < len(offsets)
    ]
    return conclude(
        looked_at=len(found),
        unit="values in the committed log",
        violations=violations,
        needs="the metadata log on a majority of the voters' disks",
        holds="none more often than it was asked for",
        algorithm="offsets by key and value, against operations that may have happened",
        nothing=evidence.below_snapshots if evidence.committed_log else "",
    )


def _writes(evidence: Evidence) -> list[_Row]:
    ops = evidence.tables["ops"]
    writes: list[_Row] = ops.filter(pc.equal(ops["f"], "write")).to_pylist()
    return writes


def _too_often(written: Written, offsets: list[int], asked: int) -> Violation:
    key, value = written
    text = f"{value} is {counted(len(offsets), 'time')} in the log of {key}, at offsets "
    text += f"{', '.join(map(str, offsets))}, and was asked for {counted(asked, 'time')}"
    rows: list[dict[str, EventValue]] = [
        {"what": "in the committed log", "key": key, "value": value, "offset": at}
        for at in offsets[:20]
    ]
    return Violation(text, rows)


@dataclass(slots=True)
class _Request:
    """The accepted part of a request that names several keys: `writes` of values that were asked
    for once only, and deletes."""

    writes: list[_Row] = field(default_factory=list)
    deletes: list[_Row] = field(default_factory=list)

    def known(self) -> bool:
        return bool(self.writes) and len(self.writes) + len(self.deletes) > 1


def _with_requests(evidence: Evidence) -> Mapping[int, _Request]:
    writes = [row for row in _writes(evidence) if not _must_be_refused(row)]
    asked = Counter((row["key"], row["value"]) for row in writes)
    by_request: dict[int, _Request] = defaultdict(_Request)
    for row in writes:
        once = asked[row["key"], row["value"]] == 1
        if row["request"] is not None and row["outcome"] != "fail" and once:
            by_request[row["request"]].writes.append(row)
    for deletes in evidence.once(deletes_of).values():
        for row in deletes:
            if row["request"] is not None and not _must_be_refused(row):
                by_request[row["request"]].deletes.append(row)
    return {number: each for number, each in by_request.items() if each.known()}


def _must_be_refused(row: _Row) -> bool:
    return str(row["error"]).startswith((ACCEPTED, UNANSWERED))


@check(
    "requests-are-whole",
    applies=of_registers,
    source="KIP-339; ConfigurationControlManager, ControllerResult.atomicOf",
    rests_on=(Kind.OPERATIONS, Kind.METADATA_LOGS),
)
def requests_are_whole(evidence: Evidence) -> CheckResult:
    """The accepted part of a request that names several keys is written completely or not at all.

    KIP-339 promises it for one resource, which is a key here, and calls updates of several "not
    transactional": some may be refused and others be done. The check relies on how controllers do
    those that they do not refuse: Apache Kafka's returns their records as one atomic result, which
    is appended as one batch or not at all, and a batch is committed as a whole. So does our node:
    no fault can leave half of them. Judged by the values in the committed log, not by batches. A
    register that a request deletes has no value after the records that it writes, which are beside
    its deletions; and no deletion is left to a request of which nothing was written.
    """
    times = evidence.once(log_times)
    requests = _with_requests(evidence) if times is not None else {}
    violations = []
    if times is not None:
        found = evidence.once(committed_values)
        for request in requests.values():
            there = [row for row in request.writes if (row["key"], str(row["value"])) in found]
            ends = [found[row["key"], str(row["value"])][-1] for row in there]
            undone = _undone(request, times, max(ends)) if ends else []
            if (there and len(there) < len(request.writes)) or undone:
                violations.append(_half(request, there, undone))
        violations += _only_deletions(evidence, times, requests, found)
    return conclude(
        looked_at=len(requests),
        unit="requests that named several keys",
        violations=violations,
        needs="the metadata log on a majority of the voters' disks",
        holds="each was written completely, or not at all",
        algorithm="values of each request in the committed log",
        nothing="no request named several keys" if evidence.committed_log else "",
    )


def _undone(request: _Request, times: LogTimes, last: int) -> list[_Row]:
    """The deletes of a request that wrote something, the last of it at this offset, if their
    registers have a value after it. The records of a request follow each other."""
    behind = last + len(request.deletes)
    undone = []
    for row in request.deletes:
        own = [each for each in times.records if each.key == row["key"] and each.offset <= behind]
        after = [each.value for each in own if each.offset > last]
        before = [each.value for each in own if each.offset <= last]
        if None not in after and before and before[-1] is not None:
            undone.append(row)
    return undone


def _only_deletions(
    evidence: Evidence,
    times: LogTimes,
    requests: Mapping[int, _Request],
    found: Mapping[Written, list[int]],
) -> list[Violation]:
    """The deletions that can belong only to requests of which nothing was written."""
    undone = {
        number
        for number, request in requests.items()
        if not any((row["key"], str(row["value"])) in found for row in request.writes)
        and not any(times.may_be_below(row["key"], row["invoke_index"]) for row in request.writes)
    }
    deletes = evidence.once(deletes_of)
    rest = {
        key: [row for row in own if row["request"] not in undone] for key, own in deletes.items()
    }
    known = {(each.key, each.offset) for each in unasked_deletions(times, deletes)}
    return [
        _deleted_alone(each, [row for row in deletes.get(each.key, ()) if row["request"] in undone])
        for each in unasked_deletions(times, rest)
        if (each.key, each.offset) not in known
    ]


def _deleted_alone(record: StoredRecord, deletes: list[_Row]) -> Violation:
    text = (
        f"{record.key} was deleted at offset {record.offset}, by a request of which nothing else "
    )
    text += "is in the committed log"
    shown = [{"what": "was to delete it, and to write", **_fields(row)} for row in deletes[:20]]
    return Violation(text, shown)


def _half(request: _Request, there: list[_Row], undone: list[_Row]) -> Violation:
    wanted = [*request.writes, *request.deletes]
    done = [*there, *(row for row in request.deletes if row not in undone)] if there else []
    names = ", ".join(sorted(row["key"] for row in done))
    text = f"request {wanted[0]['request']} was to alter {counted(len(wanted), 'key')}, "
    text += f"but only {names} were altered"
    return Violation(text, [_shown(row, row in done) for row in wanted[:20]])


def _shown(row: _Row, done: bool) -> dict[str, EventValue]:
    return {"what": "in the committed log" if done else "in no committed log", **_fields(row)}


def _fields(row: _Row) -> dict[str, EventValue]:
    return {"t_ns": row["t0"], "t1_ns": row["t1"], **{name: row[name] for name in _SHOWN}}
