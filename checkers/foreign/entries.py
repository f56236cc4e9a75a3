"""One line of a history in any format, and pairs of invocation and completion."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.foreign.foreign_values import (
    ABSENT,
    MalformedError,
    Map,
    Value,
    excerpt,
    name_of,
    render,
)
from checkers.history.calls import NEVER
from checkers.history.events import EventType

NEMESIS = "nemesis"

_NUMBERS = 2**31  # processes from here on get new numbers

# Other lines of our own files, beside operations.
NO_OPERATIONS = (EventType.FAULT, EventType.MALFORMED, EventType.NOTE, EventType.PROBE)

ClientId: TypeAlias = int | str  # a number, or the name of a client

_TYPES = {kind.value: kind for kind in EventType if kind not in NO_OPERATIONS}


@dataclass(slots=True, kw_only=True)  # to freeze it costs more than to make it, a million times
class HistoryLine:
    """An invocation or completion of a client. `f` None: the file does not say.

    `key`, `value` and `rebalances`, the partitions that changed hands, are ABSENT if the file has
    none. `own` has the other fields of our own run's events. `index` and `time` are the line's own
    statements of its place in the history, None where it makes none: `pair` compares them.
    """

    line: int
    type: EventType
    process: ClientId
    f: str | None
    key: Value
    value: Value
    rebalances: Value = ABSENT
    own: Map | None = None
    index: int | None = None
    time: int | Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """A format's names for the fields of an operation: keys of its maps. `client` is another name
    of `process`, read if that is missing."""

    type: str
    process: str
    client: str
    f: str
    key: str
    value: str
    rebalances: str = "rebalance-log"
    index: str = "index"
    time: str = "time"


def entry_of(line: int, form: Value, fields: FieldNames) -> HistoryLine | None:
    """The entry for a map; None for the nemesis, which is no client.

    Raises MalformedError for anything else.
    """
    if not isinstance(form, dict):
        raise MalformedError(line, "an operation, a map with " + fields.type, excerpt(render(form)))
    process = _process(line, form, fields)
    if process is None:
        return None
    return HistoryLine(
        line=line,
        type=_type(line, form, fields),
        process=process,
        f=_f(line, form, fields),
        key=form.get(fields.key, ABSENT),
        value=form.get(fields.value, ABSENT),
        rebalances=form.get(fields.rebalances, ABSENT),
        index=_index(form.get(fields.index)),
        time=_time(form.get(fields.time)),
    )


def _index(told: Value) -> int | None:
    """Jepsen has -1 for an operation without one."""
    return told if type(told) is int and told >= 0 else None


def _time(told: Value) -> int | Decimal | None:
    """A number in any unit; what else there may be is not compared."""
    if isinstance(told, bool):
        return None
    if isinstance(told, int) or (isinstance(told, Decimal) and told.is_finite()):
        return told if told >= 0 else None
    return None


def _process(line: int, form: Map, fields: FieldNames) -> ClientId | None:
    field = fields.process if fields.process in form else fields.client
    if field not in form:
        raise MalformedError(line, f"an operation with {fields.process}", _shown(form))
    process = form[field]
    if type(process) is int and process >= 0:
        return process
    name = name_of(process)
    if not name:
        raise MalformedError(
            line, f"{field} to be a number, a name or the nemesis", excerpt(render(process))
        )
    return None if name == NEMESIS else name


def process_codes(processes: Sequence[ClientId]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Processes as numbers, and their names by number; no names if all processes are numbers."""
    numbers = [one for one in processes if isinstance(one, int) and one < _NUMBERS]
    if len(numbers) == len(processes):
        return np.array(numbers, np.int32), ()
    codes = {one: code for code, one in enumerate(dict.fromkeys(processes))}
    return np.array([codes[one] for one in processes], np.int32), tuple(map(str, codes))


def _type(line: int, form: Map, fields: FieldNames) -> EventType:
    name = name_of(form.get(fields.type))
    if name not in _TYPES:
        found = excerpt(render(form[fields.type])) if fields.type in form else _shown(form)
        raise MalformedError(line, f"{fields.type} invoke, ok, fail or info", found)
    return _TYPES[name]


def _f(line: int, form: Map, fields: FieldNames) -> str | None:
    f = form.get(fields.f)
    name = name_of(f)
    if f is not None and name is None:
        raise MalformedError(line, f"{fields.f} to be a name", excerpt(render(f)))
    return name


def _shown(form: Map) -> str:
    return excerpt(render(form))


# Pairs invocations and completions: one process does one thing after another.


@dataclass(slots=True, kw_only=True)
class Pair:
    """An operation. `invoked` and `completed` are indices in the order of all entries."""

    invoke: HistoryLine
    invoked: int
    complete: HistoryLine | None = None
    completed: int = NEVER


class _Order:
    """Whether lines contradict each other about their order.

    An index is the number of an event in its history, so it rises. Times may jump back a little:
    processes take them before they write, and the one that took it first may write last. But what
    was invoked after another operation had been completed cannot have been completed before that
    one was invoked: such lines were sorted otherwise, or are several files in one.
    """

    def __init__(self) -> None:
        self._indexed = (-1, 0)  # the last index, and its line
        self._begun: _Begun | None = None  # of what was completed, what was invoked latest
        self._before: dict[ClientId, _Begun | None] = {}  # the same, at each invocation

    def see(self, entry: HistoryLine) -> None:
        """Raises MalformedError."""
        if entry.index is None:
            return
        index, line = self._indexed
        if entry.index <= index:
            expected = f"an index above that of line {line}, {index}"
            raise MalformedError(entry.line, expected, f"index {entry.index}")
        self._indexed = (entry.index, entry.line)

    def invoke(self, entry: HistoryLine) -> None:
        self._before[entry.process] = self._begun

    def complete(self, invoke: HistoryLine, entry: HistoryLine) -> None:
        """Raises MalformedError."""
        before, begun = self._before.pop(invoke.process), self._begun
        if before is not None and entry.time is not None and entry.time < before.time:
            raise MalformedError(
                entry.line,
                f"a time from {before.time} on: this operation is invoked on line {invoke.line}, "
                f"after one of line {before.line} is completed",
                f"time {entry.time} (sort the lines; if they are sorted, leave times out)",
            )
        if invoke.time is not None and (begun is None or invoke.time > begun.time):
            self._begun = _Begun(invoke.time, invoke.line)


class _Begun(NamedTuple):
    time: int | Decimal
    line: int


def pair(entries: Iterable[HistoryLine]) -> list[Pair]:
    """In the order of invocation; an operation without completion ran when the history ended.

    Raises MalformedError if the lines cannot be those of processes that do one thing at a time and
    end with their first `info`, or if they are not in the order that they state themselves.
    """
    pairs: list[Pair] = []
    last: dict[ClientId, Pair] = {}  # by process
    order = _Order()
    for place, entry in enumerate(entries):
        order.see(entry)
        before = last.get(entry.process)
        if entry.type is EventType.INVOKE:
            _require_free(entry, before)
            order.invoke(entry)
            last[entry.process] = Pair(invoke=entry, invoked=place)
            pairs.append(last[entry.process])
        else:
            opened = _require_open(entry, before)
            order.complete(opened.invoke, entry)
            _complete(opened, entry, place)
    return pairs


def _require_free(entry: HistoryLine, before: Pair | None) -> None:
    if before is None:
        return
    process = f"process {entry.process}"
    if before.complete is None:
        raise MalformedError(
            entry.line,
            f"{process} to complete what it invoked on line {before.invoke.line}",
            "another invocation",
        )
    if before.complete.type is EventType.INFO:
        raise MalformedError(
            entry.line,
            f"nothing of {process} after its info on line {before.complete.line}",
            "an invocation (what crashed goes on under a new number)",
        )


def _require_open(entry: HistoryLine, before: Pair | None) -> Pair:
    if before is None or before.complete is not None:
        raise MalformedError(
            entry.line,
            f"an invocation by process {entry.process} first",
            f"its {entry.type.value} of nothing that is open",
        )
    f = before.invoke.f
    if entry.f is not None and f is not None and entry.f != f:
        raise MalformedError(
            entry.line,
            f"the completion of {f} that process {entry.process} invoked on line "
            f"{before.invoke.line}",
            f"one of {entry.f}",
        )
    return before


def _complete(pair: Pair, entry: HistoryLine, place: int) -> None:
    pair.complete = entry
    if entry.type is not EventType.INFO:
        pair.completed = place
