"""What brokers' traces say about replicas, and the metadata log of the same partitions.

Each line of p.hwm is a move of a high watermark, with what its leader knew then: the ISR that it
used as committed, the maximal one (p.isr), and the ends of the others' logs.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from checkers.check import of_brokers, traced
from checkers.evidence.evidence import Evidence
from checkers.evidence.image import Change, Timeline
from checkers.evidence.lives import NEED, NodeEvent, Process
from checkers.history.sealed_run import RunInfo

METADATA = f"{NEED} and the metadata log"

PartitionId = tuple[str, int]  # id of the topic, index


def told(info: RunInfo) -> bool:
    """Applies where there are brokers, and they trace their actions on replicas."""
    return of_brokers(info) and traced(info)


class ToldIsr(NamedTuple):
    """A leader's ISR, in a partition epoch."""

    partition_epoch: int
    committed: frozenset[int]
    maximal: frozenset[int]  # the replicas that may be in it


class MovedWatermark(NamedTuple):
    """A high watermark as a leader published it."""

    event: NodeEvent
    partition: PartitionId
    before: int  # the previous one of the same leader epoch and process
    isr: ToldIsr
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


def isr_of(event: NodeEvent) -> ToldIsr:
    """The ISR of a line of p.isr."""
    more: Mapping[str, Any] = event.more
    committed, maximal = ({one["id"] for one in more[name]} for name in ("isr", "maximal"))
    return ToldIsr(more["partition_epoch"], frozenset(committed), frozenset(maximal))


def epoch_of_cut(event: NodeEvent) -> int:
    """The epoch of the first truncated record, by a line of p.truncate; -1: there is none."""
    more: Mapping[str, Any] = event.more
    return int(more["cut_epoch"])


def _follow(process: Process, found: TracedPartitions) -> None:
    """A high watermark before which no line has an ISR is no move, but `alone`."""
    marks: dict[PartitionId, int] = {}
    starts: dict[PartitionId, int] = {}
    isrs: dict[PartitionId, ToldIsr] = {}
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


def _move(event: NodeEvent, at: PartitionId, before: int, isr: ToldIsr) -> MovedWatermark:
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
