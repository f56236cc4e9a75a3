"""Readers of node output: our node's trace lines (`node.server.output` writes them; a test compares
the two), and lines of Apache Kafka's log."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from operator import itemgetter

import orjson
import pyarrow as pa

from checkers.history.tables import NODE_EVENTS

# Lines of Apache Kafka's log, in the layout of its image: `[time] LEVEL text (logger)`.
#
# Lines without a time belong to the line before them: an exception, and its stack. A node that ran
# our own program for a while has trace lines in the same file.


LONGEST = 600  # characters of a text that are kept
_LINE_TIME = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\] ")
_ERROR = re.compile(r"(ERROR|FATAL) ")
# A controller or broker logs this once per process, before it replays anything.
_BEGAN = "Reading KRaft snapshot and log as part of the initialization"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A line with its time, in ms since 1970, and the text behind it."""

    ms: float
    rest: str


def time_of(line: str) -> Timed | None:
    """None for a line without a time."""
    told = _LINE_TIME.match(line)
    if told is None:
        return None
    second = datetime.fromisoformat(told[1]).replace(tzinfo=UTC).timestamp()
    return Timed(ms=second * 1_000 + int(told[2]), rest=line[told.end() :])


def error_rows(lines: Iterable[str], started_ms: float) -> Iterator[Mapping[str, int | str | None]]:
    """Rows of `tables.LOG_ERRORS`, without their node; `started_ms` becomes the zero of `t`."""
    row: dict[str, int | str | None] | None = None
    for line in lines:
        timed = time_of(line)
        if timed is None:
            if row is not None and row["cause"] is None and _is_prose(line):
                row["cause"] = line.strip()[:LONGEST]
            continue
        if row is not None:
            yield row
        row = _line_row(timed, started_ms)
    if row is not None:
        yield row


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("{")


def _line_row(timed: Timed, started_ms: float) -> dict[str, int | str | None] | None:
    """None for a line that is neither an error nor the start of a process."""
    error = _ERROR.match(timed.rest)
    if error is None and _BEGAN not in timed.rest:
        return None
    level, _, text = timed.rest.partition(" ")
    t = round((timed.ms - started_ms) * 1e6)
    return {"t": t, "level": level, "text": text.strip()[:LONGEST], "cause": None}


TRACE_FIELDS: dict[str, tuple[str, ...]] = {
    "n.start": ("version", "cluster", "epoch", "leader", "log_end", "log_epoch"),
    "n.unmarked": ("end",),
    "n.cut": ("segment", "end", "bytes", "flushed", "reason"),
    "n.damaged": ("file", "reason"),
    "n.reindexed": ("segment", "reason"),
    "n.rotten": ("log", "reason"),
    "n.stop": ("code", "reason"),
    "n.unanswered": ("api", "version", "reason"),
    "n.oversized": ("reason",),
    "q.state": (
        "state",
        "epoch",
        "leader",
        "voted",
        "voted_dir",
        "log_end",
        "log_epoch",
        "silent_ns",
    ),
    "q.voters": ("offset", "epoch", "voters"),
    "q.append": ("base", "last", "epoch", "crc", "role"),
    "q.unfit": ("offset", "record"),
    "q.truncate": ("end", "hwm", "role"),
    "q.fsync": ("end",),
    "q.snapshot": ("what", "end", "epoch", "start"),
    "q.loaded": ("end", "epoch"),
    "c.image": ("offset", "digest"),
    "c.record": ("offset", "record"),
    "q.garbled": ("peer", "reason"),
    "q.hwm": ("hwm", "epoch", "role"),
    "q.fetch": ("replica", "replica_dir", "offset", "last_epoch", "epoch", "outcome"),
    "q.vote": ("candidate", "candidate_dir", "epoch", "granted", "log_end", "log_epoch"),
    "c.active": ("epoch", "offset"),
    "c.unregistered": ("error",),
    "c.resign": ("epoch",),
    "c.recovered": ("topic", "index", "epoch", "leader", "needed", "answers"),
    "c.read": ("epoch", "ticket", "arrived", "heard"),
    "b.life": ("state", "epoch", "previous", "fenced"),
    "b.following": ("leader", "partitions", "trouble"),
    "b.asking": ("controller", "asked", "trouble"),
    "b.unregistered": ("epoch",),
    "p.role": ("topic", "index", "role", "epoch", "end", "hwm"),
    "p.isr": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "isr",
        "maximal",
        "hwm",
        "end",
        "ends",
    ),
    "p.asked": ("topic", "index", "epoch", "last_written", "end", "broker_epoch"),
    "p.join": (
        "topic",
        "index",
        "epoch",
        "partition_epoch",
        "replica",
        "broker_epoch",
        "offset",
        "hwm",
    ),
    "p.hwm": ("topic", "index", "epoch", "hwm", "end", "ends"),
    "p.truncate": ("topic", "index", "end", "hwm", "epoch", "cut_epoch"),
}

# Columns with another name than their field on the line.
_RENAMED = {
    "role": "state",
    "voted_dir": "voted_directory",
    "end": "log_end",
    "last_epoch": "log_epoch",
    "replica_dir": "replica_directory",
    "candidate": "replica",
    "candidate_dir": "replica_directory",
    "granted": "outcome",
}
_COLUMNS: list[str] = NODE_EVENTS.names
_POSITION = {name: position for position, name in enumerate(_COLUMNS)}
_TIME = _POSITION["t"]
_FIRST_FIELD = _POSITION["event"] + 1
_DETAIL = _POSITION["detail"]
_NO_FIELDS = (None,) * (len(_COLUMNS) - _FIRST_FIELD)
_STANDING = ("node", "dir", "inc", "seq", "mono", "ev")  # of a line, as the first columns have it
_HEAD = ("ev", "node", "dir", "inc", "seq", "mono", "wall")  # how every line begins
_GRANTED = "granted"
# For each event, the columns of its fields.
_PLACES: dict[str, dict[str, int]] = {
    event: {
        name: position
        for name in names
        if (position := _POSITION.get(_RENAMED.get(name, name), 0)) >= _FIRST_FIELD
    }
    for event, names in TRACE_FIELDS.items()
}
_OUTCOMES = {True: "granted", False: "refused"}

_Value = object
_Row = Sequence[_Value]  # by the columns of NODE_EVENTS
Decode = Callable[[str], _Value]  # of JSON; raises ValueError

_DETAIL_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The trace lines found in a log, and the lines that were none.

    `prose` counts lines that are no JSON object; `damaged` names those that begin as one and are
    broken: a node that died while it wrote leaves one, with its last words lost.
    """

    table: pa.Table
    prose: int
    damaged: tuple[str, ...]


def parse_trace_lines(
    lines: Iterable[str | bytes], started_mono_ns: int, decode: Decode = json.loads
) -> pa.Table:
    """NODE_EVENTS from one node's log, in the order of the lines. See `parse_traces`."""
    return parse_traces(lines, started_mono_ns, decode).table


def parse_traces(
    lines: Iterable[str | bytes], started_mono_ns: int, decode: Decode = json.loads
) -> Traces:
    """Read a node's log; `started_mono_ns` becomes the zero of `t`.

    An event that is not known here is kept under its name, with its fields in `detail`. A line that
    a crash cut off, and which goes on with the next process's first line, gives that first line,
    and counts as damaged.
    """
    rows: list[_Row] = []
    damaged: list[str] = []
    prose = 0
    for number, line in enumerate(lines, start=1):
        text = line.decode(errors="replace") if isinstance(line, bytes) else line
        if not text.lstrip().startswith("{"):
            prose += bool(text.strip())
            continue
        row = _row(_object(text, decode), started_mono_ns)
        if row is None:
            damaged.append(f"line {number}: {text.strip()[:80]}")
            row = _row_behind(text, started_mono_ns, decode)
        if row is not None:
            rows.append(row)
    table, refused = _table(rows)
    return Traces(table=table, prose=prose, damaged=(*damaged, *refused))


def _row_behind(text: str, started_mono_ns: int, decode: Decode) -> _Row | None:
    """The row of the line that follows within this one, behind a part that a crash cut off."""
    again = text.rfind('{"ev"', 1)
    return _row(_object(text[again:], decode), started_mono_ns) if again > 0 else None


def _object(text: str, decode: Decode = json.loads) -> dict[str, _Value] | None:
    try:
        found = decode(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _row(line: dict[str, _Value] | None, started_mono_ns: int) -> _Row | None:
    if line is None:
        return None
    event = line.get("ev")
    arranged = _arrangement(event, tuple(line)) if isinstance(event, str) else None
    if arranged is None:
        return _unusual_row(line, started_mono_ns)
    mono = line["mono"]
    if not isinstance(mono, int):
        return None
    line["mono"] = mono - started_mono_ns
    return arranged((*line.values(), None))


@lru_cache(maxsize=256)
def _arrangement(event: str, names: tuple[str, ...]) -> Callable[[_Row], _Row] | None:
    """A function that makes a row of a line's values and a final None. It applies if the line
    begins as all lines of nodes do, and each of its fields has a column and fits it unchanged."""
    fields = names[len(_HEAD) :]
    places = _PLACES.get(event, {})
    if names[: len(_HEAD)] != _HEAD or _GRANTED in fields or not places.keys() >= set(fields):
        return None
    sources = [names.index(name) for name in _STANDING] + [len(names)] * len(_NO_FIELDS)
    for name in fields:
        sources[places[name]] = names.index(name)
    return itemgetter(*sources)


def _unusual_row(line: dict[str, _Value], started_mono_ns: int) -> _Row | None:
    """The row of any other line; `line` loses the fields that are in the row."""
    try:
        event, mono = line.pop("ev"), line.pop("mono")
        row = [line.pop("node"), line.pop("dir"), line.pop("inc"), line.pop("seq"), mono, event]
    except KeyError:
        return None
    if not (isinstance(mono, int) and isinstance(event, str)):
        return None
    line.pop("wall", None)
    row[_TIME] = mono - started_mono_ns
    row += _NO_FIELDS
    places = _PLACES.get(event, {})
    detail = {}
    for name, value in line.items():
        position = places.get(name)
        if position is None:
            detail[name] = value
        else:
            row[position] = _OUTCOMES[bool(value)] if name == _GRANTED else value
    if detail:
        row[_DETAIL] = _encoded(detail)
    return row


def _encoded(detail: Mapping[str, _Value]) -> str:
    try:
        return orjson.dumps(detail, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:  # a number of more than 64 bits, or text that is no Unicode
        return _DETAIL_ENCODER.encode(detail)


def _table(rows: list[_Row]) -> tuple[pa.Table, list[str]]:
    """The rows as NODE_EVENTS; a row with a value of another type is refused, the rest is kept."""
    try:
        return _typed(rows), []
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        pass
    kept, refused = [], []
    for row in rows:
        try:
            _typed([row])
            kept.append(row)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            refused.append(f"{row[_FIRST_FIELD - 1]}: {error}"[:120])
    return _typed(kept), refused


def _typed(rows: list[_Row]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
    arrays = [
        pa.array(column, type=field.type)
        for column, field in zip(columns, NODE_EVENTS, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=NODE_EVENTS)


def fields_of(detail: str | None) -> Mapping[str, _Value]:
    """The fields of a row's `detail`; empty if there is no detail."""
    return (_object(detail) or {}) if detail else {}
