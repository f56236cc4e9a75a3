"""A request is done once, and completely or not at all: by the committed log."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.error_words import ACCEPTED, UNANSWERED
from checkers.registers.deletions import deletes_of, unasked_deletions
from checkers.registers.log_times import LogTimes, log_times
from checkers.registers.stored_records import StoredRecord, stored_records
from checkers.registers.stored_values import Written
from checkers.verdict import CheckResult, EventValue

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
