"""What nodes replayed about brokers, topics and partitions, against the committed log: M1."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping

import pyarrow.compute as pc

from checkers.check import check, of_brokers, traced
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline
from checkers.evidence.lives import Process
from checkers.evidence.planned import Kind
from checkers.history.sealed_run import RunInfo
from checkers.partitions.leaders import NEED
from checkers.verdict import CheckResult, EventValue

_UNIT = "replayed records"
_TOLD = frozenset(
    (
        "RegisterBroker",
        "UnregisterBroker",
        "FenceBroker",
        "UnfenceBroker",
        "BrokerRegistrationChange",
        "Topic",
        "Partition",
        "PartitionChange",
        "ClearElr",
        "RemoveTopic",
    )
)


def _told(info: RunInfo) -> bool:
    """Applies where there are brokers, and nodes trace what they replay."""
    return of_brokers(info) and traced(info)


@check(
    "M1-replayed-as-committed",
    applies=_told,
    source="KIP-966 MetadataLogMatching",
    rests_on=(Kind.METADATA_LOGS, Kind.TRACES),
)
def replayed_as_committed(evidence: Evidence) -> CheckResult:
    """M1: A node replays exactly the committed records about brokers and partitions, in order.

    By c.record and q.loaded of each process: at each offset the log has such a record, and none is
    left out between two of them except by a snapshot. (KIP-966 MetadataLogMatching)
    """
    found = evidence.timeline
    if found is None:
        return unread(_UNIT, NEED)
    committed = committed_kinds(evidence, found)
    looked_at, violations = 0, list[Violation]()
    for life in evidence.lives:
        looked_at += len(life.rows("c.record"))
        for process in life.processes:
            violations += _wrong(process, committed, found)
    return conclude(
        looked_at=looked_at,
        unit=_UNIT,
        violations=violations,
        needs=NEED,
        holds="each is in the committed log, and none was left out",
        algorithm="offset -> kind of record, against the committed metadata log",
        nothing="no record about brokers was replayed" if evidence.lives else "",
    )


def committed_kinds(evidence: Evidence, found: Timeline) -> dict[int, str]:
    """The kinds of the log's records, by offset; a snapshot's records have no offsets of their
    own."""
    records = evidence.tables["log_records"]
    kinds: dict[int, str] = {}
    in_snapshot = False
    for row in records.filter(pc.equal(records["node"], found.log.node)).to_pylist():
        if row["type"] in ("SnapshotHeader", "SnapshotFooter"):
            in_snapshot = row["type"] == "SnapshotHeader"
        elif not in_snapshot and row["type"] in _TOLD and row["offset"] < found.log.end:
            kinds[row["offset"]] = row["type"]
    return kinds


def _wrong(process: Process, committed: Mapping[int, str], found: Timeline) -> Iterator[Violation]:
    """Each process begins to replay at a snapshot or at the log's start. Below `start` only a
    snapshot has the records, and above the end it is unknown what is committed."""
    offsets = sorted(offset for offset in committed if offset >= found.start)
    expected: int | None = None
    for event in process.events("c.record", "q.loaded"):
        if event.event == "q.loaded" or not found.start <= event.offset < found.log.end:
            expected = None
            continue
        kind = event.more.get("record")
        at: dict[str, EventValue] = {
            "what": "replayed",
            "node": event.node,
            "offset": event.offset,
            "record": str(kind),
        }
        text = f"node {event.node} replayed a {kind} at offset {event.offset}"
        if committed.get(event.offset) != kind:
            holds = committed.get(event.offset, "no such record")
            yield Violation(f"{text}, where the committed log has {holds}", [at])
        elif expected is not None and event.offset != expected:
            yield Violation(f"{text}, but the next one was at offset {expected}", [at])
        following = bisect_right(offsets, event.offset)
        expected = offsets[following] if following < len(offsets) else None
