"""JSON: an object per line, or one array of all. Two vocabularies, recognised by the first object:

    {"type": "invoke", "process": 1, "f": "cas", "key": "x", "value": [0, 3]}
    {"type":"invoke","i":7,"p":3,"f":"write","k":"r-1","v":42,"t":123}

The first is Jepsen's, `key` only if there are several; the second is that of our own
`events-*.jsonl.zst` (`checkers.history.events`), of which faults, notes and probes are skipped.

Porcupine's operations, which have call and return times, as JSON: an object each, or an array.

    {"clientId": 0, "input": {"op": "put", "key": "x", "value": 1}, "call": 10, "return": 25}
    {"clientId": 1, "input": {"op": "get", "key": "x"}, "output": 1, "call": 12, "return": 30}

Porcupine itself writes no file; these are the fields of its `Operation` (model.go), in lower or, as
Go's encoder has them, upper case. Its inputs and outputs are any Go values, so this form of them is
ours: `op` is a name as in Jepsen's histories (read or get, write or put, append, cas, add, enqueue
and so on); there may be a `key`; `value` is the written value, for a cas `[old, new]`, or apart as
`old` and `new`. `output` is the value read, for a cas whether it took place, or an object with
`value`, `ok` (false: it surely did not happen; a cas: it saw another value) or `unknown` (true: the
outcome is unknown). An operation without `return` never returned.

A time is a whole number, and an interval is closed: an operation that is called at the time at
which another returns ran together with it. The ids of clients are optional, and one client may do
several things at a time.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import NoReturn

from checkers.foreign.entries import (
    NO_OPERATIONS,
    ClientId,
    FieldNames,
    HistoryLine,
    Pair,
    entry_of,
)
from checkers.foreign.foreign_values import (
    ABSENT,
    MalformedError,
    Map,
    Value,
    excerpt,
    float_of,
    name_of,
    render,
)
from checkers.history.events import EventType

DEEPEST = 64  # nested collections

_JEPSEN = FieldNames(
    type="type", process="process", client="client", f="f", key="key", value="value"
)
_EVENTS = FieldNames(
    type="type", process="p", client="p", f="f", key="k", value="v", index="i", time="t"
)
_BLANK = re.compile(r"[ \t\r\n]*")


def is_own(text: str) -> bool:
    """Whether the first object has our own vocabulary. Raises MalformedError."""
    return any(
        isinstance(form, dict) and (_EVENTS.process in form or _is_no_operation(form))
        for form in first(text)
    )


def read(text: str) -> Iterator[HistoryLine]:
    """Raises MalformedError."""
    own = is_own(text)
    for line, form in objects(text):
        if own and _is_no_operation(form):
            continue
        entry = entry_of(line, form, _EVENTS if own else _JEPSEN)
        if entry is None:
            continue
        yield replace(entry, own=form) if own and isinstance(form, dict) else entry


def first(text: str) -> list[Value]:
    """The first value of a text, if it has any. Raises MalformedError."""
    return [form for _line, form in islice(objects(text), 1)]


def _is_no_operation(form: Value) -> bool:
    return isinstance(form, dict) and form.get("type") in NO_OPERATIONS


def objects(text: str) -> Iterator[tuple[int, Value]]:
    """The values at the top, or those in an array that is the whole file; with their lines."""
    at = _skip_blank(text, 0)
    array = text.startswith("[", at)
    at = _skip_blank(text, at + 1) if array else at
    line, counted = 1, 0
    while at < len(text) and not (array and text[at] == "]"):
        line, counted = line + text.count("\n", counted, at), at
        form, at = _decode(text, at, line)
        yield line, form
        at = _skip_blank(text, at)
        if array:
            at = _skip_comma(text, at)
    if array:
        _require_end(text, at)


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _skip_comma(text: str, at: int) -> int:
    """Past the comma after an element; a closing bracket stays."""
    if text.startswith("]", at) or at == len(text):
        return at
    after = _skip_blank(text, at + 1)
    if text[at] != "," or text.startswith("]", after):
        line = text.count("\n", 0, at) + 1
        raise MalformedError(line, "a ',' and another object, or ']'", excerpt(text[at:]))
    return after


def _require_end(text: str, at: int) -> None:
    line = text.count("\n", 0, at) + 1
    if at == len(text):
        raise MalformedError(line, "']' at the end", "the end of the file (truncated?)")
    if rest := text[at + 1 :].strip():
        raise MalformedError(line, "the end of the file after its array", excerpt(rest))


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _exact(text: str) -> Decimal:
    number = float_of(text)
    if number is None:
        raise ValueError(f"{text} has more digits than any number of a history")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_exact)


def _decode(text: str, at: int, line: int) -> tuple[Value, int]:
    try:
        form, end = _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        if text[error.pos :].strip():
            raise MalformedError(error.lineno, "JSON", excerpt(text[error.pos :])) from error
        raise MalformedError(
            line, "a whole JSON object", "the end of the file (truncated?)"
        ) from error
    except (ValueError, RecursionError) as error:
        raise MalformedError(line, "JSON", excerpt(text[at:])) from error
    if isinstance(form, dict):
        for name, value in form.items():
            if isinstance(value, list | dict):
                form[name] = _frozen(value, line, 1)
        return form, end
    return _frozen(form, line, 0), end


def _frozen(value: object, line: int, depth: int) -> Value:
    """Lists as tuples, at every depth."""
    if depth > DEEPEST:
        raise MalformedError(line, f"at most {DEEPEST} nested collections", "more")
    match value:
        case None | bool() | int() | Decimal() | str():
            return value
        case list():
            return tuple(_frozen(item, line, depth + 1) for item in value)
        case dict():
            return {str(key): _frozen(item, line, depth + 1) for key, item in value.items()}
        case _:
            raise AssertionError(value)


_CAS = ("cas", "compare-and-set")
_TXN = "txn"
_CALL, _RETURN = 0, 1  # at one time, calls come first


@dataclass(frozen=True, slots=True, kw_only=True)
class _Operation:
    line: int
    client: ClientId
    f: str
    key: Value
    value: Value
    called: int
    returned: int | None
    type: EventType  # of its completion
    result: Value


def is_operation(form: Value) -> bool:
    """Whether such a file begins like this."""
    return isinstance(form, dict) and {"call", "input"} <= {name.lower() for name in form}


def read_operations(text: str) -> list[Pair]:
    """In the order of their calls. Raises MalformedError."""
    operations = [_operation(line, form) for line, form in objects(text)]
    places = _places(operations)
    pairs = [_pair(each, number, places) for number, each in enumerate(operations)]
    return sorted(pairs, key=lambda pair: pair.invoked)


def _places(operations: Sequence[_Operation]) -> dict[tuple[int, int], int]:
    """The index of each call and return in one order of all."""
    events = [(each.called, _CALL, number) for number, each in enumerate(operations)]
    events += [
        (each.returned, _RETURN, number)
        for number, each in enumerate(operations)
        if each.returned is not None
    ]
    return {(kind, number): place for place, (_, kind, number) in enumerate(sorted(events))}


def _pair(operation: _Operation, number: int, places: dict[tuple[int, int], int]) -> Pair:
    def line(type_: EventType, value: Value) -> HistoryLine:
        return HistoryLine(
            line=operation.line,
            type=type_,
            process=operation.client,
            f=operation.f,
            key=operation.key,
            value=value,
        )

    pair = Pair(invoke=line(EventType.INVOKE, operation.value), invoked=places[_CALL, number])
    if operation.returned is not None:
        pair.complete = line(operation.type, operation.result)
        if operation.type is not EventType.INFO:
            pair.completed = places[_RETURN, number]
    return pair


def _operation(line: int, form: Value) -> _Operation:
    if not isinstance(form, dict):
        raise MalformedError(line, "an operation, an object with call", excerpt(render(form)))
    fields = _lower(form)
    asked = fields.get("input", ABSENT)
    if not isinstance(asked, dict):
        raise MalformedError(line, 'an input of {"op": ..., "value": ...}', _shown(asked))
    asked = _lower(asked)
    f = name_of(asked.get("op", ABSENT))
    if not f:
        raise MalformedError(line, "an op that is a name, such as put", _shown(asked.get("op")))
    called, returned = _time(line, fields, "call"), None
    if fields.get("return") is not None:
        returned = _time(line, fields, "return")
        if returned < called:
            raise MalformedError(line, f"a return after the call at {called}", str(returned))
    assert called is not None
    value = _asked(f, asked)
    type_, result = _answered(line, f, value, fields.get("output", ABSENT))
    return _Operation(
        line=line,
        client=_client(line, fields),
        f="cas" if f in _CAS else f,
        key=asked.get("key", ABSENT),
        value=value,
        called=called,
        returned=returned,
        type=type_,
        result=result,
    )


def _lower(form: Map) -> Map:
    return {name.lower().replace("_", ""): value for name, value in form.items()}


def _time(line: int, fields: Map, name: str) -> int:
    time = fields.get(name, ABSENT)
    if type(time) is not int:
        raise MalformedError(line, f"a {name} that is a whole number", _shown(time))
    return time


def _client(line: int, fields: Map) -> ClientId:
    client = fields.get("clientid", fields.get("client", 0))
    if type(client) is int and client >= 0:
        return client
    if isinstance(client, str) and client:
        return client
    raise MalformedError(line, "a clientId that is a number or a name", _shown(client))


def _asked(f: str, asked: Map) -> Value:
    if f in _CAS and "value" not in asked and {"old", "new"} <= asked.keys():
        return (asked["old"], asked["new"])
    return asked.get("value", None)


def _answered(line: int, f: str, value: Value, output: Value) -> tuple[EventType, Value]:
    """How an operation ended, and the value of its completion."""
    told = output
    if isinstance(output, dict):
        fields = _lower(output)
        if fields.get("unknown") is True:
            return EventType.INFO, ABSENT
        if fields.get("ok", True) is False:
            return EventType.FAIL, ABSENT
        told = fields.get("value", ABSENT)
    if f in _CAS:
        swapped = True if isinstance(output, dict) and told in (ABSENT, None) else told
        if type(swapped) is not bool:
            raise MalformedError(line, "an output of a cas that is true or false", _shown(told))
        return EventType.OK if swapped else EventType.FAIL, value
    return EventType.OK, told if value is None or f == _TXN else value


def _shown(value: Value) -> str:
    return "none" if value is ABSENT else excerpt(render(value))
