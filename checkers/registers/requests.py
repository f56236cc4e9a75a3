"""What a request asks for is done once, and wholly or not at all: by the committed log."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from checkers.check import check, of_registers
from checkers.conclusion import Violation, conclude
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.planned import Kind
from checkers.history.error_words import ACCEPTED, UNANSWERED
from checkers.registers.stored_records import stored_records
from checkers.registers.stored_values import Written
from checkers.verdict import CheckResult, EventValue

_SHOWN = ("op_id", "process", "node", "key", "f", "value", "outcome", "request")

_Row = dict[str, Any]


def committed_values(evidence: Evidence) -> Mapping[Written, list[int]]:
    """The offsets at which each value of each key stands in the committed log, each once; of a log
    that begins behind a snapshot, in what is left of it, which begins with a whole batch."""
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
    """A value stands in the log as often as clients asked for it to be written, and no oftener.

    A write that nobody answered may have happened once; one that was refused did not happen. From
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
        holds="each as often as it was asked for",
        algorithm="offsets by key and value, against operations that may have happened",
        nothing=evidence.below_snapshots if evidence.committed_log else "",
    )


def _writes(evidence: Evidence) -> list[_Row]:
    ops = evidence.tables["ops"]
    writes: list[_Row] = ops.filter(pc.equal(ops["f"], "write")).to_pylist()
    return writes


def _too_often(written: Written, offsets: list[int], asked: int) -> Violation:
    key, value = written
    text = f"{value} stands {counted(len(offsets), 'time')} in the log of {key}, at the offsets "
    text += f"{', '.join(map(str, offsets))}, and was asked for {counted(asked, 'time')}"
    rows: list[dict[str, EventValue]] = [
        {"what": "in the committed log", "key": key, "value": value, "offset": at}
        for at in offsets[:20]
    ]
    return Violation(text, rows)


def _with_requests(evidence: Evidence) -> dict[int, list[_Row]]:
    """The writes of each request that names several keys; each value was asked for once only."""
    writes = [row for row in _writes(evidence) if not _must_be_refused(row)]
    asked = Counter((row["key"], row["value"]) for row in writes)
    by_request: dict[int, list[_Row]] = defaultdict(list)
    for row in writes:
        if row["request"] is not None and asked[row["key"], row["value"]] == 1:
            by_request[row["request"]].append(row)
    return {request: rows for request, rows in by_request.items() if len(rows) > 1}


def _must_be_refused(row: _Row) -> bool:
    return str(row["error"]).startswith((ACCEPTED, UNANSWERED))


@check(
    "requests-are-whole",
    applies=of_registers,
    source="KIP-339; ConfigurationControlManager, ControllerResult.atomicOf",
    rests_on=(Kind.OPERATIONS, Kind.METADATA_LOGS),
)
def requests_are_whole(evidence: Evidence) -> CheckResult:
    """What is not refused of a request that names several keys is written wholly or not at all.

    KIP-339 promises it of one resource, which is a key here, and calls updates of several "not
    transactional": some may be refused and others be done. What is relied on is how controllers do
    those that they do not refuse: Apache Kafka's returns their records as one atomic result, which
    is appended as one batch or not at all, and a batch is committed as a whole. So does our node:
    no fault can leave half of them. Judged by the values in the committed log, not by batches.
    """
    found, looked_at = evidence.once(committed_values), 0
    violations = []
    for rows in _with_requests(evidence).values():
        wanted = [row for row in rows if row["outcome"] != "fail"]
        there = [row for row in wanted if (row["key"], str(row["value"])) in found]
        looked_at += 1
        if there and len(there) < len(wanted):
            violations.append(_half(wanted, there))
    return conclude(
        looked_at=looked_at if evidence.committed_log else 0,
        unit="requests that named several keys",
        violations=violations,
        needs="the metadata log on a majority of the voters' disks",
        holds="each was written wholly, or not at all",
        algorithm="values of each request in the committed log",
        nothing="no request named several keys" if evidence.committed_log else "",
    )


def _half(wanted: list[_Row], there: list[_Row]) -> Violation:
    names = ", ".join(sorted(row["key"] for row in there))
    text = f"request {wanted[0]['request']} was to alter {counted(len(wanted), 'key')}, "
    text += f"and only {names} "
    rows = [
        {
            "what": "in the committed log" if row in there else "in no committed log",
            "t_ns": row["t0"],
            "t1_ns": row["t1"],
            **{name: row[name] for name in _SHOWN},
        }
        for row in wanted[:20]
    ]
    return Violation(f"{text}were altered", rows)
