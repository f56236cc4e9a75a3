"""The nodes' traces in columns, and the lives of disks, each a sequence of processes.

Within a process, lines are ordered by their sequence number; the processes of one node by the clock
of its machine (they do not overlap). Between nodes nothing is ordered here: checks use epochs and
offsets for that.

A line is known by its row: its index when the lines of a disk are put together, process by process.
Checks ask for the rows of some kinds of event and compare whole columns of them. Lines of rare
kinds, and those that are shown, are returned as `NodeEvent`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.array_types import Codes, Flags, Ints, Texts
from checkers.evidence.partition_logs import codes
from checkers.history.tables import NO_DIRECTORY
from checkers.history.traces import TRACE_FIELDS, fields_of
from checkers.verdict import EventValue

NO_NODE = -1
NONE = -(1 << 63)  # in a column: the line has no such field
_NOT_SHOWN = ("t", "directory", "incarnation", "voted_directory", "replica_directory", "detail")
_PROCESS = ("node", "directory", "incarnation")
_RARE = 100  # lines of a kind
NEED = "traces of the nodes (node_events)"


class NodeEvent(NamedTuple):
    """A trace line, by the columns of NODE_EVENTS; fields that an event does not have are None."""

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
    detail: str | None  # JSON of the fields that have no column

    @property
    def more(self) -> Mapping[str, object]:
        """The fields that have no column of their own."""
        return fields_of(self.detail)


# Fields that a line of this event must have; a line that lacks one counts as missing.
_REQUIRED = {
    "n.start": ("epoch", "log_end"),
    "q.state": ("state", "epoch"),
    "q.append": ("base", "last", "epoch", "crc"),
    "q.truncate": ("log_end",),
    "q.fsync": ("log_end",),
    "q.loaded": ("log_end", "epoch"),
    "q.snapshot": ("log_end", "epoch"),
    "c.image": ("offset",),
    "c.record": ("offset",),
    "q.hwm": ("hwm", "epoch"),
    "q.fetch": ("replica", "offset", "epoch"),
    "q.vote": ("replica", "epoch", "outcome"),
    "c.active": ("epoch",),
    "c.read": ("epoch",),
    "b.life": ("state", "epoch"),
    "p.role": ("epoch", "hwm", "log_end"),
    "p.isr": ("epoch",),
    "p.join": ("epoch", "replica", "offset", "hwm"),
    "p.hwm": ("epoch", "hwm", "log_end"),
    "p.truncate": ("epoch", "log_end"),
}


class TraceColumns:
    """The lines of all nodes, one row each, in order: disk by disk, process by process."""

    def __init__(self, node_events: pa.Table) -> None:
        self._table = node_events
        self._at = _in_order(node_events)  # by row, its index in the table
        events = node_events["event"].combine_chunks().dictionary_encode()
        self._words = np.array(events.dictionary.to_pylist(), dtype=object)
        self._event = events.indices.to_numpy(zero_copy_only=False)[self._at].astype(np.int64)
        self._kinds: dict[tuple[str, ...], Flags] = {}
        self._columns: dict[str, Ints] = {}
        self._having: dict[tuple[str, str], Flags] = {}
        # the words, and each row's index into them
        self._texts: dict[str, tuple[Texts, Codes]] = {}
        self._lines: dict[int, NodeEvent] = {}

    def __len__(self) -> int:
        return len(self._at)

    def rows(self, *events: str, begin: int = 0, end: int | None = None) -> Ints:
        """The rows of these kinds of event, from `begin` up to `end`."""
        return np.flatnonzero(self._are(events)[self._event[begin:end]]) + begin

    def _are(self, events: tuple[str, ...]) -> Flags:
        """For each word for a kind of event, whether it is one of these."""
        if events not in self._kinds:
            self._kinds[events] = np.array([word in events for word in self._words], np.bool_)
        return self._kinds[events]

    def events(self, rows: Ints) -> list[str]:
        """The kind of each line."""
        found: list[str] = self._words[self._event[rows]].tolist()
        return found

    def column(self, name: str) -> Ints:
        """By row: a number, or the index of a word; NONE if the line has none."""
        if name not in self._columns:
            values = self._table[name].combine_chunks()
            if pa.types.is_string(values.type):
                values = values.dictionary_encode().indices
            self._columns[name] = values.cast(pa.int64()).fill_null(NONE).to_numpy()[self._at]
        return self._columns[name]

    def has(self, name: str, word: str, rows: Ints) -> Flags:
        """For each of these rows, whether the line has this word in this column."""
        if (name, word) not in self._having:
            found = pc.fill_null(pc.equal(self._table[name], word), False).to_numpy()
            self._having[name, word] = found[self._at]
        return self._having[name, word][rows]

    def texts(self, name: str, rows: Ints) -> list[str | None]:
        """A text column of these rows."""
        if name not in self._texts:
            values = self._table[name].combine_chunks().dictionary_encode()
            words = np.array([*values.dictionary.to_pylist(), None], dtype=object)
            self._texts[name] = words, values.indices.fill_null(-1).to_numpy()[self._at]
        words, which = self._texts[name]  # a line without the field has the last word
        found: list[str | None] = words[which[rows]].tolist()
        return found

    def line(self, row: int) -> NodeEvent:
        return self.lines([row])[0]

    def lines(self, rows: Iterable[int]) -> list[NodeEvent]:
        """The lines themselves, each made once."""
        wanted = [int(row) for row in rows]
        if not self._lines:
            self._make(self._of_rare_kinds())
        unknown = [row for row in wanted if row not in self._lines]
        if unknown:
            self._make(unknown)
        return [self._lines[row] for row in wanted]

    def _of_rare_kinds(self) -> list[int]:
        """Rows that will mostly be asked for: taking some rows of a table takes as long as taking
        one. Lines of unknown kinds, which are never asked for, may be many."""
        is_known = self._are(tuple(TRACE_FIELDS))
        is_rare = np.bincount(self._event, minlength=len(self._words)) <= _RARE
        found: list[int] = np.flatnonzero((is_rare & is_known)[self._event]).tolist()
        return found

    def _make(self, rows: list[int]) -> None:
        found = self._table.take(self._at[rows])
        columns = [found[name].to_pylist() for name in NodeEvent._fields]
        made = map(NodeEvent._make, zip(*columns, strict=True))
        self._lines.update(zip(rows, made, strict=True))

    @cached_property
    def lives(self) -> tuple["Life", ...]:
        """The lives of all disks, by node and time of their first process."""
        changes = np.diff(self.column("node"), prepend=NONE) != 0
        for name in ("directory", "incarnation"):
            changes |= np.diff(self.column(name), prepend=NONE) != 0
        bounds = [*np.flatnonzero(changes).tolist(), len(self)]
        by_disk: dict[tuple[int, str], list[Process]] = {}
        for (begin, end), first in zip(pairwise(bounds), self.lines(bounds[:-1]), strict=True):
            gap = self._gap(begin, end, first.node)
            process = Process(self, begin, end, first.node, first.directory, gap)
            by_disk.setdefault((first.node, first.directory), []).append(process)
        return tuple(
            Life(self, found[0].begin, found[-1].end, node, directory, tuple(found))
            for (node, directory), found in by_disk.items()
        )

    def _gap(self, begin: int, end: int, node: int) -> str | None:
        seq = self.column("seq")[begin:end]
        odd = np.flatnonzero(seq != np.arange(len(seq)))
        if not len(odd):
            return None
        return f"node {node}: its trace has line {seq[odd[0]]} in place of line {odd[0]}"


def _in_order(table: pa.Table) -> Ints:
    """The indices of the lines that have all they need: by disk, process and line number.

    Disks and processes are in the order of their nodes, and of the time of their first line.
    """
    kept = np.flatnonzero(_says_something(table))
    lines = table.select([*_PROCESS, "t", "seq"]).take(kept)
    by_time = np.lexsort([lines[name].to_numpy() for name in ("t", "node")])
    ranks = [_ranks(codes(lines, *names), by_time) for names in (_PROCESS, _PROCESS[:2])]
    order = np.lexsort([lines["seq"].to_numpy(), *ranks])
    found: Ints = kept[order]
    return found


def _ranks(of: Ints, order: Ints) -> Ints:
    """For each element, the rank of the first equal one in an order."""
    _, first, which = np.unique(of[order], return_index=True, return_inverse=True)
    found = np.empty(len(of), np.int64)
    found[order] = first[which]
    return found


def _says_something(table: pa.Table) -> Flags:
    lacking = {name: table[name].is_null().to_numpy() for name in table.column_names}
    silent = np.any([lacking[name] for name in (*_PROCESS, "seq", "t", "event")], axis=0)
    events = table["event"].combine_chunks().dictionary_encode()
    kinds = events.indices.fill_null(-1).to_numpy()
    for kind, event in enumerate(events.dictionary.to_pylist()):
        for name in _REQUIRED.get(event, ()):
            silent |= (kinds == kind) & lacking[name]
    found: Flags = ~silent
    return found


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a node: its lines are the rows from `begin` up to `end`, at least one.

    `gap`: the lines that are missing in between; what needs their order cannot be judged then.
    """

    traces: TraceColumns
    begin: int
    end: int
    node: int
    directory: str
    gap: str | None

    @property
    def first_ns(self) -> int:
        return int(self.traces.column("t")[self.begin])

    @property
    def last_ns(self) -> int:
        return int(self.traces.column("t")[self.end - 1])

    def rows(self, *events: str) -> Ints:
        return self.traces.rows(*events, begin=self.begin, end=self.end)

    def events(self, *events: str) -> list[NodeEvent]:
        """The lines of these kinds, which should be few."""
        return self.traces.lines(self.rows(*events))


@dataclass(frozen=True, slots=True)
class Life:
    """All processes that ran on one disk, in order; rows from `begin` up to `end`."""

    traces: TraceColumns
    begin: int
    end: int
    node: int
    directory: str
    processes: tuple[Process, ...]

    @property
    def gap(self) -> str | None:
        return next((process.gap for process in self.processes if process.gap), None)

    def rows(self, *events: str) -> Ints:
        return self.traces.rows(*events, begin=self.begin, end=self.end)

    def events(self, *events: str) -> list[NodeEvent]:
        """The lines of these kinds, which should be few."""
        return self.traces.lines(self.rows(*events))


def traced_directory(found: Iterable[Life], node: int, directory: str, at: int) -> str:
    """The sender's directory id as the receiver traced it; if voters are known by ids alone and
    none is traced (kraft.version 0), that of the disk that the node had last started on by then."""
    if directory != NO_DIRECTORY:
        return directory
    begun = [life for life in found if life.node == node and life.processes[0].first_ns <= at]
    return begun[-1].directory if begun else directory


def first_of(*keys: Ints) -> tuple[Ints, Ints]:
    """The index of the first element of each kind, in the order of kinds, and each one's kind."""
    order = np.lexsort(keys[::-1])  # stable: equal elements keep their order
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    which = np.empty(len(order), np.int64)
    which[order] = np.cumsum(new) - 1
    return order[new], which


def gaps(found: tuple[Life, ...]) -> tuple[str, ...]:
    return tuple(life.gap for life in found if life.gap)


def witness(event: NodeEvent, what: str) -> Mapping[str, EventValue]:
    """An event as a row of a witness: node, time, and the line's fields; `seq` finds it again."""
    fields = {
        name: value
        for name, value in event._asdict().items()
        if name not in _NOT_SHOWN and value not in (None, "", NO_NODE)
    }
    return {"what": what, "t_ns": event.t, **fields}
