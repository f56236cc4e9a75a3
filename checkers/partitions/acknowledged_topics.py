"""Acknowledged topics are in the committed metadata log (M6); broker epochs and producer ids (M3,
M5)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from checkers.check import check, of_brokers
from checkers.conclusion import Violation, conclude, unread
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import Kind
from checkers.evidence.image import Timeline, epoch_of, node_of
from checkers.evidence.promised import CREATE, DELETE
from checkers.partitions.leaders import NEED
from checkers.verdict import CheckResult, EventValue, counted

# Numbers that the controller hands out: broker epochs (M3) and producer ids (M5).


BLOCK = 1000  # producer ids in a block


@check(
    "M3-broker-epochs-rise", applies=of_brokers, source="KIP-631", rests_on=(Kind.METADATA_LOGS,)
)
def broker_epochs_rise(evidence: Evidence) -> CheckResult:
    """M3: Broker epochs rise over the whole log, and each record of a broker has its newest one.

    A process that registers again keeps its epoch; records of an earlier process no longer appear
    once a later one has registered. (KIP-631)
    """
    found = evidence.timeline
    if found is None:
        return unread("records about brokers", NEED)
    looked_at, highest = 0, -1
    newest: dict[int, tuple[int, str]] = {}  # node -> epoch and incarnation
    violations = []
    for batch in found.batches:
        for offset, kind, detail in batch.broker_records:
            node, epoch = node_of(detail), epoch_of(detail)
            known, text = newest.get(node), ""
            if kind == "RegisterBroker":
                again = known == (epoch, detail["incarnationId"])
                if not again and known is not None and known[1] == detail["incarnationId"]:
                    text = f"the same process of node {node} registered with broker epoch {epoch}, "
                    text += f"but had {known[0]}"
                elif not again and epoch <= highest and not batch.from_snapshot:
                    text = f"node {node} registered with broker epoch {epoch}, not above {highest}"
                newest[node] = (epoch, detail["incarnationId"])
                highest = max(highest, epoch)
            elif known is None or known[0] != epoch:
                text = f"a {kind} of node {node} has broker epoch {epoch}, but its newest is "
                text += str(known[0]) if known else "none"
            looked_at += not batch.from_snapshot
            if text:
                violations.append(Violation(text, [_record(offset, kind, node, epoch)]))
    return conclude(
        looked_at=looked_at,
        unit="records about brokers",
        violations=violations,
        needs=NEED,
        holds="each registration had a new epoch, and later records name it",
        algorithm="replay of the committed metadata log",
    )


def _record(offset: int, kind: str, node: int, epoch: int) -> dict[str, EventValue]:
    return {"what": kind, "offset": offset, "node": node, "epoch": epoch}


@check(
    "M5-producer-ids-unique", applies=of_brokers, source="KIP-730", rests_on=(Kind.METADATA_LOGS,)
)
def producer_ids_are_unique(evidence: Evidence) -> CheckResult:
    """M5: A block of producer ids is handed out once, and no batch has an id that was not handed
    out.

    Blocks are of 1,000 ids. From ProducerIds records and from the batches on the disks. (KIP-730)
    """
    found = evidence.timeline
    if found is None:
        return unread("blocks of producer ids", NEED)
    next_id = found.producer_ids[-1][1] if found.producer_ids else 0
    return conclude(
        looked_at=len(found.producer_ids),
        unit="blocks of producer ids",
        violations=[*_twice(found), *_unheard_of(evidence, next_id)],
        needs=NEED,
        holds="none was handed out twice, and no other id is on the disks",
        algorithm="neighbours in the metadata log, highest id on the disks",
        nothing="no producer asked for an id",
    )


def _twice(found: Timeline) -> Iterator[Violation]:
    before = 0
    for offset, following in found.producer_ids:
        if following < before + BLOCK:
            text = f"the block of producer ids up to {following}, recorded at offset {offset}, "
            shown: dict[str, EventValue] = {"what": "ProducerIds", "offset": offset}
            yield Violation(
                f"{text}overlaps with one up to {before}", [shown | {"next_id": following}]
            )
        before = max(before, following)


def _unheard_of(evidence: Evidence, following: int) -> Iterator[Violation]:
    batches = evidence.tables["replica_batches"]
    strange = batches.filter(
        pc.and_(batches["crc_ok"], pc.greater_equal(batches["producer_id"], following))
    )
    for row in strange.slice(0, 1).to_pylist():
        text = (
            f"node {row['node']} holds a batch of producer {row['producer_id']} in {row['key']}, "
        )
        names = ("node", "key", "base_offset", "producer_id")
        shown: dict[str, EventValue] = {"what": "on the disk"}
        yield Violation(
            f"{text}but only ids below {following} were handed out",
            [shown | {name: row[name] for name in names}],
        )


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

    A controller that is not active makes no promise. A topic acknowledged n times has n records.
    Where a snapshot hides earlier ones, the topic must at the end be as the last operation on it
    left it, unless another one may have come later. The message names lost disks that had the
    record. Needs: ops, log_records.
    """
    ops = evidence.tables["ops"]
    about = pc.is_in(ops["f"], value_set=pa.array([CREATE, DELETE]))
    acknowledged = ops.filter(pc.and_(about, pc.equal(ops["outcome"], "ok"))).to_pylist()
    found = evidence.timeline
    violations: list[Violation] = []
    gaps = [f"{NEED} could not be read"] if acknowledged and not found else []
    asked, hidden = _by_topic(ops.filter(about).to_pylist()), 0
    for (f, topic), rows in _by_topic(acknowledged).items():
        missing = _missing(found, f, topic, rows) if found else None
        if missing is not None and found is not None and _is_hidden(found, f, topic, rows, asked):
            hidden += len(rows)
        elif missing is not None:
            held = evidence.once(_created_on_lost_disks).get(topic, []) if f == CREATE else []
            violations.append(_held_by(missing, held))
    return conclude(
        looked_at=len(acknowledged) - hidden,
        unit="topics acknowledged as created or deleted",
        violations=violations,
        needs=f"{NEED}, and operations on topics",
        holds="each has its record in the committed log",
        algorithm="acknowledgements against Topic and RemoveTopic records, by name and number",
        nothing=evidence.below_snapshots
        if acknowledged
        else "no topic was acknowledged as created or deleted",
        gaps=gaps,
    )


def _is_hidden(
    found: Timeline,
    f: str,
    topic: str,
    rows: Sequence[_Operation],
    asked: Mapping[tuple[str, str], Sequence[_Operation]],
) -> bool:
    """Whether its record may be below a snapshot: the topic is at the end as the last of these
    operations left it, or may have been changed since."""
    if found.start == 0:
        return False
    exists = len(found.topics.get(topic, ())) > len(found.removed.get(topic, ()))
    if exists == (f == CREATE):
        return True
    last = max(row["t0"] for row in rows)
    others = asked.get((DELETE if f == CREATE else CREATE, topic), ())
    return any(row["outcome"] in (None, "info") or row["t1"] > last for row in others)


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
