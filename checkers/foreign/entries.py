"""One line of a history, whatever format it was written in."""

from dataclasses import dataclass

from checkers.foreign.foreign_errors import MalformedError, excerpt
from checkers.foreign.foreign_values import ABSENT, Map, Value, name_of, render
from checkers.history.events import EventType

NEMESIS = "nemesis"

# What our own files hold beside operations.
NO_OPERATIONS = (EventType.FAULT, EventType.NOTE, EventType.PROBE)

_HIGHEST_PROCESS = 2**31 - 1
_TYPES = {kind.value: kind for kind in EventType if kind not in NO_OPERATIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """An invocation or completion of a client. `f` None: the file does not say.

    `key`, `value` and `rebalances`, by which partitions changed hands, are ABSENT where the file
    has none.
    """

    line: int
    type: EventType
    process: int
    f: str | None
    key: Value
    value: Value
    rebalances: Value = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """What a format calls the fields of an operation: keys of its maps."""

    type: str
    process: str
    f: str
    key: str
    value: str
    rebalances: str = "rebalance-log"


def entry_of(line: int, form: Value, fields: FieldNames) -> HistoryLine | None:
    """The entry that a map stands for; None for the nemesis, which is no client.

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


def _process(line: int, form: Map, fields: FieldNames) -> int | None:
    if fields.process not in form:
        raise MalformedError(line, f"an operation with {fields.process}", _shown(form))
    process = form[fields.process]
    if type(process) is int and 0 <= process <= _HIGHEST_PROCESS:
        return process
    if name_of(process) == NEMESIS:
        return None
    raise MalformedError(
        line, f"{fields.process} to be a number or the nemesis", excerpt(render(process))
    )


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
