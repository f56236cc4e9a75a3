"""One line of a history in any format, and pairs of invocation and completion."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """An invocation or completion of a client. `f` None: the file does not say.

    `key`, `value` and `rebalances`, the partitions that changed hands, are ABSENT if the file has
    none. `own` has the other fields of our own run's events.
    """

    line: int
    type: EventType
    process: ClientId
    f: str | None
    key: Value
    value: Value
    rebalances: Value = ABSENT
    own: Map | None = None


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
    )


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


def pair(entries: Iterable[HistoryLine]) -> list[Pair]:
    """In the order of invocation; an operation without completion ran when the history ended.

    Raises MalformedError if the lines cannot be those of processes that do one thing at a time and
    end with their first `info`.
    """
    pairs: list[Pair] = []
    last: dict[ClientId, Pair] = {}  # by process
    for place, entry in enumerate(entries):
        before = last.get(entry.process)
        if entry.type is EventType.INVOKE:
            _require_free(entry, before)
            last[entry.process] = Pair(invoke=entry, invoked=place)
            pairs.append(last[entry.process])
        else:
            _complete(_require_open(entry, before), entry, place)
    return pairs


def _require_free(entry: HistoryLine, before: Pair | None) -> None:
    if before is None:
        return
    who = f"process {entry.process}"
    if before.complete is None:
        raise MalformedError(
            entry.line,
            f"{who} to complete what it invoked on line {before.invoke.line}",
            "another invocation",
        )
    if before.complete.type is EventType.INFO:
        raise MalformedError(
            entry.line,
            f"nothing of {who} after its info on line {before.complete.line}",
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
