"""Truncations that followers do not trace: they show by records that they had, and have no more."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.conclusion import Violation
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FaultFact
from checkers.evidence.image import Timeline
from checkers.evidence.lives import Life, NodeEvent, witness
from checkers.evidence.partition_logs import columns
from checkers.partitions.traced_replicas import (
    PartitionId,
    histories,
    ids_by_name,
    partition_of,
    traced_partitions,
)


class CountedDeeds(NamedTuple):
    """How many things one rule looked at, and its violations."""

    looked_at: int
    violations: list[Violation]


def untraced_cuts(evidence: Evidence, found: Timeline, whole: Collection[Life]) -> CountedDeeds:
    """A record that a node acknowledged, as the only leader meanwhile, was in its log. If another
    record is there at the end, or none, it was truncated; a node may have lost it if its process
    was ended in disorder since."""
    ids = ids_by_name(found)
    cuts: dict[tuple[int, PartitionId], list[tuple[int, int]]] = defaultdict(list)
    for cut in evidence.once(traced_partitions).cuts:
        cuts[cut.node, partition_of(cut)].append((cut.t, cut.log_end))
    reigns = _reigns(evidence)
    disks = {(life.node, life.directory) for life in whole}
    stored = {
        (row["node"], row["key"]): row
        for row in evidence.tables["replicas"].to_pylist()
        if row["whole"] and (row["node"], row["directory"]) in disks
    }
    spans = evidence.tables["spans"]
    mine = spans.filter(
        pc.fill_null(
            pc.and_kleene(pc.not_equal(spans["acks"], 0), pc.is_valid(spans["offset"])), False
        )
    )
    ops = evidence.tables["ops"].take(mine["op_id"])
    acknowledged = pc.equal(ops["outcome"], "ok")
    mine, ops = mine.filter(acknowledged), ops.filter(acknowledged)
    looked_at, violations = 0, []
    for (node, key), row in stored.items():
        at = ids.get(key)
        log = evidence.partition_logs.get((node, key))
        if at is None or at[0] != row["topic_id"] or log is None:
            continue
        since = max(
            (f.over_ns for f in evidence.faults if node in f.nodes and _is_rough(f)), default=0
        )
        there = pc.and_(pc.equal(ops["node"], node), pc.equal(mine["key"], key))
        there = pc.and_(there, pc.greater_equal(ops["t0"], since))
        there = pc.and_(there, pc.greater_equal(mine["offset"], row["log_start"] or 0))
        part, (times, ended) = mine.filter(there), columns(ops.filter(there), "t0", "t1")
        led_alone = _led_alone(reigns.get(at, ()), node, times, ended)
        part, times = part.filter(pa.array(led_alone)), times[led_alone]
        offset, value, records = columns(part, "offset", "value", "records")
        looked_at += len(offset)
        for index in np.flatnonzero(~log.holds(offset, value, records)).tolist():
            begin, end = int(times[index]), int(offset[index] + records[index])
            if not any(t >= begin and cut < end for t, cut in cuts.get((node, at), ())):
                violations.append(_uncut(part.slice(index, 1).to_pylist()[0], node, begin))
    return CountedDeeds(looked_at, violations)


def _reigns(evidence: Evidence) -> Mapping[PartitionId, list[tuple[int, int, int]]]:
    """By partition: each leader, from when until when at most, by p.role and the ends of traces."""
    found: dict[PartitionId, list[tuple[int, int, int]]] = defaultdict(list)
    for process in (process for life in evidence.lives for process in life.processes):
        since: dict[PartitionId, int] = {}
        for line in process.events("p.role"):
            at = partition_of(line)
            if at in since:
                found[at].append((process.node, since.pop(at), line.t))
            if line.state == "leader":
                since[at] = line.t
        for at, begin in since.items():
            found[at].append((process.node, begin, process.last_ns))
    return found


def _led_alone(
    reigns: Collection[tuple[int, int, int]], node: int, begin: Ints, end: Ints
) -> NDArray[np.bool_]:
    """Whether no other node led at any time from the begin to the end of each."""
    alone = np.ones(len(begin), np.bool_)
    for other, since, until in reigns:
        if other != node:
            alone &= (until < begin) | (end < since)
    return alone


def untraced_ends(evidence: Evidence, found: Timeline) -> CountedDeeds:
    """A replica that begins to follow with a longer log than its leader began with, and joins the
    ISR, has truncated the rest: its leader never had it."""
    replicas, history = evidence.once(traced_partitions), histories(found)
    began: dict[tuple[PartitionId, int], NodeEvent] = {}
    follows: dict[tuple[PartitionId, int, int], NodeEvent] = {}
    cuts: dict[tuple[PartitionId, int], list[NodeEvent]] = defaultdict(list)
    for role in sorted(replicas.roles, key=lambda line: line.t):
        at = partition_of(role)
        if role.state == "leader":
            began.setdefault((at, role.epoch), role)
        else:
            follows.setdefault((at, role.epoch, role.node), role)
    for cut in replicas.cuts:
        cuts[partition_of(cut), cut.node].append(cut)
    looked_at, violations = 0, []
    for joining in replicas.joins:
        at, epoch, node = joining.partition, joining.event.epoch, joining.event.replica
        led, followed = began.get((at, epoch)), follows.get((at, epoch, node))
        if led is None or followed is None or at not in history or followed.t > joining.event.t:
            continue
        looked_at += 1
        between = (c for c in cuts[at, node] if followed.t <= c.t <= joining.event.t)
        rough = (f for f in evidence.faults if node in f.nodes and _is_rough(f))
        if followed.log_end <= led.log_end or any(c.log_end <= led.log_end for c in between):
            continue
        if any(f.overlaps(followed.t, joining.event.t) for f in rough):
            continue
        text = f"{history[at][0].partition.key}: node {node} began to follow epoch {epoch} with a "
        text += f"log that ended at {followed.log_end}, its leader's at {led.log_end}; it was "
        text += "proposed for the ISR, but had not traced a truncation"
        rows = [(led, "began to lead"), (followed, "began to follow"), (joining.event, "proposed")]
        violations.append(Violation(text, [witness(line, what) for line, what in rows]))
    return CountedDeeds(looked_at, violations)


def _is_rough(fault: FaultFact) -> bool:
    return fault.unclean or fault.may_lose or fault.damages_bytes or fault.wipes


def _uncut(span: dict[str, Any], node: int, at: int) -> Violation:
    text = f"node {node} acknowledged {span['value']} at offset {span['offset']} of {span['key']}; "
    text += "its log does not have that there, but it never traced a truncation"
    fields = {name: span[name] for name in ("op_id", "key", "offset", "value", "records")}
    return Violation(text, [{"what": "acknowledged", "t_ns": at, "node": node, **fields}])
