"""What brokers' traces say about replicas, and the metadata log of the same partitions; untraced
truncations.

Each line of p.hwm is a move of a high watermark, with what its leader knew then: the ISR that it
used as committed, the maximal one (p.isr), and the ends of the others' logs.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from checkers.array_types import Ints
from checkers.check import of_brokers, traced
from checkers.conclusion import Violation
from checkers.evidence.evidence import Evidence
from checkers.evidence.faults import FOREVER_NS, FaultFact
from checkers.evidence.image import Change, Timeline
from checkers.evidence.lives import NEED, Life, NodeEvent, Process, witness
from checkers.evidence.partition_logs import columns
from checkers.history.events import value_name
from checkers.history.sealed_run import RunInfo

METADATA = f"{NEED} and the metadata log"

PartitionId = tuple[str, int]  # id of the topic, index


def traces_replicas(info: RunInfo) -> bool:
    """Applies where there are brokers, and they trace their actions on replicas."""
    return of_brokers(info) and traced(info)


class TracedIsr(NamedTuple):
    """A leader's ISR, in a partition epoch."""

    partition_epoch: int
    committed: frozenset[int]
    maximal: frozenset[int]  # the replicas that may be in it


class MovedWatermark(NamedTuple):
    """A high watermark as a leader published it."""

    event: NodeEvent
    partition: PartitionId
    before: int  # the previous one of the same leader epoch and process
    isr: TracedIsr
    ends: Mapping[int, int]  # of followers; -1: the leader does not know

    def end(self, node: int) -> int:
        """The end of a replica's log, as the leader knew it; -1: it did not."""
        return self.event.log_end if node == self.event.node else self.ends.get(node, -1)


class Joining(NamedTuple):
    """A replica that a leader proposes for the ISR (p.join)."""

    event: NodeEvent
    partition: PartitionId
    partition_epoch: int  # of the ISR that it is to join
    broker_epoch: int  # in which it sent the Fetch that proves what it has
    epoch_start: int  # the end of the leader's log when it began to lead


@dataclass
class TracedPartitions:
    """In the order of processes, and of the lines of each."""

    moves: list[MovedWatermark] = field(default_factory=list)
    isrs: list[NodeEvent] = field(default_factory=list)
    joins: list[Joining] = field(default_factory=list)
    cuts: list[NodeEvent] = field(default_factory=list)
    roles: list[NodeEvent] = field(default_factory=list)
    # Lines of leaders with a high watermark, each with its partition.
    marks: list[tuple[PartitionId, NodeEvent]] = field(default_factory=list)
    # The process that traced that it leads: its first row, the partition and the leader epoch.
    led: set[tuple[int, PartitionId, int]] = field(default_factory=set)
    # The replica of which a line says that it leads or follows: node, directory, partition.
    replicas: set[tuple[int, str, PartitionId]] = field(default_factory=set)
    # Lines that need another kind of line before them, and which kind.
    alone: list[tuple[NodeEvent, str]] = field(default_factory=list)


def traced_partitions(evidence: Evidence) -> TracedPartitions:
    found = TracedPartitions()
    for life in evidence.lives:
        for process in life.processes:
            _follow(process, found)
    return found


def partition_of(event: NodeEvent) -> PartitionId:
    more: Mapping[str, Any] = event.more
    return more["topic"], more["index"]


def isr_of(event: NodeEvent) -> TracedIsr:
    """The ISR of a line of p.isr."""
    more: Mapping[str, Any] = event.more
    committed, maximal = ({one["id"] for one in more[name]} for name in ("isr", "maximal"))
    return TracedIsr(more["partition_epoch"], frozenset(committed), frozenset(maximal))


def epoch_of_cut(event: NodeEvent) -> int:
    """The epoch of the first truncated record, by a line of p.truncate; -1: there is none."""
    more: Mapping[str, Any] = event.more
    return int(more["cut_epoch"])


def _follow(process: Process, found: TracedPartitions) -> None:
    """A high watermark before which no line has an ISR is no move, but `alone`."""
    marks: dict[PartitionId, int] = {}
    starts: dict[PartitionId, int] = {}
    isrs: dict[PartitionId, TracedIsr] = {}
    leads: dict[PartitionId, int] = {}
    for event in process.events("p.role", "p.isr", "p.join", "p.hwm", "p.truncate"):
        at = partition_of(event)
        if event.event in ("p.isr", "p.join", "p.hwm") and leads.get(at) != event.epoch:
            found.alone.append((event, "p.role"))
        match event.event:
            case "p.role":
                found.roles.append(event)
                found.replicas.add((event.node, event.directory, at))
                marks[at], starts[at] = event.hwm, event.log_end
                isrs.pop(at, None)
                leads.pop(at, None)
                if event.state == "leader":
                    leads[at] = event.epoch
                    found.led.add((process.begin, at, event.epoch))
                    found.marks.append((at, event))
            case "p.isr":
                isrs[at] = isr_of(event)
                found.isrs.append(event)
            case "p.join" if at in starts:
                found.joins.append(_joining(event, at, starts[at]))
            case "p.truncate":
                found.cuts.append(event)
            case "p.hwm" if at in isrs and at in marks:
                found.moves.append(_move(event, at, marks[at], isrs[at]))
                found.marks.append((at, event))
                marks[at] = event.hwm
            case "p.hwm":
                found.alone.append((event, "p.isr"))


def _move(event: NodeEvent, at: PartitionId, before: int, isr: TracedIsr) -> MovedWatermark:
    more: Mapping[str, Any] = event.more
    ends = {each["id"]: each["end"] for each in more["ends"]}
    return MovedWatermark(event=event, partition=at, before=before, isr=isr, ends=ends)


def _joining(event: NodeEvent, at: PartitionId, epoch_start: int) -> Joining:
    more: Mapping[str, Any] = event.more
    return Joining(event, at, more["partition_epoch"], more["broker_epoch"], epoch_start)


def histories(found: Timeline) -> Mapping[PartitionId, list[Change]]:
    """All changes of each partition, also of deleted topics."""
    changes: dict[PartitionId, list[Change]] = defaultdict(list)
    for batch in found.batches:
        for change in batch.changes:
            one = change.partition
            changes[one.topic_id, int(one.key.rpartition("-")[2])].append(change)
    return changes


def ids_by_name(found: Timeline) -> Mapping[str, PartitionId]:
    """Of the partitions with names that others never had."""
    by_key: dict[str, set[PartitionId]] = defaultdict(set)
    for at, changes in histories(found).items():
        by_key[changes[0].partition.key].add(at)
    return {key: next(iter(ids)) for key, ids in by_key.items() if len(ids) == 1}


# Truncations that followers do not trace: records that they had are gone.


class CountedActions(NamedTuple):
    """How many things one rule looked at, and its violations."""

    looked_at: int
    violations: list[Violation]


def untraced_cuts(evidence: Evidence, found: Timeline, whole: Collection[Life]) -> CountedActions:
    """A record that a node acknowledged, as the only leader meanwhile, was in its log. If another
    record is there at the end, or none, it was truncated; a node may have lost it if its process
    was ended in disorder since."""
    ids = ids_by_name(found)
    cuts: dict[tuple[int, PartitionId], list[tuple[int, int]]] = defaultdict(list)
    for cut in evidence.once(traced_partitions).cuts:
        cuts[cut.node, partition_of(cut)].append((cut.t, cut.log_end))
    for node, partition, t in _left(evidence, found):
        cuts[node, partition].append((t, 0))
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
    return CountedActions(looked_at, violations)


def _left(evidence: Evidence, found: Timeline) -> Iterator[tuple[int, PartitionId, int]]:
    """Each node that a change takes from a partition's replicas, and when it replayed that:
    it deletes the log then, without a line of its own, and begins an empty one if it is a replica
    again. What it never traced it learned at some time, perhaps from a snapshot."""
    replayed: dict[tuple[int, int], int] = {}
    for process in (process for life in evidence.lives for process in life.processes):
        for line in process.events("c.record"):
            replayed.setdefault((process.node, line.offset), line.t)
    for at, changes in histories(found).items():
        for change in changes:
            before, after = change.before, change.after
            for node in set(before.replicas) - set(after.replicas) if before and after else ():
                yield node, at, replayed.get((node, change.offset), FOREVER_NS)


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


def untraced_ends(evidence: Evidence, found: Timeline) -> CountedActions:
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
    return CountedActions(looked_at, violations)


def _is_rough(fault: FaultFact) -> bool:
    return fault.unclean or fault.may_lose or fault.damages_bytes or fault.wipes


def _uncut(span: dict[str, Any], node: int, at: int) -> Violation:
    value = value_name(span["value"])
    text = f"node {node} acknowledged {value} at offset {span['offset']} of {span['key']}; "
    text += "its log does not have that there, but it never traced a truncation"
    names = ("op_id", "key", "offset", "records")
    fields = {**{name: span[name] for name in names}, "value": value}
    return Violation(text, [{"what": "acknowledged", "t_ns": at, "node": node, **fields}])
