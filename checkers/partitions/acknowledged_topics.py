"""Acknowledged topics are in the committed metadata log: M6."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.counted import counted
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Timeline
from checkers.evidence.planned import Kind
from checkers.evidence.promised import CREATE, DELETE
from checkers.partitions.leaders import NEED
from checkers.verdict import CheckResult

_SHOWN = ("op_id", "process", "node", "f", "key", "outcome")

_Operation = dict[str, Any]


@check(
    "M6-acknowledged-topics-committed",
    applies=of_brokers,
    source="invariant of Kafka's controller",
    rests_on=(Kind.METADATA_LOGS,),
)
def acknowledged_topics_are_committed(evidence: Evidence) -> CheckResult:
    """M6: every acknowledged creation or deletion of a topic has a record in the committed metadata
    log.

    A controller that is not active makes no promise. A topic acknowledged n times has n records; a
    snapshot hides earlier ones, so if one is not found there it is unknown. The message names lost
    disks that had the record. Needs: ops, log_records.
    """
    ops = evidence.tables["ops"]
    about = pc.is_in(ops["f"], value_set=pa.array([CREATE, DELETE]))
    acknowledged = ops.filter(pc.and_(about, pc.equal(ops["outcome"], "ok"))).to_pylist()
    found = evidence.timeline
    violations: list[Violation] = []
    gaps = [f"{NEED} could not be read"] if acknowledged and not found else []
    for (f, topic), rows in _by_topic(acknowledged).items():
        missing = _missing(found, f, topic, rows) if found else None
        if missing is not None and found is not None and found.start > 0:
            gaps.append(f"{topic} may have been in the log before offset {found.start}")
        elif missing is not None:
            held = evidence.once(_created_on_lost_disks).get(topic, []) if f == CREATE else []
            violations.append(_held_by(missing, held))
    return conclude(
        looked_at=len(acknowledged),
        unit="topics acknowledged as created or deleted",
        violations=violations,
        needs=f"{NEED}, and operations on topics",
        holds="each has its record in the committed log",
        algorithm="acknowledgements against Topic and RemoveTopic records, by name and number",
        nothing="no topic was acknowledged as created or deleted",
        gaps=gaps,
    )


def _by_topic(rows: Sequence[_Operation]) -> Mapping[tuple[str, str], list[_Operation]]:
    found: dict[tuple[str, str], list[_Operation]] = {}
    for row in rows:
        found.setdefault((row["f"], row["key"]), []).append(row)
    return found


def _created_on_lost_disks(evidence: Evidence) -> Mapping[str, list[int]]:
    """By topic, the nodes that lost a disk with its record."""
    records = evidence.tables["lost_records"]
    rows = records.filter(pc.equal(records["type"], "Topic")).select(["node", "detail"]).to_pylist()
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(json.loads(row["detail"])["name"], set()).add(row["node"])
    return {topic: sorted(nodes) for topic, nodes in found.items()}


def _held_by(missing: Violation, nodes: Sequence[int]) -> Violation:
    if not nodes:
        return missing
    told = ", ".join(f"node {node}" for node in nodes)
    return replace(missing, message=f"{missing.message}; a lost disk of {told} has it")


def _missing(found: Timeline, f: str, topic: str, rows: Sequence[_Operation]) -> Violation | None:
    records = (found.topics if f == CREATE else found.removed).get(topic, [])
    if len(records) >= len(rows):
        return None
    done = "created" if f == CREATE else "deleted"
    by = "a broker that the client library chose"
    if rows[-1]["node"] >= 0:
        by = f"node {rows[-1]['node']}"
    text = f"topic {topic} was acknowledged as {done} by {by}, and "
    text += "no such record is committed"
    if records:
        text = f"topic {topic} was acknowledged as {done} {counted(len(rows), 'time')}, and "
        text += f"{counted(len(records), 'such record is', 'such records are')} committed"
    return Violation(
        text,
        [
            {"what": "acknowledged", "t_ns": row["t0"], **{name: row[name] for name in _SHOWN}}
            for row in rows
        ],
    )


@check(
    "deleted-topics-are-gone",
    applies=of_brokers,
    source="KIP-516: a topic id is never used again",
    rests_on=(Kind.METADATA_LOGS,),
)
def deleted_topics_are_gone(evidence: Evidence) -> CheckResult:
    """Once a topic is deleted, no record changes it any more: a new topic of its name has another
    id.

    In the committed metadata log no record about its partitions follows the RemoveTopic; if the log
    begins with a snapshot, records that the snapshot hides are not judged.
    """
    found = evidence.timeline
    if found is None:
        return unread("topics that were deleted", NEED)
    strays = [] if found.start > 0 else found.strays
    return conclude(
        looked_at=sum(map(len, found.removed.values())) + len(strays),
        unit="topics that were deleted",
        violations=[
            Violation(
                f"offset {offset} changes a partition of topic {topic}, which was deleted",
                [{"what": "PartitionChange", "offset": offset, "key": topic}],
            )
            for offset, topic in strays
        ],
        needs=NEED,
        holds="no record changes any of them afterwards",
        algorithm="replay of the committed metadata log",
        nothing="no topic was deleted",
    )
