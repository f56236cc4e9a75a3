"""The nodes' traces as checks walk them: lives of disks, each a sequence of processes.

Within a process lines are ordered by their sequence number, and the processes of one node by the
one clock of its machine (they do not overlap). Between nodes nothing is ordered here: checks use
epochs and offsets for that.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from checkers.history.traces import fields_of
from checkers.verdict import EventValue

NOBODY = -1
_NOT_SHOWN = ("t", "directory", "incarnation", "voted_directory", "replica_directory", "detail")
NEED = "traces of the nodes (node_events)"


class NodeEvent(NamedTuple):
    """A trace line, by the columns of NODE_EVENTS; what an event does not have is None."""

    node: int
    directory: str
    incarnation: str
    seq: int
    t: int
    event: str
    state: str
    epoch: int
    leader: int
    voted: int
    voted_directory: str
    log_end: int
    base: int
    last: int
    crc: int
    hwm: int
    replica: int
    replica_directory: str
    offset: int
    outcome: str
    detail: str | None  # JSON of what has no column

    @property
    def more(self) -> Mapping[str, object]:
        """The fields that have no column of their own."""
        return fields_of(self.detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process of a node, from its first line to its last.

    `gap` says which lines are missing in between; what needs their order cannot be judged then.
    """

    node: int
    directory: str
    events: tuple[NodeEvent, ...]
    gap: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """All processes that ran on one disk, in order."""

    node: int
    directory: str
    processes: tuple[Process, ...]

    @property
    def gap(self) -> str | None:
        return next((process.gap for process in self.processes if process.gap), None)

    def events(self) -> Iterator[NodeEvent]:
        for process in self.processes:
            yield from process.events


# Fields without which a line says nothing; one that lacks them counts as missing.
_REQUIRED = {
    "n.start": ("epoch", "log_end"),
    "q.state": ("state", "epoch"),
    "q.append": ("base", "last", "epoch", "crc"),
    "q.truncate": ("log_end",),
    "q.fsync": ("log_end",),
    "q.hwm": ("hwm", "epoch"),
    "q.fetch": ("replica", "offset", "epoch"),
    "q.vote": ("replica", "epoch", "outcome"),
    "c.active": ("epoch",),
}


def lives_of(table: pa.Table) -> tuple[Life, ...]:
    """The lives of all disks, by node and time of their first process; from NODE_EVENTS."""
    processes: dict[tuple[int, str, str], list[NodeEvent]] = defaultdict(list)
    for event in _rows(table):
        processes[(event.node, event.directory, event.incarnation)].append(event)
    by_disk: dict[tuple[int, str], list[Process]] = defaultdict(list)
    for (node, directory, _), events in sorted(
        processes.items(), key=lambda item: (item[0][0], min(event.t for event in item[1]))
    ):
        ordered = tuple(sorted(events, key=lambda event: event.seq))
        by_disk[(node, directory)].append(
            Process(node=node, directory=directory, events=ordered, gap=_gap(ordered))
        )
    return tuple(
        Life(node=node, directory=directory, processes=tuple(found))
        for (node, directory), found in by_disk.items()
    )


def _rows(table: pa.Table) -> Iterator[NodeEvent]:
    keep = pc.is_valid(table["seq"])
    for event, fields in _REQUIRED.items():
        for name in fields:
            keep = pc.and_(
                keep, pc.or_(pc.not_equal(table["event"], event), table[name].is_valid())
            )
    known = table.filter(keep)
    columns = [known[name].to_pylist() for name in NodeEvent._fields]
    return map(NodeEvent._make, zip(*columns, strict=True))


def _gap(events: tuple[NodeEvent, ...]) -> str | None:
    for expected, event in enumerate(events):
        if event.seq != expected:
            return f"node {event.node} has a trace with line {event.seq} where {expected} should be"
    return None


def gaps(found: tuple[Life, ...]) -> tuple[str, ...]:
    return tuple(life.gap for life in found if life.gap)


def witness(event: NodeEvent, what: str) -> Mapping[str, EventValue]:
    """An event as a row of a witness: who, when, and what the line says; `seq` finds it again."""
    fields = {
        name: value
        for name, value in event._asdict().items()
        if name not in _NOT_SHOWN and value not in (None, "", NOBODY)
    }
    return {"what": what, "t_ns": event.t, **fields}
