"""What a broker leaves when it stops in good order: high watermarks not below those it knew, and
the clean-shutdown file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.array_types import Ints
from checkers.check import check, of_brokers, of_partition_logs
from checkers.conclusion import Violation, conclude
from checkers.evidence.evidence import Evidence
from checkers.evidence.left_disks import is_damaged_by_fault, stopped_in_good_order
from checkers.evidence.lives import NodeEvent, witness
from checkers.evidence.partition_logs import columns, split
from checkers.evidence.planned import Kind
from checkers.partitions.held import NEED, ReplicaRow, replicas_by_key
from checkers.partitions.traced_replicas import PartitionId, partition_of, traced_partitions
from checkers.verdict import CheckResult, EventValue

_NEED = f"{NEED}, and what clients sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """How far a broker knew a partition to be committed, and from what."""

    mark: int
    shown: Mapping[str, EventValue]


@check(
    "high-watermarks-are-saved",
    applies=of_partition_logs,
    source="ReplicaManager.shutdown: checkpointHighWatermarks",
    rests_on=(
        Kind.FAULTS,
        Kind.METADATA_LOGS,
        Kind.OPERATIONS,
        Kind.PARTITION_LOGS,
        Kind.TRACES,
    ),
)
def high_watermarks_are_saved(evidence: Evidence) -> CheckResult:
    """A broker that stopped in good order leaves in its checkpoint, for each replica, a high
    watermark that is not below what its last process knew to be committed.

    Needs: replicas, replica_batches, replica_spans, ops, spans.

    Known are the last high watermark that it traced as a leader; what it acknowledged to acks=all
    itself; and on any replica: a record that was sent when an earlier one of the same leader was
    acknowledged brought the news that the earlier one is committed. A missing entry counts as high
    watermark 0. A disk is not judged if a fault damages its synced bytes.
    """
    looked_at = 0
    violations: list[Violation] = []
    began = {node: _last_began(evidence, node) for node in evidence.brokers}
    traced = evidence.once(_traced)
    sent = split(_sent(evidence), "key")
    batches = split(evidence.tables["replica_batches"], "node", "directory", "key")
    for key, rows in sorted(evidence.once(replicas_by_key).items()):
        for row in rows:
            node = row["node"]
            since = began.get(node)
            if since is None or not _may_be_judged(evidence, node):
                continue
            log = batches.get((node, row["directory"], key))
            known = [
                *filter(None, [traced.get((node, row["topic_id"], key.rpartition("-")[2]))]),
                *_told(evidence, row, log, sent.get((key,)), since),
            ]
            if known:
                looked_at += 1
                most = max(known, key=lambda each: each.mark)
                violations += _below(row, most)
    return conclude(
        looked_at=looked_at,
        unit="replicas with committed records",
        violations=violations,
        needs=_NEED,
        holds="each has as high a watermark in its broker's checkpoint",
        algorithm="acknowledged, traced and fetched records of brokers, against checkpoints",
        nothing="no broker with committed records stopped in good order",
    )


def _may_be_judged(evidence: Evidence, node: int) -> bool:
    return stopped_in_good_order(evidence, node) and not is_damaged_by_fault(evidence, node)


def _last_began(evidence: Evidence, node: int) -> int | None:
    """The time by which the last process of a node had begun, in ns; None: unknown."""
    mine = [life.processes[-1].first_ns for life in evidence.lives if life.node == node]
    if mine:
        return max(mine)
    if any(int(end["node"]) == node for end in evidence.info.unasked_ends):
        return None
    ended = [f for f in evidence.faults if node in f.nodes and (f.ends_process or f.degrades)]
    return max((fault.over_ns for fault in ended), default=0)


def _traced(evidence: Evidence) -> dict[tuple[int, object, str], _Known]:
    """By node, topic id and index, the last high watermark that its last process traced."""
    told = evidence.once(traced_partitions)
    last = {life.node: evidence.traces.line(life.processes[-1].begin) for life in evidence.lives}
    newest: dict[tuple[int, PartitionId], NodeEvent] = {}
    for partition, line in (
        *((partition_of(line), line) for line in (*told.roles, *told.cuts)),
        *((move.partition, move.event) for move in told.moves),
    ):
        if line.incarnation == last[line.node].incarnation:
            known = newest.setdefault((line.node, partition), line)
            if line.seq > known.seq:
                newest[line.node, partition] = line
    found: dict[tuple[int, object, str], _Known] = {}
    for (node, (topic, index)), line in newest.items():
        mark = line.hwm if line.event != "p.truncate" else min(line.hwm, line.log_end)
        if mark > 0:
            shown = witness(line, "traced its high watermark")
            found[node, topic, str(index)] = _Known(mark=mark, shown=shown)
    return found


def _sent(evidence: Evidence) -> pa.Table:
    """The acknowledged spans with `node`, `t0` and `t1` of their operations."""
    spans = evidence.acknowledged
    ops = evidence.tables["ops"].take(spans["op_id"])
    for name in ("node", "t0", "t1"):
        spans = spans.append_column(name, ops[name])
    return spans


def _told(
    evidence: Evidence, row: ReplicaRow, log: pa.Table | None, sent: pa.Table | None, since: int
) -> Iterator[_Known]:
    """From what clients were answered about records of the replica's last leader epoch, since a
    moment."""
    held = evidence.partition_logs.get((row["node"], row["key"]))
    if log is None or sent is None or held is None:
        return
    epoch, base = columns(log.filter(log["crc_ok"]), "epoch", "base_offset")
    offset, value, records, node, t0, t1 = columns(
        sent, "offset", "value", "records", "node", "t0", "t1"
    )
    start = int(base[epoch == epoch[-1]][0]) if len(base) else 0
    mine = (offset >= start) & held.holds(offset, value, records)
    end = offset + records
    own = mine & (node == row["node"]) & (t0 > since)
    if own.any():
        at = int(np.flatnonzero(own)[end[own].argmax()])
        yield _Known(mark=int(end[at]), shown=_span(sent, at, "it acknowledged this itself"))
    mark, at = _acknowledged_before(t0[mine], t1[mine], end[mine], since)
    if mark > 0:
        shown = _span(sent, int(np.flatnonzero(mine)[at]), "holds this, sent when more was known")
        yield _Known(mark=mark, shown=shown)


def _acknowledged_before(t0: Ints, t1: Ints, end: Ints, since: int) -> tuple[int, int]:
    """For spans sent after a moment, the highest end that was acknowledged before one of them was
    sent, and which one that is; 0 if there was none."""
    order = np.argsort(t1, kind="stable")
    highest = np.append(0, np.maximum.accumulate(end[order]))
    before = highest[np.searchsorted(t1[order], t0, side="left")]
    before[t0 <= since] = 0
    return (int(before.max()), int(before.argmax())) if len(before) else (0, 0)


def _below(row: ReplicaRow, known: _Known) -> Iterator[Violation]:
    saved = row["high_watermark"]
    if saved is not None and saved >= known.mark:
        return
    what = "has no high watermark" if saved is None else f"says {saved}"
    text = f"{row['key']}: node {row['node']} stopped in good order and knew that all below "
    text += f"{known.mark} is committed, but its checkpoint {what}"
    names = ("node", "key", "high_watermark", "log_end")
    yield Violation(text, [known.shown, {"what": "left", **{name: row[name] for name in names}}])


def _span(sent: pa.Table, at: int, what: str) -> dict[str, EventValue]:
    names = ["op_id", "key", "offset", "records", "node", "t0", "t1"]
    row: dict[str, EventValue] = sent.select(names).slice(at, 1).to_pylist()[0]
    return {"what": what, "t_ns": row.pop("t0"), "t1_ns": row.pop("t1"), **row}


# --- the clean-shutdown file ---


@check(
    "clean-stops-are-marked",
    applies=of_brokers,
    source="KIP-966, Detection of an unclean shutdown; LogManager.shutdown",
    rests_on=(Kind.FAULTS, Kind.METADATA_LOGS, Kind.TRACES),
)
def clean_stops_are_marked(evidence: Evidence) -> CheckResult:
    """A registered broker that stopped in good order leaves a clean-shutdown file in each of its
    log directories, all of one broker epoch, the one that it traced.

    Needs: disks, and the metadata log.

    Without the file, the broker returns as one that may have lost records, and is then in no ISR or
    ELR. A disk is not judged if a fault damages its synced bytes.
    """
    known = evidence.timeline.batches[-1].brokers if evidence.timeline else {}
    vouched = {
        life.node: max((line.epoch for line in life.processes[-1].events("b.life")), default=None)
        for life in evidence.lives
        if life.gap is None
    }
    stopped = [
        row
        for row in evidence.tables["disks"].to_pylist()
        if row["node"] in known and _may_be_judged(evidence, row["node"])
    ]
    violations = []
    for row in stopped:
        node, left = row["node"], row["clean_shutdown"]
        epoch = vouched.get(node)
        if left is None or (epoch is not None and left != epoch):
            what = "no clean-shutdown file" if left is None else f"one of broker epoch {left}"
            text = f"node {node} stopped in good order, in broker epoch "
            text += f"{known[node].epoch if epoch is None else epoch}, but its disk has {what}"
            shown = {name: row[name] for name in ("node", "directory", "clean_shutdown")}
            violations.append(Violation(text, [{"what": "its disk", **shown}]))
    return conclude(
        looked_at=len(stopped),
        unit="brokers that stopped in good order",
        violations=violations,
        needs="the brokers' disks, and the metadata log",
        holds="each left its clean-shutdown files",
        algorithm="clean-shutdown files against how each broker's last process ended",
        nothing="no registered broker stopped in good order" if evidence.timeline else "",
    )
